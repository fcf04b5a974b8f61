import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createObjectMemory } from './object-memory.ts'

test('everything about an object is forgotten at once, and nothing about another', () => {
  const memory = createObjectMemory()
  const [names, counts] = [memory.slot<string>(), memory.slot<number>()]
  names.set('a', 'first')
  counts.set('a', 1)
  counts.set('b', 2)
  assert.deepEqual([names.get('a'), counts.get('a'), names.get('b'), counts.get('b')], ['first', 1, undefined, 2])
  memory.forget('a')
  assert.deepEqual([names.get('a'), counts.get('a'), counts.get('b')], [undefined, undefined, 2])
})

test('one value is deleted, or that of all objects', () => {
  const memory = createObjectMemory()
  const [names, counts] = [memory.slot<string>(), memory.slot<number>()]
  for (const key of ['a', 'b']) {
    names.set(key, key)
    counts.set(key, 1)
  }
  names.delete('a')
  assert.deepEqual([names.get('a'), counts.get('a'), names.get('b')], [undefined, 1, 'b'])
  counts.clear()
  assert.deepEqual([counts.get('a'), counts.get('b'), names.get('b')], [undefined, undefined, 'b'])
})
