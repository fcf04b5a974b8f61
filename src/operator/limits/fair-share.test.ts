import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Acquired, createFairShare } from './fair-share.ts'

/** Acquires until the share is used up. */
function fill(fairShare: ReturnType<typeof createFairShare>, namespace: string, cloudOf: (n: number) => string) {
  const workers: Acquired[] = []
  for (let n = 0; ; n++) {
    const worker = fairShare.acquire({ namespace, cloud: cloudOf(n) }, `${namespace}/${n}`)
    if (!worker) return workers
    workers.push(worker)
  }
}

test('a cloud uses a fifth of the workers, a namespace half of that, and the next namespaces half of what is left', () => {
  const fairShare = createFairShare(50, () => {})
  const counts = ['a', 'b', 'c', 'd', 'e'].map(namespace => fill(fairShare, namespace, () => 'slow').length)
  assert.deepEqual(counts, [5, 3, 1, 1, 0])
  assert.ok(fairShare.acquire({ namespace: 'a', cloud: 'quick' }, 'a/quick'))
})

test('operator 8: a namespace with a cloud for each object leaves half of the workers to the others', () => {
  const fairShare = createFairShare(100, () => {})
  const counts = ['a', 'b', 'c', 'd'].map(namespace => fill(fairShare, namespace, n => `cloud ${n}`).length)
  assert.deepEqual(counts, [50, 25, 13, 6])
})

test('a free worker wakes the namespace that uses the fewest, then the key that waits longest', () => {
  const woken: string[] = []
  const fairShare = createFairShare(10, key => void woken.push(key))
  const workers = fill(fairShare, 'busy', n => `cloud ${n}`)
  assert.equal(workers.length, 5)
  assert.equal(fairShare.acquire({ namespace: 'busy', cloud: 'y' }, 'busy/second'), undefined)
  assert.equal(fairShare.acquire({ namespace: 'busy', cloud: 'x' }, 'busy/5'), undefined)
  const [one, two] = [1, 2].map(n => fairShare.acquire({ namespace: 'other', cloud: 'shared' }, `other/${n}`))
  assert.ok(one && !two)
  workers[0]?.free()
  assert.deepEqual(woken, ['busy/5'])
  one.free()
  assert.deepEqual(woken, ['busy/5', 'other/2'])
  workers[1]?.free()
  assert.deepEqual(woken, ['busy/5', 'other/2', 'busy/second'])
})

test('a worker that a key was woken for is not given to another key', () => {
  const woken: string[] = []
  const fairShare = createFairShare(5, key => void woken.push(key))
  const acquire = (name: string, cloud = 'one') => fairShare.acquire({ namespace: 'a', cloud }, name)
  const first = acquire('first')
  for (const name of ['second', 'third']) assert.equal(acquire(name), undefined)
  first?.free()
  assert.deepEqual(woken, ['second'])
  assert.equal(acquire('newcomer'), undefined)
  const second = acquire('second')
  assert.ok(second)
  second.free()
  assert.deepEqual(woken, ['second', 'third'])
  fairShare.forget('third')
  assert.deepEqual(woken, ['second', 'third', 'newcomer'])
  // It names another cloud by now: the reserved worker of the first one is free again.
  assert.ok(acquire('newcomer', 'two'))
  assert.ok(acquire('first'))
})

test('an object that does not use its cloud any more leaves it to the next one, and keeps its worker', () => {
  const fairShare = createFairShare(5, () => {})
  const first = fairShare.acquire({ namespace: 'a', cloud: 'one' }, 'a/1')
  assert.equal(fairShare.acquire({ namespace: 'a', cloud: 'one' }, 'a/2'), undefined)
  first?.freeCloud()
  assert.ok(fairShare.acquire({ namespace: 'a', cloud: 'one' }, 'a/2'))
  assert.ok(fairShare.acquire({ namespace: 'a', cloud: 'two' }, 'a/3'))
  assert.equal(fairShare.acquire({ namespace: 'a', cloud: 'three' }, 'a/4'), undefined)
  first?.free()
  assert.ok(fairShare.acquire({ namespace: 'a', cloud: 'three' }, 'a/4'))
  assert.equal(fairShare.acquire({ namespace: 'a', cloud: 'one' }, 'a/5'), undefined)
})

test('with a single worker every namespace and every cloud is still served', () => {
  const fairShare = createFairShare(1, () => {})
  assert.ok(fairShare.acquire({ namespace: 'a', cloud: 'one' }, 'a'))
  assert.ok(fairShare.acquire({ namespace: 'b', cloud: 'two' }, 'b'))
})
