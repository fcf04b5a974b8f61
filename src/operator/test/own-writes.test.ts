/** The shared list of node configs takes over what we write ourselves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aListedViola, minute, statesOf } from '../../../test/operator/listed-viola.ts'
import { hashOfSent, sendEvent, startStreamingViola, toWire } from '../../../test/operator/viola-stream.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { ViolaNodeConfig } from '../../contract/viola.ts'
import type { NodeToWrite } from '../viola/viola-client.ts'

test('without a stream, a list is read again after a write, also after one that ends while it is read', async () => {
  await using viola = await startStreamingViola()
  await statesOf(viola)
  await viola.client.post([aNode('worker-1', 'ns/a')])
  await statesOf(viola)
  assert.equal(viola.lists(), 2)
  const answer = Promise.withResolvers<void>()
  viola.beforeAnswer = () => answer.promise
  await viola.client.remove({ nodeName: 'worker-1', expectedSpecHash: '' })
  const reading = statesOf(viola)
  await eventually(() => assert.equal(viola.lists(), 3))
  await viola.client.remove({ nodeName: 'worker-1', expectedSpecHash: '' })
  answer.resolve()
  await reading
  await statesOf(viola)
  assert.equal(viola.lists(), 4)
})

function aNode(nodeName: string, source: string): NodeToWrite {
  const nic = { index: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:01', portId: 'port-0' }
  return { nodeName, interfaces: [{ ...nic, source, subnetName: 'blue' }] }
}

test('with a stream, a node that we write is in the list at once, and its event concerns nobody', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  viola.onPost = ({ nodeName }) => ({ nodeName, action: 'updated', specHash: `${nodeName} 2` })
  await viola.client.post([aNode('worker-1', 'ns/c')])
  const { nodes } = await viola.client.list(undefined, { maxAgeMs: minute })
  const [written] = nodes
  assert.equal(`${written?.specHash} ${written?.generation} ${written?.status?.state}`, 'worker-1 2 2 Pending')
  assert.deepEqual(
    written?.interfaces.map(({ index, source }) => [index, source]),
    [[0, 'ns/c']],
  )
  // The status of the generation before.
  viola.send({ nodeName: 'worker-1', generation: 1, state: 'Configured' })
  viola.change({ nodeName: 'worker-1', generation: 2, sources: ['ns/c'] })
  await eventually(() => assert.equal(watch.concerned.length, 2))
  assert.deepEqual(watch.concerned[0], [])
  assert.deepEqual(await statesOf(viola), ['worker-1 2 Pending', 'worker-2 1 Pending'])
  assert.equal(viola.lists(), 1)
})

interface OwnEvent {
  generation: number
  type?: string
  /** What the cluster has. Default: what was sent. */
  stored?: (node: ViolaNodeConfig) => ViolaNodeConfig
}

const anotherNic = { id: 1, name: 'multinic1', macAddress: 'fa:16:3e:00:00:99' }

/** Posts a node. Viola reports `event` and answers when the client has read it. */
async function postWithEvent(
  { viola, watch }: Awaited<ReturnType<typeof aListedViola>>,
  { generation, type = 'updated', stored = node => node }: OwnEvent,
) {
  viola.onPost = node => {
    const { nodeName, instanceId, interfaces } = stored(node)
    const reported = { nodeName, instanceId, interfaces, specHash: hashOfSent(stored(node)), generation }
    for (const stream of viola.streams) sendEvent(stream, type, reported)
    return { nodeName: node.nodeName, action: 'updated', specHash: hashOfSent(node) }
  }
  viola.beforeAnswer = () => eventually(() => assert.equal(watch.concerned.length, 1))
  const node = aNode('worker-1', 'ns/c')
  await viola.client.post([node])
  viola.beforeAnswer = async () => {}
  return node
}

test('what is delivered has the interfaces that were planned, as the same objects', async () => {
  await using given = await aListedViola()
  const { viola } = given
  const node = aNode('worker-2', 'ns/a')
  viola.onPost = ({ nodeName }) => ({ nodeName, action: 'updated', specHash: `${nodeName} 2` })
  await viola.client.post([node])
  const withEvent = await postWithEvent(given, { generation: 2 })
  const { nodes } = await viola.client.list(undefined, { maxAgeMs: minute })
  assert.deepEqual([viola.lists(), nodes.length], [1, 2])
  assert.equal(nodes[0]?.interfaces, withEvent.interfaces)
  assert.equal(nodes[1]?.interfaces, node.interfaces)
})

test('a node that Viola completes is delivered as it completes it', async () => {
  await using given = await aListedViola()
  const { viola } = given
  const { interfaces } = aNode('worker-1', 'ns/a')
  const incomplete = interfaces.map(nic => ({ ...nic, macAddress: nic.macAddress.toUpperCase(), gateway: '' }))
  await viola.client.post([{ nodeName: 'worker-1', interfaces: incomplete }])
  assert.deepEqual((await viola.client.list(undefined, { maxAgeMs: minute })).nodes[0]?.interfaces, interfaces)
})

