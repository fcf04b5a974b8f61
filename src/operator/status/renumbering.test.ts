/** Requests to renumber interfaces: which indexes they take, in which order, and what happens when one fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { interfaceHash } from '../../contract/interface-hash.ts'
import { type Interface, interfaceName } from '../../contract/interfaces.ts'
import type { NodeConfigStatus } from '../../contract/node-config.ts'
import { maxMoves, type RenumberRequest } from '../../contract/renumber.ts'
import type { RenumberStatus } from '../../contract/renumber-status.ts'
import type { DeliveredNode, Observed, SelectedSubnet } from '../plan/observed-state.ts'
import { aNic, aNode, aPort, backup, observed, storage, vm1, vm2 } from '../plan/plan.fixture.ts'
import { planNodes } from '../plan/plan.ts'
import { nextRenumbering } from './renumbering.ts'

const subnets: SelectedSubnet[] = [
  { ...storage, index: 0 },
  { ...backup, index: 1 },
  { ...storage, id: 'other', name: 'other', cidr: '10.3.0.0/24', networkId: 'net-o' },
]
const [, , other] = subnets
const inBackup = { subnetId: 'backup', networkId: 'net-b', cidr: '10.2.0.0/24' }
const inOther = { subnetId: 'other', networkId: 'net-o', cidr: '10.3.0.0/24' }
/** Ports 1 to 3 of worker-1: storage, backup, and a subnet without an index. */
const ports = [aPort(1), aPort(2, { subnet: backup }), aPort(3, { ...(other && { subnet: other }) })]
const nics = (...indexes: number[]): Interface[] =>
  [{ subnetName: 'storage' }, inBackup, inOther]
    .flatMap((more, at) => {
      const index = indexes[at]
      const { address, cidr } = { address: `10.${at + 1}.0.${at + 1}`, cidr: `10.${at + 1}.0.0/24` }
      return index === undefined ? [] : [aNic(at + 1, index, { address, cidr, ...more })]
    })
    .sort((a, b) => a.index - b.index)

function movesIn(interfaces: Interface[], more: Partial<Observed> = {}): string[] {
  const plan = planNodes(observed({ subnets, ports, delivered: [aNode(interfaces)], ...more }))
  return plan.moves.map(({ portId, from, to, exchange, blocked }) =>
    [portId, from, to, ...(exchange ? [`and ${Object.values(exchange).join(' ')}`] : []), ...(blocked ? [blocked] : [])]
      .join(' ')
      .replaceAll('multinic', ''),
  )
}

test('an interface that has the index of another subnet gets its own, the free one, or one that no subnet has', () => {
  assert.deepEqual(movesIn(nics(4)), ['port-1 4 0'])
  assert.deepEqual(movesIn(nics(1, 0)), ['port-2 0 1 and port-1 1 0', 'port-1 1 0 and port-2 0 1'])
  assert.deepEqual(movesIn(nics(4, 0)), ['port-2 0 1', 'port-1 4 0 and port-2 0 1'])
  assert.deepEqual(movesIn(nics(4, 1, 0)), ['port-1 4 0 and port-3 0 4'])
  // 1 becomes free, and belongs to another subnet.
  assert.deepEqual(movesIn(nics(1, 2, 0)), ['port-1 1 0 and port-3 0 3', 'port-2 2 1 and port-1 1 2'])
})

test('an interface of another object does not make room', () => {
  assert.deepEqual(movesIn([...nics(4), aNic(9, 0, { ...inOther, source: 'ns/else' })]), [
    'port-1 4 0 0 is an interface of ns/else',
  ])
})

test('without a free index nothing makes room', () => {
  const claims = [{ source: 'ns/else', vmIds: ['vm-1'], subnetIds: [], indexes: [2, 3, 4, 5, 6, 7, 8, 9] }]
  assert.deepEqual(movesIn(nics(4, 1, 0), { claims }), ['port-1 4 0 no index is free for 0, which has to make room'])
})

