import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson, hashOf } from './hash.ts'

/** Hashes are stored in objects, annotations and the inventory: a change would make every node differ. */
const documents: Record<string, [document: unknown, text: string]> = {
  'keys in any order': [{ b: 1, a: 2, C: 3, c: 4, '10': 5, '9': 6 }, '{"10":5,"9":6,"C":3,"a":2,"b":1,"c":4}'],
  'keys inside lists and objects': [{ z: [{ b: 1, a: [2] }] }, '{"z":[{"a":[2],"b":1}]}'],
  'a key without a value': [{ a: undefined, b: null }, '{"b":null}'],
  'an empty place of a list': [[1, undefined, null], '[1,null,null]'],
  'a list keeps its order': [[3, 1, 2], '[3,1,2]'],
  'empty documents': [[{}, [], ''], '[{},[],""]'],
  'texts that need quotes': [{ 'a"b': 'c"\n한' }, '{"a\\"b":"c\\"\\n한"}'],
  'plain values': [[true, false, null, 1.5, 'x'], '[true,false,null,1.5,"x"]'],
  null: [null, 'null'],
}

for (const [name, [document, text]] of Object.entries(documents))
  test(`the text under a hash: ${name}`, () => assert.equal(canonicalJson(document), text))

test('the hash is the SHA-256 of that text, in hex', () => {
  assert.equal(hashOf({}), '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
  assert.equal(hashOf({ b: [1, undefined], a: '한' }), hashOf({ a: '한', b: [1, null], c: undefined }))
})
