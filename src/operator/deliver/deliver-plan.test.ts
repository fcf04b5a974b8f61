/** Delivery of a plan to a Viola over HTTP: what is sent, conflicts, and what is known of the cluster afterwards. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { startStubServer } from '../../../test/openstack/stub-server.ts'
import { toWireInterface } from '../../contract/interfaces.ts'
import type { ViolaNodeConfig, ViolaResult } from '../../contract/viola.ts'
import { createHttp } from '../../http-client/client.ts'
import { silent } from '../../telemetry/log.ts'
import type { Port } from '../cloud.ts'
import { createLocks } from '../limits/locks.ts'
import type { DeliveredNode, Observed } from '../plan/observed-state.ts'
import { aNic, aNode, aPort, detached, observed, one, vm1, vm2 } from '../plan/plan.fixture.ts'
import { planNodes } from '../plan/plan.ts'
import { withDeliveredList } from '../viola/delivered-list.ts'
import { withPostOnlySupport } from '../viola/legacy/post-only-viola.ts'
import { createViolaApi } from '../viola/viola-client.ts'
import { clusterAfter, deliverPlan, nodesDue } from './deliver-plan.ts'
import { createPendingDeletions } from './pending-deletions.ts'

const closing: (() => PromiseLike<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type OnPost = (node: ViolaNodeConfig, attempt: number) => Partial<ViolaResult> | undefined

/** A Viola with these nodes. It refuses a node that is based on another config, and `onPost` replaces its answers. */
async function aViola(nodes: readonly DeliveredNode[], onPost: OnPost = () => undefined) {
  const stored = new Map(nodes.map(node => [node.nodeName, node]))
  let posts = 0
  const answer = (node: ViolaNodeConfig): Partial<ViolaResult> => {
    if ((stored.get(node.nodeName)?.specHash ?? '') !== node.expectedSpecHash) return { action: 'conflict' }
    return { action: 'updated', specHash: `hash-${posts}` }
  }
  const server = await startStubServer(({ method, body }) => {
    if (method === 'DELETE') return { status: 204 }
    if (method === 'GET') {
      const items = [...stored.values()].map(node => ({ ...node, interfaces: node.interfaces.map(toWireInterface) }))
      return { status: 200, body: { items, resourceVersion: '1' } }
    }
    posts++
    const sent = JSON.parse(body) as ViolaNodeConfig[]
    const results = sent.map(node => ({ nodeName: node.nodeName, ...(onPost(node, posts) ?? answer(node)) }))
    return { status: 200, body: { applied: sent.length, output: '', results } }
  })
  const http = createHttp({ service: 'viola', timeoutMs: 5_000, attempts: 1 })
  closing.push(
    () => http.close(),
    () => server[Symbol.asyncDispose](),
  )
  const target = { endpoint: server.url, providerId: 'biz-1' }
  const store = { list: async () => [], put: async () => {}, remove: async () => {} }
  return {
    stored,
    client: withDeliveredList(withPostOnlySupport(createViolaApi({ http, ...target }), store, target)),
    requests: () =>
      server.requests.map(({ method, body }) =>
        [method, ...(method === 'POST' ? (JSON.parse(body) as ViolaNodeConfig[]).map(textOf) : [])].join(' '),
      ),
    traces: () => server.requests.map(({ headers }) => headers['traceparent']),
  }
}

function textOf({ nodeName, interfaces, expectedSpecHash }: ViolaNodeConfig): string {
  return [nodeName, ...interfaces.map(({ portId }) => portId), `on ${expectedSpecHash || 'nothing'}`].join(' ')
}

type Options = Partial<Parameters<typeof deliverPlan>[0]>

const deps = () => ({
  locks: createLocks(),
  pendingDeletions: createPendingDeletions(() => new Date(0)),
  sentOnce: new Map<string, string>(),
})

function optionsFor(viola: Awaited<ReturnType<typeof aViola>>, state: Observed, more: Options = {}) {
  return {
    ...{ deps: deps(), viola: viola.client, providerId: 'biz-1', observed: state, cluster: state.delivered },
    ...{ nodesReported: true, plan: planNodes(state), isTargeted: false, down: { resend: false }, log: silent },
    ...{ reads: 'everything' as const, signal: new AbortController().signal, traceparent: undefined },
    beforeSending: async () => {},
    ...more,
  }
}

/** worker-1 has port 1 and gets port 2. */
const growing = observed({ ports: [aPort(1), aPort(2)], delivered: [one] })

