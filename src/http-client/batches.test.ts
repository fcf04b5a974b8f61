import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchesOf } from './batches.ts'

const limits = { items: 3, bytes: 10, costOf: (word: string) => word.length }

const cases: Record<string, [words: string[], batches: string[][]]> = {
  'an empty list is no request': [[], []],
  'a few small items are one request': [['a', 'b', 'c'], [['a', 'b', 'c']]],
  'one more item is another request': [
    ['a', 'b', 'c', 'd'],
    [['a', 'b', 'c'], ['d']],
  ],
  'one more byte is another request, and the order stays': [
    ['aaaaa', 'bbbbb', 'c'],
    [['aaaaa', 'bbbbb'], ['c']],
  ],
  'an item that is too big goes alone': [
    ['a', 'b'.repeat(99), 'c'],
    [['a'], ['b'.repeat(99)], ['c']],
  ],
}
for (const [name, [words, batches]] of Object.entries(cases))
  test(name, () => assert.deepEqual([...batchesOf(words, limits)], batches))
