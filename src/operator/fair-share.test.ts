import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from './fair-share.ts'

test('a cloud keeps at most a tenth of the workers; who waits is woken in order; other clouds do not notice', () => {
  const woken: string[] = []
  const turns = createTurns(20, key => void woken.push(key))
  const first = turns.take('slow', 'a')
  const second = turns.take('slow', 'b')
  assert.ok(first && second)
  assert.equal(turns.take('slow', 'c'), undefined)
  assert.equal(turns.take('slow', 'd'), undefined)
  assert.equal(turns.take('slow', 'c'), undefined)
  assert.ok(turns.take('quick', 'e'))
  first()
  second()
  assert.deepEqual(woken, ['c', 'd'])
  for (const key of woken) turns.take('slow', key)?.()
  assert.deepEqual(woken, ['c', 'd'])
})

test('a single worker still serves everybody', () => {
  const turns = createTurns(1, () => {})
  assert.ok(turns.take('one', 'a'))
  assert.ok(turns.take('two', 'b'))
})