test('a new node is sent once, and is known afterwards as Viola stored it', async () => {
  const other = aNode([], { nodeName: 'other', instanceId: 'vm-9', providerName: 'Seoul' })
  const viola = await aViola([other])
  const state = observed({ vms: [{ ...vm1, serverName: 'web-1' }], ports: [aPort(1)] })
  const result = await deliverPlan(optionsFor(viola, state, { cluster: [other], traceparent: '00-trace' }))
  assert.deepEqual(viola.requests(), ['POST worker-1 port-1 on nothing'])
  assert.deepEqual(viola.traces(), ['00-trace'])
  assert.deepEqual([...result.delivery.accepted], [['worker-1', { action: 'updated', specHash: 'hash-1' }]])
  assert.deepEqual([...result.changed.keys()], ['worker-1'])
  assert.equal(result.needsCompleteRead, false)
  const { interfaces = [] } = result.plan.nodes[0] ?? {}
  const known = {
    ...{ nodeName: 'worker-1', instanceId: 'vm-1', specHash: 'hash-1', interfaces, instanceName: 'web-1' },
    ...{ providerName: 'Seoul', generation: 1 },
  }
  assert.deepEqual(
    result.nodes.map(({ node }) => node),
    [known],
  )
  assert.deepEqual(clusterAfter(result), [other, known])
})

test('a node that was changed has the next generation, and the status of the one before', async () => {
  const status = { state: 'Configured', observedGeneration: 4 } as const
  const before = { ...one, generation: 4, status }
  const result = await deliverPlan(optionsFor(await aViola([before]), { ...growing, delivered: [before] }))
  const [{ node } = assert.fail()] = result.nodes
  assert.deepEqual([node.generation, node.status, node.specHash], [5, status, 'hash-1'])
  assert.deepEqual([node.instanceName, node.providerName], [undefined, undefined])
  assert.equal('instanceName' in node || 'providerName' in node, false)
  assert.deepEqual(clusterAfter(result), [node])
})

test('a plan that was made without a read of the cloud sends nothing, and needs a complete read', async () => {
  const viola = await aViola([one])
  const result = await deliverPlan(optionsFor(viola, growing, { reads: 'cluster' }))
  assert.deepEqual([viola.requests(), result.needsCompleteRead, result.changed.size], [[], true, 0])
})

test('without a difference Viola is not called, and the nodes are as delivered', async () => {
  const viola = await aViola([one])
  const state = observed({ ports: [aPort(1)], delivered: [one] })
  const result = await deliverPlan(optionsFor(viola, state, { nodesReported: false }))
  assert.deepEqual(viola.requests(), [])
  assert.deepEqual(
    result.nodes.map(({ node }) => node),
    [one],
  )
  assert.equal(clusterAfter(result), result.cluster)
  assert.equal(result.changed.size, 0)
})

test('a node that another operator changed is planned again on what the cluster has now', async () => {
  const changed = aNode([aNic(1, 0), aNic(7, 1, { source: 'ns/other' })], { specHash: 'newer' })
  const viola = await aViola([changed])
  const result = await deliverPlan(optionsFor(viola, growing))
  assert.deepEqual(viola.requests(), [
    'POST worker-1 port-1 port-2 on delivered',
    'GET',
    'POST worker-1 port-1 port-7 port-2 on newer',
  ])
  assert.equal(result.delivery.conflicts.size, 0)
  assert.deepEqual([...result.changed.keys()], ['worker-1'])
  assert.equal(result.cluster[0]?.specHash, 'newer')
  assert.equal(result.observed.delivered[0]?.specHash, 'newer')
  assert.equal(result.plan.nodes[0]?.interfaces.length, 3)
})

test('a conflict that does not end is given up after three attempts, and reported', async () => {
  const viola = await aViola([one], () => ({ action: 'conflict', message: 'other hash' }))
  const result = await deliverPlan(optionsFor(viola, growing))
  const post = 'POST worker-1 port-1 port-2 on delivered'
  assert.deepEqual(viola.requests(), [post, 'GET', post, 'GET', post])
  assert.deepEqual([...result.delivery.conflicts], [['worker-1', 'other hash']])
  assert.equal(result.changed.size, 0)
  assert.deepEqual(
    result.nodes.map(({ node }) => node.specHash),
    ['delivered'],
  )
})

