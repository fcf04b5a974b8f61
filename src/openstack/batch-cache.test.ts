import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBatchCache } from './batch-cache.ts'

/** Knows every id but `gone`; remembers what it was asked. */
function aCache() {
  const asked: string[][] = []
  const clock = { now: 0 }
  const cache = createBatchCache<{ id: string }>({
    keepMs: 60_000,
    keepAbsentMs: 5_000,
    idOf: value => value.id,
    now: () => clock.now,
    async fetch(ids) {
      asked.push(ids)
      await new Promise(resolve => setImmediate(resolve))
      if (ids.includes('broken')) throw new Error('no answer')
      return ids.filter(id => id !== 'gone').map(id => ({ id }))
    },
  })
  const get = async (...ids: string[]) => [...(await cache.get(ids)).keys()]
  return { asked, clock, cache, get }
}

test('what is known is not asked again until it is old; what is absent sooner', async () => {
  const { asked, clock, get } = aCache()
  assert.deepEqual(await get('a', 'gone', 'a'), ['a'])
  assert.deepEqual(await get('a', 'gone', 'b'), ['a', 'b'])
  clock.now = 5_000
  await get('a', 'gone')
  clock.now = 60_000
  await get('a')
  assert.deepEqual(asked, [['a', 'gone'], ['b'], ['gone'], ['a']])
})

test('those who ask at the same time share one question', async () => {
  const { asked, get } = aCache()
  assert.deepEqual(await Promise.all([get('a', 'b'), get('b', 'c'), get('a')]), [['a', 'b'], ['b', 'c'], ['a']])
  assert.deepEqual(asked, [['a', 'b'], ['c']])
})

test('a failure is everybody’s who waited, and is not kept', async () => {
  const { asked, get } = aCache()
  const both = await Promise.allSettled([get('broken'), get('broken')])
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(asked.length, 1)
  await assert.rejects(get('broken'), /no answer/)
  assert.equal(asked.length, 2)
})

test('what is forgotten while it is asked for is asked for again, and never taken for absent', async () => {
  const { asked, cache, get } = aCache()
  const first = get('a')
  cache.forget()
  assert.deepEqual(await Promise.all([first, get('a')]), [['a'], ['a']])
  assert.equal(asked.length, 2)
})
