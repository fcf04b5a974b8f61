/** Fields that a schema drops, by their path. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { unknownFields } from './unknown-fields.ts'

const schema = z.object({
  name: z.string(),
  list: z.array(z.object({ id: z.string().optional() })).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  any: z.looseObject({}).optional(),
})

const cases: Record<string, [given: object, paths: string[]]> = {
  'a complete value': [{ name: 'a', list: [{ id: 'b' }], labels: { c: 'd' }, any: { e: { f: 1 } } }, []],
  'a field at the top': [{ name: 'a', nmae: 'b' }, ['nmae']],
  'a field in a list': [{ name: 'a', list: [{}, { id: 'b', di: 'c' }] }, ['list[1].di']],
  'a field with the name of a property of every object': [{ name: 'a', constructor: 1 }, ['constructor']],
}
for (const [name, [given, paths]] of Object.entries(cases))
  test(name, () =>
    assert.deepEqual(
      unknownFields(given, schema.parse(given)),
      paths.map(path => ({ path, message: 'unknown field' })),
    ),
  )

test('a value with many of them lists the first hundred', () => {
  const given = { name: 'a', ...Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`x${n}`, n])) }
  assert.equal(unknownFields(given, schema.parse(given)).length, 100)
})
