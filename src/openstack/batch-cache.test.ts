import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBatchCache } from './batch-cache.ts'

/** Has a value for every id except `absent`. Records the fetched ids. */
function aCache() {
  const fetched: string[][] = []
  const clock = { now: 0 }
  const cache = createBatchCache<{ id: string }>({
    keepMs: 60_000,
    keepAbsentMs: 5_000,
    idOf: value => value.id,
    few: 3,
    now: () => clock.now,
    async fetch(ids) {
      fetched.push(ids)
      await new Promise(resolve => setImmediate(resolve))
      if (ids.includes('broken')) throw new Error('no answer')
      return ids.filter(id => id !== 'absent').map(id => ({ id }))
    },
  })
  const get = async (...ids: string[]) => [...(await cache.get(ids)).keys()]
  return { fetched, clock, cache, get }
}

test('a value is fetched again after it expires; an absent id sooner', async () => {
  const { fetched, clock, get } = aCache()
  assert.deepEqual(await get('a', 'absent', 'a'), ['a'])
  assert.deepEqual(await get('a', 'absent', 'b'), ['a', 'b'])
  clock.now = 5_000
  await get('a', 'absent')
  clock.now = 60_000
  await get('a')
  assert.deepEqual(fetched, [['a', 'absent'], ['b'], ['absent'], ['a']])
})

test('concurrent calls share one fetch', async () => {
  const { fetched, get } = aCache()
  assert.deepEqual(await Promise.all([get('a', 'b'), get('b', 'c'), get('a')]), [['a', 'b'], ['b', 'c'], ['a']])
  assert.deepEqual(fetched, [['a', 'b'], ['c']])
})

test('a failure rejects all waiting calls and is not cached', async () => {
  const { fetched, get } = aCache()
  const both = await Promise.allSettled([get('broken'), get('broken')])
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(fetched.length, 1)
  await assert.rejects(get('broken'), /no answer/)
  assert.equal(fetched.length, 2)
})

test('an id that is forgotten during its fetch is fetched again, and never treated as absent', async () => {
  const { fetched, cache, get } = aCache()
  const first = get('a')
  cache.forget()
  assert.deepEqual(await Promise.all([first, get('a')]), [['a'], ['a']])
  assert.equal(fetched.length, 2)
})

test('many ids wait for a running fetch of many others, and are fetched together; few ids do not wait', async () => {
  const { fetched, get } = aCache()
  const many = (name: string) => ['1', '2', '3', '4'].map(n => `${name}${n}`)
  const first = get(...many('a'))
  await Promise.resolve()
  const others = [get(...many('b')), get(...many('c')), get('d')]
  assert.deepEqual(fetched, [many('a'), ['d']])
  assert.deepEqual(await Promise.all([first, ...others]), [many('a'), many('b'), many('c'), ['d']])
  assert.deepEqual(fetched.slice(2), [[...many('b'), ...many('c')]])
})

test('a call that is aborted does not end the fetch of the others', async () => {
  const { fetched, cache, get } = aCache()
  const many = ['a', 'b', 'c', 'd']
  const stop = new AbortController()
  const aborted = assert.rejects(cache.get(many, stop.signal), /aborted/)
  stop.abort()
  assert.deepEqual(await get(...many), many)
  await aborted
  assert.deepEqual(fetched, [many])
})