test('what an earlier attempt delivered is not lost by the next one', async () => {
  const state = observed({ vms: [vm1, vm2], ports: [aPort(1), aPort(2, { serverId: 'vm-2' })] })
  const viola = await aViola([], ({ nodeName }, attempt) =>
    nodeName === 'worker-1' && attempt === 1 ? { action: 'conflict' } : { action: 'created', specHash: nodeName },
  )
  const options = optionsFor(viola, state)
  viola.stored.set('worker-2', aNode([aNic(2, 0)], { nodeName: 'worker-2', instanceId: 'vm-2' }))
  const result = await deliverPlan(options)
  assert.deepEqual(viola.requests(), [
    'POST worker-1 port-1 on nothing worker-2 port-2 on nothing',
    'GET',
    'POST worker-1 port-1 on nothing',
  ])
  assert.deepEqual([...result.delivery.accepted.keys()].sort(), ['worker-1', 'worker-2'])
  assert.deepEqual([...result.changed.keys()].sort(), ['worker-1', 'worker-2'])
})

test('a node that an earlier attempt delivered has the generation that the cluster reports', async () => {
  const state = observed({ vms: [vm1, vm2], ports: [aPort(1), aPort(2, { serverId: 'vm-2' })] })
  const delivered = aNode([aNic(2, 0)], { nodeName: 'worker-2', instanceId: 'vm-2', specHash: 'worker-2' })
  const viola = await aViola([], ({ nodeName }, attempt) =>
    nodeName === 'worker-1' && attempt === 1 ? { action: 'conflict' } : { action: 'created', specHash: nodeName },
  )
  viola.stored.set('worker-2', delivered)
  const result = await deliverPlan(optionsFor(viola, state))
  const generations = result.nodes.map(({ node }) => [node.nodeName, node.generation])
  assert.deepEqual(generations.sort(), [
    ['worker-1', 1],
    ['worker-2', 1],
  ])
})

test('a node that fails at first, and is delivered after the conflict of another one, did not fail', async () => {
  const state = observed({ vms: [vm1, vm2], ports: [aPort(1), aPort(2, { serverId: 'vm-2' })] })
  const viola = await aViola([], ({ nodeName }, attempt) => {
    if (attempt > 1) return { action: 'created', specHash: nodeName }
    return { action: nodeName === 'worker-1' ? 'conflict' : 'failed', message: 'busy' }
  })
  const { delivery } = await deliverPlan(optionsFor(viola, state))
  assert.deepEqual([...delivery.accepted.keys()].sort(), ['worker-1', 'worker-2'])
  assert.deepEqual([delivery.failures.size, delivery.conflicts.size], [0, 0])
})

test('a conflict about what another operator has delivered by now is none', async () => {
  const viola = await aViola([{ ...one, specHash: 'newer', interfaces: planNodes(growing).nodes[0]?.interfaces ?? [] }])
  const result = await deliverPlan(optionsFor(viola, growing))
  assert.deepEqual(viola.requests(), ['POST worker-1 port-1 port-2 on delivered', 'GET'])
  assert.equal(result.delivery.conflicts.size, 0)
})

test('a node that Viola refuses is reported with its message, and is not sent again', async () => {
  const viola = await aViola([one], () => ({ action: 'failed', message: 'quota' }))
  const result = await deliverPlan(optionsFor(viola, growing))
  assert.equal(viola.requests().length, 1)
  assert.deepEqual([...result.delivery.failures], [['worker-1', 'quota']])
  assert.deepEqual([result.nodes[0]?.node, clusterAfter(result)], [one, [one]])
  const unknown = await deliverPlan(optionsFor(viola, observed({ ports: [aPort(1)] })))
  assert.deepEqual(unknown.nodes, [])
})

test('a Viola that does not report its nodes is asked under the locks before the first write', async () => {
  const viola = await aViola([aNode([aNic(1, 0)], { specHash: 'newer' })])
  await deliverPlan(optionsFor(viola, growing, { nodesReported: false }))
  assert.deepEqual(viola.requests(), ['GET', 'POST worker-1 port-1 port-2 on newer'])
})

test('nothing is sent if another operator has done it in the meantime', async () => {
  const viola = await aViola([{ ...one, interfaces: planNodes(growing).nodes[0]?.interfaces ?? [] }])
  const result = await deliverPlan(optionsFor(viola, growing, { nodesReported: false }))
  assert.deepEqual(viola.requests(), ['GET'])
  assert.deepEqual([result.changed.size, result.nodes[0]?.node.interfaces.length], [0, 2])
})