test('an event of our own write that comes before the answer is no change of somebody else', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  await postWithEvent(given, { generation: 5 })
  assert.deepEqual(watch.concerned, [[]])
  assert.deepEqual(await statesOf(viola), ['worker-1 5 undefined', 'worker-2 1 Pending'])
  assert.equal(viola.lists(), 1)
})

test('an event of our own write without the names of its interfaces has them as the cluster has them', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  const withoutNames = (node: ViolaNodeConfig) => ({
    ...node,
    interfaces: node.interfaces.map(({ subnetName: _, ...nic }) => nic),
  })
  await postWithEvent(given, { generation: 2, stored: withoutNames })
  assert.deepEqual(watch.concerned, [[]])
  const { nodes } = await viola.client.list(undefined, { maxAgeMs: minute })
  const [nic] = nodes[0]?.interfaces ?? []
  assert.deepEqual([viola.lists(), nic?.portId, nic?.subnetName], [1, 'port-0', undefined])
})

for (const [name, event] of [
  ['another config', { generation: 2, stored: node => ({ ...node, interfaces: [...node.interfaces, anotherNic] }) }],
  ['another VM', { generation: 2, stored: node => ({ ...node, instanceId: 'another' }) }],
  ['a deletion', { generation: 1, type: 'deleted' }],
] as const satisfies [string, OwnEvent][])
  test(`an event with ${name} before the answer to our write makes the list outdated`, async () => {
    await using given = await aListedViola()
    const { viola, watch } = given
    await postWithEvent(given, event)
    assert.notDeepEqual(watch.concerned, [[]])
    await statesOf(viola)
    assert.equal(viola.lists(), 2)
  })

for (const action of ['updated', 'unchanged'] as const)
  test(`a write that is ${action} and did not count up the generation has the reported one`, async () => {
    await using given = await aListedViola()
    const { viola, watch } = given
    viola.onPost = ({ nodeName }) => ({ nodeName, action, specHash: `${nodeName} 1` })
    await viola.client.post([aNode('worker-1', 'ns/a')])
    viola.change({ nodeName: 'worker-1', state: 'Configured' })
    await eventually(() => assert.equal(watch.concerned.length, 1))
    assert.deepEqual(await statesOf(viola), ['worker-1 1 Configured', 'worker-2 1 Pending'])
    assert.equal(viola.lists(), 1)
  })

test('a write that changed only names is in the list after its event', async () => {
  await using given = await aListedViola()
  const { viola } = given
  const { nodes: before } = await viola.client.list(undefined, { maxAgeMs: minute })
  viola.onPost = ({ nodeName }) => ({ nodeName, action: 'unchanged', specHash: `${nodeName} 1` })
  await viola.client.post([aNode('worker-1', 'ns/a')])
  assert.deepEqual((await viola.client.list(undefined, { maxAgeMs: minute })).nodes, before)
  const named = { ...toWire({ nodeName: 'worker-1', generation: 2, sources: ['ns/a'], state: 'Pending' }) }
  for (const stream of viola.streams) sendEvent(stream, 'updated', { ...named, specHash: 'worker-1 1' })
  await eventually(async () => assert.match(String(await statesOf(viola)), /^worker-1 2 /))
  assert.equal((await viola.client.list(undefined, { maxAgeMs: minute })).nodes[0]?.interfaces.length, 1)
  assert.equal(viola.lists(), 1)
})

for (const [name, onPost] of [
  ['no specHash', ({ nodeName }: ViolaNodeConfig) => ({ nodeName, action: 'updated' as const })],
  ['no result', () => ({ nodeName: 'another', action: 'updated' as const })],
] as const)
  test(`a write with ${name} in its answer makes the list outdated`, async () => {
    await using given = await aListedViola()
    const { viola } = given
    viola.onPost = onPost
    await viola.client.post([aNode('worker-1', 'ns/a')])
    await statesOf(viola)
    assert.equal(viola.lists(), 2)
  })

test('a write that fails makes the list outdated: Viola may have stored it', async () => {
  await using given = await aListedViola()
  const { viola } = given
  await assert.rejects(viola.client.post([aNode('worker-1', 'ns/a')], AbortSignal.abort()))
  await statesOf(viola)
  assert.equal(viola.lists(), 2)
})

test('a node that Viola refuses stays as it is', async () => {
  await using given = await aListedViola()
  const { viola } = given
  viola.onPost = ({ nodeName }) => ({
    nodeName,
    action: nodeName === 'worker-1' ? 'conflict' : 'failed',
    specHash: 'x',
  })
  await viola.client.post([aNode('worker-1', 'ns/a'), aNode('worker-2', 'ns/a')])
  const { nodes } = await viola.client.list(undefined, { maxAgeMs: minute })
  assert.deepEqual(
    nodes.map(({ specHash }) => specHash),
    ['worker-1 1', 'worker-2 1'],
  )
  assert.equal(viola.lists(), 1)
})