/** A cluster with one operator: `sync` is one sync, and a node answers when a test lets it. */
function aCluster(initial: DeliveredNode[], more: Partial<Observed> = {}) {
  const cluster = {
    nodes: initial.map(node => ({ ...node, status: reportOf(node) })),
    status: undefined as RenumberStatus | undefined,
    annotation: undefined as string | undefined,
    more,
    nodesReported: true,
    ask(moves: RenumberRequest['moves'], requestedAt = 'now') {
      cluster.annotation = JSON.stringify({ requestedAt, moves })
    },
    /** What fails: the delivery, or the status after it. */
    sync(failing: { delivery?: boolean; status?: boolean } = {}) {
      const current = cluster.status?.current
      const given = { subnets, ports, ...cluster.more, delivered: cluster.nodes, ...(current && { renumber: current }) }
      const plan = planNodes(observed(given))
      if (!failing.delivery)
        cluster.nodes = cluster.nodes.map(node => {
          const planned = plan.nodes.find(({ nodeName, action }) => nodeName === node.nodeName && action === 'send')
          return planned ? { ...node, interfaces: planned.interfaces, generation: node.generation + 1 } : node
        })
      const { annotation, status: before, nodes, nodesReported } = cluster
      if (!failing.status) cluster.status = nextRenumbering({ annotation, before, plan, nodes, nodesReported })
    },
    answer(failure?: string) {
      cluster.nodes = cluster.nodes.map(node => ({ ...node, status: reportOf(node, failure) }))
    },
    /** Until nothing changes any more. */
    run(failure?: string) {
      for (let last = ''; last !== JSON.stringify(cluster); ) {
        last = JSON.stringify(cluster)
        cluster.sync()
        assertUnique(cluster.nodes)
        cluster.answer(failure)
      }
    },
    texts: () =>
      cluster.nodes.map(({ nodeName, interfaces }) =>
        [`${nodeName}:`, ...interfaces.map(nic => `${nic.index}=${nic.portId}`)].join(' '),
      ),
  }
  return cluster
}

/** An agent configured the node as requested, or refused its interfaces under other indexes than before. */
function reportOf(node: DeliveredNode, failure?: string): NodeConfigStatus {
  const before = node.status?.interfaceStatuses ?? []
  const interfaceStatuses = node.interfaces.map(nic => {
    const known = before.find(({ portId }) => portId === nic.portId)
    const entry = { id: nic.index, name: nic.name, portId: nic.portId ?? '', macAddress: nic.macAddress }
    if (failure && known?.specHash !== interfaceHash(nic))
      return { ...entry, status: 'Failed' as const, reason: 'LinkHasUpperDevices', message: failure, specHash: 'kept' }
    return { ...entry, status: 'Configured' as const, specHash: interfaceHash(nic) }
  })
  const state = interfaceStatuses.every(({ status }) => status === 'Configured') ? 'Configured' : 'Failed'
  return { state, observedGeneration: node.generation, interfaceStatuses }
}

function assertUnique(nodes: readonly DeliveredNode[]): void {
  for (const { interfaces } of nodes)
    assert.equal(new Set(interfaces.map(({ index }) => index)).size, interfaces.length)
}

const worker2 = (interfaces: Interface[]) => aNode(interfaces, { nodeName: 'worker-2', instanceId: 'vm-2' })
const onWorker2 = [aPort(1), aPort(4, { serverId: 'vm-2' })]
const twoNodes = () => aCluster([aNode(nics(4)), worker2([aNic(4, 3)])], { vms: [vm1, vm2], ports: onWorker2 })
const twoMoves = [
  { nodeName: 'worker-1', portId: 'port-1', to: 'multinic0' },
  { nodeName: 'worker-2', portId: 'port-4', to: 'multinic0' },
]

test('nothing moves unless a person asks', () => {
  const cluster = twoNodes()
  cluster.run()
  assert.deepEqual([cluster.texts(), cluster.status], [['worker-1: 4=port-1', 'worker-2: 3=port-4'], undefined])
})

test('nodes move one after the other, each after the agent proved the one before', () => {
  const cluster = twoNodes()
  cluster.ask(twoMoves)
  cluster.sync()
  assert.deepEqual(cluster.texts(), ['worker-1: 4=port-1', 'worker-2: 3=port-4'], 'the status names the move first')
  cluster.sync()
  cluster.sync()
  assert.deepEqual(cluster.texts(), ['worker-1: 0=port-1', 'worker-2: 3=port-4'])
  cluster.answer()
  cluster.sync()
  cluster.sync()
  assert.deepEqual(cluster.texts(), ['worker-1: 0=port-1', 'worker-2: 0=port-4'])
  assert.equal(cluster.status?.state, 'InProgress')
  cluster.answer()
  cluster.sync()
  const { request: _, ...status } = cluster.status ?? { request: '' }
  assert.deepEqual(status, { state: 'Done', total: 2, done: 2, message: '2 of 2 renumbered' })
})

test('a move that fails is rolled back with its partner, and the others do not start', () => {
  const cluster = aCluster([aNode(nics(4, 1, 0)), worker2([aNic(4, 3)])], {
    vms: [vm1, vm2],
    ports: [...ports, ...onWorker2],
  })
  cluster.ask(twoMoves)
  cluster.run('child0 uses multinic4')
  assert.deepEqual(cluster.texts(), ['worker-1: 0=port-3 1=port-2 4=port-1', 'worker-2: 3=port-4'])
  assert.equal(cluster.status?.state, 'Stopped')
  assert.equal(
    cluster.status?.message,
    'worker-1 multinic4 → multinic0: LinkHasUpperDevices: child0 uses multinic4; the index is multinic4 again',
  )
  cluster.ask(twoMoves, 'later')
  cluster.run()
  assert.deepEqual(cluster.texts(), ['worker-1: 0=port-1 1=port-2 4=port-3', 'worker-2: 0=port-4'])
  assert.equal(cluster.status?.state, 'Done')
})

