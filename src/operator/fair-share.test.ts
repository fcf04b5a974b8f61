import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairShare } from './fair-share.ts'

/** Acquires until the share is used up. Returns the functions that free the workers. */
function fill(fairShare: ReturnType<typeof createFairShare>, namespace: string, cloudOf: (n: number) => string) {
  const frees: (() => void)[] = []
  for (let n = 0; ; n++) {
    const free = fairShare.acquire({ namespace, cloud: cloudOf(n) }, `${namespace}/${n}`)
    if (!free) return frees
    frees.push(free)
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
  const frees = fill(fairShare, 'busy', n => `cloud ${n}`)
  assert.equal(frees.length, 5)
  assert.equal(fairShare.acquire({ namespace: 'busy', cloud: 'x' }, 'busy/second'), undefined)
  assert.equal(fairShare.acquire({ namespace: 'busy', cloud: 'x' }, 'busy/5'), undefined)
  const [one, two] = [1, 2].map(n => fairShare.acquire({ namespace: 'other', cloud: 'shared' }, `other/${n}`))
  assert.ok(one && !two)
  frees[0]?.()
  assert.deepEqual(woken, ['busy/5'])
  one()
  assert.deepEqual(woken, ['busy/5', 'other/2'])
  frees[1]?.()
  assert.deepEqual(woken, ['busy/5', 'other/2', 'busy/second'])
})

test('with a single worker every namespace and every cloud is still served', () => {
  const fairShare = createFairShare(1, () => {})
  assert.ok(fairShare.acquire({ namespace: 'a', cloud: 'one' }, 'a'))
  assert.ok(fairShare.acquire({ namespace: 'b', cloud: 'two' }, 'b'))
})