test('after a conflict only the VMs are sent that were locked', async () => {
  const second = aNode([aNic(3, 0)], { nodeName: 'worker-2', instanceId: 'vm-2' })
  const ports = [aPort(1), aPort(2), aPort(3, { serverId: 'vm-2' })]
  const viola = await aViola([{ ...one, specHash: 'newer' }])
  await deliverPlan(optionsFor(viola, observed({ vms: [vm1, vm2], ports, delivered: [one, second] })))
  assert.equal(viola.requests().at(-1), 'POST worker-1 port-1 port-2 on newer')
})

test('the VMs of a delivery are locked for all objects of the provider', async () => {
  const viola = await aViola([])
  const shared = deps()
  const released = Promise.withResolvers<void>()
  const holding = shared.locks.hold(['biz-1 vm-1'], () => released.promise)
  const delivering = deliverPlan(optionsFor(viola, observed({ ports: [aPort(1)] }), { deps: shared }))
  const other = observed({ vms: [vm2], ports: [aPort(2, { serverId: 'vm-2' })] })
  await deliverPlan(optionsFor(viola, other, { deps: shared }))
  assert.deepEqual(viola.requests(), ['POST worker-2 port-2 on nothing'])
  released.resolve()
  await holding
  const first = await delivering
  assert.deepEqual(viola.requests().slice(1), ['POST worker-1 port-1 on nothing'])
  assert.deepEqual(
    first.nodes.map(({ node }) => [node.nodeName, node.generation]),
    [['worker-1', 1]],
  )
})

test('a plan of a part of the ports removes nothing that the cluster has got since', async () => {
  const changed = aNode([aNic(1, 0), aNic(8, 1)], { specHash: 'newer' })
  const viola = await aViola([changed])
  const result = await deliverPlan(optionsFor(viola, growing, { isTargeted: true }))
  assert.equal(result.needsCompleteRead, true)
  assert.deepEqual(viola.requests(), ['POST worker-1 port-1 port-2 on delivered', 'GET'])
  const complete = await deliverPlan(optionsFor(await aViola([changed]), growing))
  assert.equal(complete.needsCompleteRead, false)
})

test('a removed node is deleted once, as long as the cluster cleans it up', async () => {
  const state = observed({ delivered: [one], portChecks: detached(1) })
  const viola = await aViola([one])
  const options = optionsFor(viola, state)
  const result = await deliverPlan(options)
  assert.deepEqual([[...result.delivery.removed], [...result.changed.keys()]], [['worker-1'], ['worker-1']])
  assert.deepEqual(result.nodes[0]?.node.interfaces, [])
  await deliverPlan(options)
  assert.deepEqual(viola.requests(), ['DELETE'])
  assert.deepEqual(options.deps.pendingDeletions.takeCompleted('biz-1', []), [
    { nodeName: 'worker-1', instanceId: 'vm-1' },
  ])
})

const named = observed({
  subnets: [{ ...observed().subnets[0], index: 0, alias: 'data' } as Observed['subnets'][number]],
  ports: [aPort(1)],
  delivered: [one],
})

test('new aliases are sent once they are accepted, and are no change of the node', async () => {
  let isFailing = true
  const viola = await aViola([one], () => (isFailing ? { action: 'failed', message: 'busy' } : undefined))
  const options = optionsFor(viola, named)
  await deliverPlan(options)
  assert.equal(options.deps.sentOnce.size, 0)
  isFailing = false
  const accepted = await deliverPlan(options)
  assert.deepEqual([...options.deps.sentOnce], [['biz-1 worker-1', '1 multinic0=data']])
  assert.deepEqual([accepted.delivery.accepted.size, accepted.changed.size], [1, 0])
  assert.deepEqual([accepted.nodes[0]?.node, clusterAfter(accepted)], [one, [{ ...one, specHash: 'hash-2' }]])
  await deliverPlan(options)
  assert.equal(viola.requests().length, 2)
})

test('a node that is sent leaves neither aliases nor a pending deletion', async () => {
  const options = optionsFor(await aViola([one]), growing)
  await deliverPlan(options)
  assert.equal(options.deps.sentOnce.size, 0)
  assert.deepEqual(options.deps.pendingDeletions.takeCompleted('biz-1', []), [])
})