test('a request that is withdrawn completes what the agent proved, and rolls back what no agent began', () => {
  const cluster = twoNodes()
  cluster.ask(twoMoves)
  cluster.sync()
  cluster.sync()
  cluster.annotation = undefined
  cluster.run()
  assert.deepEqual([cluster.texts(), cluster.status], [['worker-1: 4=port-1', 'worker-2: 3=port-4'], undefined])
  cluster.ask(twoMoves)
  cluster.sync()
  cluster.sync()
  cluster.answer()
  cluster.annotation = undefined
  cluster.run()
  assert.deepEqual([cluster.texts(), cluster.status], [['worker-1: 0=port-1', 'worker-2: 3=port-4'], undefined])
})

test('a move that an agent has begun completes after the request is withdrawn or replaced', () => {
  for (const withdrawn of [true, false]) {
    const cluster = twoNodes()
    cluster.ask(twoMoves.slice(0, 1))
    cluster.sync()
    cluster.sync()
    const running = (node: DeliveredNode) => ({ state: 'InProgress' as const, observedGeneration: node.generation })
    cluster.nodes = cluster.nodes.map((node, at) => (at === 0 ? { ...node, status: running(node) } : node))
    if (withdrawn) cluster.annotation = undefined
    else cluster.ask(twoMoves.slice(1))
    cluster.sync()
    assert.deepEqual(cluster.texts(), ['worker-1: 0=port-1', 'worker-2: 3=port-4'])
    cluster.run()
    assert.deepEqual(cluster.texts(), ['worker-1: 0=port-1', withdrawn ? 'worker-2: 3=port-4' : 'worker-2: 0=port-4'])
    assert.equal(cluster.status?.message, withdrawn ? undefined : '1 of 1 renumbered')
  }
})

test('a port that is gone and a subnet that has another index now are skipped', () => {
  const cluster = twoNodes()
  cluster.ask([...twoMoves, { nodeName: 'worker-9', portId: 'gone', to: 'multinic0' }])
  cluster.more = { ...cluster.more, subnets: [{ ...storage, index: 4 }] }
  cluster.run()
  assert.deepEqual(cluster.texts(), ['worker-1: 4=port-1', 'worker-2: 3=port-4'])
  assert.equal(cluster.status?.message, '0 of 3 renumbered; 3 no longer to be moved')
})

test('a port that is detached during its move ends it', () => {
  const cluster = twoNodes()
  cluster.ask(twoMoves)
  cluster.sync()
  cluster.sync()
  cluster.nodes = cluster.nodes.map((node, at) => (at === 0 ? { ...node, interfaces: [] } : node))
  cluster.more = { ...cluster.more, ports: onWorker2.filter(({ id }) => id !== 'port-1') }
  cluster.run()
  assert.deepEqual(cluster.texts(), ['worker-1:', 'worker-2: 0=port-4'])
  assert.equal(cluster.status?.message, '1 of 2 renumbered; 1 no longer to be moved')
})

test('a new port does not take an index that a move needs if it fails', () => {
  const cluster = aCluster([aNode([aNic(1, 2)])], { ports: [aPort(1)] })
  cluster.ask(twoMoves)
  cluster.sync()
  cluster.sync()
  assert.deepEqual(cluster.texts(), ['worker-1: 0=port-1'])
  cluster.more = { ports: [aPort(1), aPort(3, { ...(other && { subnet: other }) })] }
  cluster.sync()
  assert.deepEqual(cluster.texts(), ['worker-1: 0=port-1 3=port-3'])
})

test('an index that another object takes meanwhile stays with it, before the move and when it fails', () => {
  const take = (cluster: ReturnType<typeof twoNodes>, index: number) => {
    cluster.nodes = cluster.nodes.map((node, at) => {
      if (at > 0) return node
      const taken = { ...node, interfaces: [...node.interfaces, aNic(9, index, { ...inOther, source: 'ns/else' })] }
      return { ...taken, status: reportOf(taken) }
    })
  }
  const cluster = twoNodes()
  cluster.ask(twoMoves.slice(0, 1))
  cluster.sync()
  take(cluster, 0)
  cluster.run()
  assert.deepEqual(cluster.texts()[0], 'worker-1: 0=port-9 4=port-1')
  assert.match(cluster.status?.message ?? '', /multinic4 → multinic0: multinic0 is an interface of ns\/else$/)
  assert.equal(cluster.status?.state, 'Stopped')

  const failing = twoNodes()
  failing.ask(twoMoves.slice(0, 1))
  failing.sync()
  failing.sync()
  failing.answer('in use')
  failing.sync()
  take(failing, 4)
  failing.run('in use')
  assert.deepEqual(failing.texts()[0], 'worker-1: 0=port-1 4=port-9')
  assert.match(failing.status?.message ?? '', /in use; cannot roll it back, because multinic4 is in use$/)
})

