import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isDotSegment, labelsOf, labelValue, nodeNameError, objectName } from './node-names.ts'

const names: Record<string, [given: string, name: string]> = {
  'a valid name is unchanged': ['worker-1.example.com', 'worker-1.example.com'],
  'capital letters become lower case': ['Worker-1', 'worker-1'],
  'other characters become dashes': ['worker_1@rack/7', 'worker-1-rack-7'],
  'leading and trailing dots and dashes are removed': ['-.worker.-', 'worker'],
  'dashes next to dots are removed': ['a-.-b..c', 'a.b.c'],
  'a name without valid characters becomes node': ['___', 'node'],
  'underscores at the ends are removed, and inside become dashes': ['__a__b__', 'a--b'],
  'dots and dashes in a row become one dot': ['a.-.b', 'a.b'],
  'a dash between letters stays': ['a--b', 'a--b'],
  'letters of other alphabets become dashes': ['노드-1', '1'],
  'a name of the maximum length is unchanged': ['a'.repeat(253), 'a'.repeat(253)],
  'leading characters do not count for the length': [`--${'a'.repeat(254)}`, 'a'.repeat(253)],
  'a long name is truncated': [`${'a'.repeat(252)}-b`, 'a'.repeat(252)],
}

for (const [name, [given, expected]] of Object.entries(names))
  test(name, () => assert.equal(objectName(given), expected))

test('every text maps to a valid object name and label value', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme', maxLength: 400 }), fc.stringMatching(/^[A-Z.\-_]*$/))
  fc.assert(
    fc.property(text, given => {
      const name = objectName(given)
      assert.match(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
      assert.ok(name.length <= 253)
      assert.match(labelValue(given), /^[a-z0-9]([-a-z0-9_.]{0,61}[a-z0-9])?$/)
      assert.equal(objectName(name), name)
    }),
  )
})

test('labels have the node, the VM and the provider', () => {
  assert.deepEqual(labelsOf({ nodeName: 'Worker_1', instanceId: 'VM 1' }, 'p/1'), {
    'multinic.io/node-name': 'worker_1',
    'multinic.io/instance-id': 'vm-1',
    'multinic.io/provider-id': 'p-1',
  })
  assert.equal(labelsOf({ nodeName: 'a' }, 'p')['multinic.io/instance-id'], undefined)
})

const labels: Record<string, [text: string, value: string]> = {
  'a valid text is unchanged': ['a_b.c-1', 'a_b.c-1'],
  'capital letters become lower case': ['VM', 'vm'],
  'other characters become dashes': ['a b/c', 'a-b-c'],
  'dots, dashes and underscores at the ends are removed': ['._-a-_.', 'a'],
  'a long text is truncated': ['a'.repeat(64), 'a'.repeat(63)],
  'a truncated text does not end with a dash': [`${'a'.repeat(61)}--b`, 'a'.repeat(61)],
  'a text without valid characters becomes unknown': ['한글', 'unknown'],
}

for (const [name, [text, value]] of Object.entries(labels))
  test(`label value: ${name}`, () => assert.equal(labelValue(text), value))

const nodeNames: Record<string, string | undefined> = {
  'worker-1.example.com': undefined,
  'Worker 한 1': undefined,
  '...': undefined,
  '.a': undefined,
  '': undefined,
  '.': '"." is a relative path',
  '..': '".." is a relative path',
  'a\nb': '"a\\u000ab" has control or invisible characters',
  'a\u200bb\u202ec': '"a\\u200bb\\u202ec" has control or invisible characters',
  'a\u2028b': '"a\\u2028b" has control or invisible characters',
  'a\u2029b': '"a\\u2029b" has control or invisible characters',
  'a\ud800': '"a\\ud800" has control or invisible characters',
}

for (const [name, error] of Object.entries(nodeNames))
  test(`the name of a node: ${error ?? JSON.stringify(name)}`, () => {
    assert.equal(nodeNameError(name), error)
    assert.equal(isDotSegment(name), error?.endsWith('relative path') ?? false)
  })