test('a node without new aliases is not sent because it had some before', () => {
  const plan = planNodes(observed({ ports: [aPort(1)], delivered: [one] }))
  const sentOnce = new Map([['biz-1 worker-1', '1 multinic0=data']])
  const options = { deps: { ...deps(), sentOnce }, providerId: 'biz-1', down: { resend: false } }
  assert.deepEqual(nodesDue(options, plan, 1), [])
})

test('the first allowed address pairs of a node are sent once, and are a change of the node', async () => {
  const pairs = (...list: string[]) =>
    aPort(1, {
      portSecurity: {
        enabled: true,
        allowedAddressPairs: list.map(ipAddress => ({ ipAddress, macAddress: 'fa:16:3e:00:00:01' })),
      },
    })
  const state = (port: Port, delivered = one) => observed({ ports: [port], delivered: [delivered] })
  const viola = await aViola([one])
  const { deps } = optionsFor(viola, state(aPort(1)))
  const dueOf = (seen: Observed) =>
    nodesDue({ deps, providerId: 'biz-1', down: { resend: false } }, planNodes(seen), 1).map(({ action }) => action)

  const first = await deliverPlan({ ...optionsFor(viola, state(pairs('10.40.0.7'))), deps })
  assert.deepEqual([...first.changed.keys()], ['worker-1'])
  assert.deepEqual([...deps.sentOnce], [['biz-1 worker-1', '1 multinic0=,10.40.0.7/32']])
  assert.deepEqual(dueOf(state(pairs('10.40.0.7'))), [], 'the cluster does not keep pairs')
  assert.deepEqual(dueOf(state(pairs('10.40.0.8'))), ['send'], 'other pairs')
  assert.deepEqual(dueOf(state(pairs('10.40.0.7'), { ...one, generation: 2 })), ['send'], 'somebody edited the config')
  assert.deepEqual(dueOf(state(pairs('10.40.0.7'), { ...one, isUnconfirmed: true })), ['send'], 'the record was lost')
  const { instanceId: _, ...unnamed } = one
  assert.deepEqual(dueOf(state(pairs('10.40.0.7'), unnamed)), ['send'], 'the VM is new to the cluster')
  const moved = { ...pairs('10.40.0.7'), addresses: [{ subnetId: 'storage', address: '10.1.0.9' }] }
  assert.deepEqual(dueOf(state(moved)), ['send'], 'another address too')

  const kept = { ...one, interfaces: [aNic(1, 0, { allowedAddressPairs: ['10.40.0.7/32'], subnetName: 'storage' })] }
  assert.deepEqual(dueOf(state(pairs('10.40.0.7'), kept)), [])
  for (const change of [pairs('10.40.0.9'), pairs()]) {
    assert.deepEqual(dueOf(state(change, kept)), ['send'], 'the cluster keeps pairs')
    assert.equal(planNodes(state(change, kept)).nodes[0]?.once, undefined)
  }

  await deliverPlan({ ...optionsFor(await aViola([]), observed({ ports: [aPort(1)] })), deps })
  assert.deepEqual(dueOf(state(pairs('10.40.0.7'))), ['send'], 'the config was deleted and created again')
})

test('a node with a DOWN port is sent again when that is due, and not after a conflict', () => {
  const state = observed({ ports: [aPort(1, { status: 'DOWN' })], delivered: [one] })
  const plan = planNodes(state)
  const due = (resend: boolean, attempt: number) =>
    nodesDue({ deps: deps(), providerId: 'biz-1', down: { resend } }, plan, attempt).map(({ nodeName }) => nodeName)
  assert.deepEqual([due(true, 1), due(true, 2), due(false, 1)], [['worker-1'], [], []])
})

test('the cluster is unknown after a write of which Viola reports no hash', async () => {
  const viola = await aViola([one], () => ({ action: 'updated' }))
  const result = await deliverPlan(optionsFor(viola, growing))
  assert.equal(clusterAfter(result), undefined)
  assert.equal(result.nodes[0]?.node.specHash, '')
})

test('other nodes of the cluster stay as they are', async () => {
  const other = aNode([], { nodeName: 'other', instanceId: 'vm-9' })
  const result = await deliverPlan(optionsFor(await aViola([one, other]), growing, { cluster: [other, one] }))
  const after = clusterAfter(result) ?? []
  assert.equal(after[0], other)
  assert.deepEqual(
    after.map(({ nodeName, interfaces }) => [nodeName, interfaces.length]),
    [
      ['other', 0],
      ['worker-1', 2],
    ],
  )
})