test('a node that is not configured waits, a failed one stops the request, and others move meanwhile', () => {
  const cluster = twoNodes()
  const report = (state: 'Pending' | 'Failed') => {
    cluster.nodes = cluster.nodes.map((node, at) =>
      at === 0 ? { ...node, status: { state, observedGeneration: node.generation } } : node,
    )
  }
  cluster.ask(twoMoves)
  for (let n = 0; n < 9; n++) {
    report('Pending')
    cluster.sync()
    cluster.answer()
  }
  report('Pending')
  cluster.sync()
  assert.deepEqual(cluster.texts(), ['worker-1: 4=port-1', 'worker-2: 0=port-4'])
  assert.equal(cluster.status?.message, '1 of 2 renumbered; worker-1 multinic4 → multinic0: the node is Pending')
  assert.equal(cluster.status?.state, 'InProgress')
  report('Failed')
  cluster.sync()
  assert.equal(cluster.status?.state, 'Stopped')
})

test('an annotation that is no request, and a Viola that reports no nodes, stop the request', () => {
  for (const annotation of [
    '',
    '{',
    '[]',
    '{"moves":[]}',
    JSON.stringify({ requestedAt: '', moves: [{ to: 'eth0' }] }),
  ]) {
    const cluster = twoNodes()
    cluster.annotation = annotation
    cluster.run()
    assert.match(cluster.status?.message ?? '', /is not a request of multinic renumber/)
    assert.equal(cluster.status?.state, 'Stopped')
  }
  const many = twoNodes()
  many.ask(Array.from({ length: maxMoves + 1 }, () => twoMoves).flatMap(([move]) => (move ? [move] : [])))
  many.run()
  assert.equal(many.status?.state, 'Stopped')
  const old = twoNodes()
  old.nodesReported = false
  old.ask(twoMoves)
  old.run()
  assert.match(old.status?.message ?? '', /this Viola does not report the state of nodes/)
  assert.deepEqual(old.texts(), ['worker-1: 4=port-1', 'worker-2: 3=port-4'])
})

test('a status that the API server does not store stops the request instead of beginning again', () => {
  const cluster = twoNodes()
  cluster.ask(twoMoves)
  const { annotation, nodes } = cluster
  const plan = planNodes(observed({ subnets, delivered: nodes, ...cluster.more }))
  for (const reasonBefore of ['RenumberInProgress', 'RenumberStopped']) {
    const after = nextRenumbering({ annotation, before: undefined, reasonBefore, plan, nodes, nodesReported: true })
    assert.equal(after?.state, 'Stopped')
    assert.match(after?.message ?? '', /^the CRD of OpenstackConfig is older than the operator/)
  }
  const again = nextRenumbering({
    annotation,
    before: undefined,
    reasonBefore: 'Healthy',
    plan,
    nodes,
    nodesReported: true,
  })
  assert.equal(again?.state, 'InProgress')
})

test('an operator that is killed at any time leaves each interface with its old or its new index, and completes later', () => {
  const start = fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 3, maxLength: 3 })
  const fault = fc.constantFrom('none', 'delivery', 'status', 'no answer', 'failed') as fc.Arbitrary<string>
  fc.assert(
    fc.property(start, fc.array(fault, { maxLength: 12 }), (indexes, faults) => {
      const cluster = aCluster([aNode(nics(...indexes))])
      const moves = ['port-1', 'port-2'].map((portId, n) => ({ nodeName: 'worker-1', portId, to: interfaceName(n) }))
      cluster.ask(moves)
      for (const fault of faults) {
        cluster.sync({ delivery: fault === 'delivery', status: fault === 'status' })
        assertUnique(cluster.nodes)
        if (fault !== 'no answer') cluster.answer(fault === 'failed' ? 'in use' : undefined)
      }
      if (faults.includes('failed')) {
        cluster.run()
        assert.notEqual(cluster.status?.state, 'InProgress')
        cluster.ask(moves, 'again')
      }
      cluster.run()
      assert.equal(cluster.status?.state, 'Done', cluster.status?.message)
      const [node] = cluster.nodes
      assert.deepEqual(
        [1, 2].map(n => node?.interfaces.find(({ portId }) => portId === `port-${n}`)?.index),
        [0, 1],
      )
    }),
  )
})
