import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairShare } from './fair-share.ts'

test('a cloud uses at most a tenth of the workers, waiting keys are woken in order, other clouds are not affected', () => {
  const woken: string[] = []
  const fairShare = createFairShare(20, key => void woken.push(key))
  const first = fairShare.acquire('slow', 'a')
  const second = fairShare.acquire('slow', 'b')
  assert.ok(first && second)
  assert.equal(fairShare.acquire('slow', 'c'), undefined)
  assert.equal(fairShare.acquire('slow', 'd'), undefined)
  assert.equal(fairShare.acquire('slow', 'c'), undefined)
  assert.ok(fairShare.acquire('quick', 'e'))
  first()
  second()
  assert.deepEqual(woken, ['c', 'd'])
  for (const key of woken) fairShare.acquire('slow', key)?.()
  assert.deepEqual(woken, ['c', 'd'])
})

test('with a single worker every cloud is still served', () => {
  const fairShare = createFairShare(1, () => {})
  assert.ok(fairShare.acquire('one', 'a'))
  assert.ok(fairShare.acquire('two', 'b'))
})
