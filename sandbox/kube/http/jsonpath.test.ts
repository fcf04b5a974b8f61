import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonPath } from './jsonpath.ts'

const object = {
  metadata: { labels: { 'a.b/c': 'x' } },
  spec: {
    size: 3,
    list: [
      { name: 'a', size: 1 },
      { name: 'b', size: 5 },
    ],
  },
  status: {
    conditions: [
      { type: 'Ready', reason: 'Done', on: true },
      { type: 'Degraded', reason: 'Fine' },
    ],
  },
}

const cases: Record<string, [path: string, values: unknown[]]> = {
  'a field': ['.spec.size', [3]],
  'a missing field': ['.spec.nothing.more', []],
  'a condition by its type': ['.status.conditions[?(@.type=="Ready")].reason', ['Done']],
  'another quote': [".status.conditions[?(@.type=='Degraded')].reason", ['Fine']],
  'not equal': ['.status.conditions[?(@.type!="Ready")].type', ['Degraded']],
  'a filter by a number': ['.spec.list[?(@.size>2)].name', ['b']],
  'a filter by presence': ['.status.conditions[?(@.on)].type', ['Ready']],
  'a filter by a boolean': ['.status.conditions[?(@.on==true)].type', ['Ready']],
  'all items': ['.spec.list[*].name', ['a', 'b']],
  'one item': ['.spec.list[1].name', ['b']],
  'the last item': ['.spec.list[-1].name', ['b']],
  'a quoted field': [".metadata.labels['a.b/c']", ['x']],
  'an escaped field': ['.metadata.labels.a\\.b/c', ['x']],
  'in braces': ['{.spec.size}', [3]],
}

for (const [name, [path, values]] of Object.entries(cases)) {
  test(name, () => assert.deepEqual(jsonPath(path)(object), values))
}

test('an invalid path is an error with its position', () => {
  assert.throws(() => jsonPath('.spec[?(@.x'), /syntax error at position 5/)
})
