import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepSnapshotTime, linkTo, linkToNode, routeFrom } from './route.ts'

test('a link parses back to its screen and query', () => {
  assert.deepEqual(routeFrom(linkTo('matrix', { provider: 'a b', severity: '', q: '10.1' })), {
    screen: 'matrix',
    query: { provider: 'a b', q: '10.1' },
  })
  assert.deepEqual(routeFrom(linkToNode({ providerId: 'p/1', nodeName: 'worker-1' }, 'multinic0')), {
    screen: 'nodes',
    query: { nic: 'multinic0' },
    providerId: 'p/1',
    nodeName: 'worker-1',
  })
})

test('an unknown address opens the overview', () => {
  for (const hash of ['', '#', '#/', '#/nowhere', '#/%zz']) assert.equal(routeFrom(hash).screen, 'overview', hash)
})

test('an address shows no invisible characters either', () => {
  const name = encodeURIComponent('worker\u202egnp')
  const { providerId, nodeName, query } = routeFrom(`#/nodes/${name}/${name}?q=${name}`)
  assert.deepEqual([providerId, nodeName, query['q']], Array(3).fill('worker\ufffdgnp'))
})

test('a node can be addressed by its name alone', () => {
  assert.deepEqual(routeFrom('#/nodes/worker-1'), { screen: 'nodes', query: {}, nodeName: 'worker-1' })
})

test('links keep the time of a snapshot until a link asks for now', () => {
  const snapshot = routeFrom('#/matrix?asof=2026-11-03T18:05:00.000Z')
  assert.equal(snapshot.asof, '2026-11-03T18:05:00.000Z')
  const kept = keepSnapshotTime(snapshot, '#/nodes/p/worker-1?nic=multinic0')
  assert.equal(routeFrom(kept ?? '').asof, snapshot.asof)
  assert.equal(routeFrom(kept ?? '').query['nic'], 'multinic0')
  assert.equal(keepSnapshotTime(snapshot, '#/matrix?asof=now'), undefined)
  assert.equal(routeFrom('#/matrix?asof=now').asof, undefined)
  assert.equal(keepSnapshotTime(snapshot, '#/history'), undefined)
  assert.equal(keepSnapshotTime(routeFrom('#/matrix'), '#/nodes'), undefined)
})
