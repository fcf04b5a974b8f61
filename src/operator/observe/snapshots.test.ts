/**
 * A sync that reads only the ports that notifications name decides what a complete read would have decided. Over real HTTP,
 * with Viola: random changes of ports, each with the notifications of Neutron.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import {
  addPort,
  addServer,
  addSubnet,
  freeAddress,
  noFaults,
  type Port,
  removePort,
  type Server,
  type Subnet,
} from '../../../sandbox/cloud/state.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { openSyncDeps, type SyncParts, scopeOf } from '../../../test/operator/sync-deps.ts'
import { indexesOf } from '../../../test/support/random.ts'
import { canonicalJson } from '../../contract/hash.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { keyOf } from '../../kube/keys.ts'
import { silent } from '../../telemetry/log.ts'
import { type Hints, noHints } from '../events/hints.ts'
import type { Plan } from '../plan/plan.ts'
import { type SyncDeps, type SyncResult, sync } from '../sync/sync.ts'
import { inspect } from './inspect.ts'
import { createPlanner } from './planner.ts'

let environment: OperatorEnvironment
let parts: SyncParts
let deps: SyncDeps
let subnets: Subnet[]
let servers: Server[]
let config: OpenstackConfig
let key: string
let now: number
let objects = 0

before(async () => {
  environment = await startOperatorEnvironment()
})
after(() => environment.close())

beforeEach(async () => {
  const { cloudState } = environment
  Object.assign(cloudState.faults, noFaults)
  for (const all of [cloudState.ports, cloudState.servers, cloudState.subnets]) all.clear()
  subnets = ['storage', 'backup', 'other'].map((name, n) =>
    addSubnet(cloudState, { name, cidr: `10.${n}.0.0/24`, mtu: 1500 }),
  )
  // The cluster keeps the nodes of earlier tests.
  objects++
  servers = Array.from({ length: 4 }, (_, n) => addServer(cloudState, `worker-${objects}-${n}`))
  now = 0
  parts = await openSyncDeps(environment, { now: () => now })
  deps = parts.deps
})
afterEach(() => parts.close())

/** Selects all subnets but the last. */
async function createObject(): Promise<void> {
  const subnetIDs = subnets.slice(0, 2).map(({ id }) => id)
  config = await environment.create({ name: `config-${objects}`, subnetIDs })
  key = keyOf(config)
}

const signal = new AbortController().signal

function hintsOf(changed: readonly Pick<Port, 'id' | 'deviceId'>[]): Hints {
  const ports = new Set(changed.map(({ id }) => id))
  const named = changed.map(({ deviceId }) => deviceId).filter(id => id !== '')
  return { ...noHints, notified: true, changed: { ports, servers: new Set(named) } }
}

function syncWith(hints: Hints): Promise<SyncResult> {
  const snapshot = deps.snapshots.get(key)
  return sync(config, deps, { signal, log: silent, hints, scope: scopeOf(hints, snapshot) })
}

function completePlan(): Promise<Plan> {
  const context = { signal, hints: noHints, scope: scopeOf(noHints) }
  return inspect(config, { ...deps, planner: createPlanner() }, context).then(({ plan }) => plan)
}

/** Its lists have no order. */
function comparable(plan: Plan): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(plan).map(([name, list]: [string, readonly unknown[]]) => [name, list.map(canonicalJson).sort()]),
  )
}

function attach(server: Server, subnet: Subnet, status: Port['status'] = 'ACTIVE'): Port {
  return Object.assign(addPort(environment.cloudState, { server, subnet }), { status })
}

/** One random change, and the ports that Neutron reports. */
function change(random: () => number): Pick<Port, 'id' | 'deviceId'>[] {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] ?? assert.fail()
  const { cloudState } = environment
  const attached = [...cloudState.ports.values()].filter(({ deviceId }) => deviceId !== '')
  const kind =
    attached.length < 4
      ? 'attach'
      : pick(['attach', 'attach', 'attach', 'status', 'address', 'move', 'detach', 'delete'])
  if (kind === 'attach') return [attach(pick(servers), pick(subnets), pick(['ACTIVE', 'DOWN', 'BUILD']))]
  const port = pick(attached)
  if (kind === 'status') port.status = pick(['ACTIVE', 'DOWN'])
  else if (kind === 'move') port.deviceId = pick(servers).id
  else if (kind === 'address') {
    const subnet = pick(subnets)
    port.networkId = subnet.networkId
    port.fixedIps = [{ subnetId: subnet.id, ipAddress: freeAddress(cloudState, subnet) }]
  } else if (kind === 'detach') Object.assign(port, { deviceId: '', deviceOwner: '' })
  else removePort(cloudState, port.id)
  return [{ id: port.id, deviceId: kind === 'delete' ? '' : port.deviceId }]
}

for (const seed of [1, 2, 3])
  test(`random changes: the ports that notifications name lead to the plan of a complete read (seed ${seed})`, async () => {
    const random = indexesOf(seed)
    for (const server of servers) attach(server, subnets[0] ?? assert.fail())
    await createObject()
    await syncWith(noHints)
    let targeted = 0
    for (let step = 0; step < 40; step++) {
      const changed = Array.from({ length: 1 + Math.floor(random() * 3) }, () => change(random)).flat()
      const hints = hintsOf(changed)
      const snapshot = deps.snapshots.get(key)
      const inspection = await inspect(config, deps, { signal, hints, scope: scopeOf(hints, snapshot) })
      if (inspection.isTargeted) targeted++
      assert.deepEqual(comparable(inspection.plan), comparable(await completePlan()), `step ${step}`)
      const result = await syncWith(hints)
      assert.deepEqual(result.error, undefined, `step ${step}`)
      // The status, which a sync without the reconciler does not write.
      const { removalsOnHold, target } = result.findings
      config = { ...config, status: { ...config.status, heldRemovals: [...removalsOnHold], deliveredTo: target } }
    }
    assert.ok(targeted >= 10, `${targeted} of 40 steps read only what changed`)
  })

/** The text of each node of the object as delivered: `worker-1-0 port port`. */
function nodesOf({ nodes }: Plan): string[] {
  return nodes.map(({ nodeName, interfaces }) => [nodeName, ...interfaces.map(({ portId }) => portId)].join(' ')).sort()
}

async function deliverFirst(portsEach: number): Promise<Port[]> {
  const [storage] = subnets
  const ports = servers.flatMap(server =>
    Array.from({ length: portsEach }, () => attach(server, storage ?? assert.fail())),
  )
  await createObject()
  await syncWith(noHints)
  return ports
}

test('a node that changed in the cluster is planned again on what the cluster has', async () => {
  await deliverFirst(1)
  const snapshot = deps.snapshots.get(key) ?? assert.fail()
  const stale = { ...snapshot, cluster: snapshot.cluster.map(node => ({ ...node, specHash: 'stale' })) }
  const hints = hintsOf([attach(servers[0] ?? assert.fail(), subnets[1] ?? assert.fail())])
  const result = await sync(config, deps, { signal, log: silent, hints, scope: scopeOf(hints, stale) })
  assert.deepEqual([result.error, result.changed], [undefined, 1])
  assert.ok((await completePlan()).nodes.every(({ action }) => action === 'keep'))
})

test('a node that changed in the cluster and would lose an interface is read completely', async () => {
  const [port, ...others] = await deliverFirst(1)
  for (const gone of others) Object.assign(gone, { deviceId: '', deviceOwner: '' })
  const [server, other] = [servers[0] ?? assert.fail(), subnets[2] ?? assert.fail()]
  const snapshot = deps.snapshots.get(key) ?? assert.fail()
  const cluster = snapshot.cluster.map(node => ({ ...node, interfaces: [], specHash: 'stale' }))
  const moved = { subnetId: other.id, ipAddress: freeAddress(environment.cloudState, other) }
  Object.assign(port ?? assert.fail(), { networkId: other.networkId, fixedIps: [moved] })
  const hints = hintsOf([attach(server, subnets[1] ?? assert.fail())])
  const stale = { ...snapshot, cluster }
  const { isTargeted } = await inspect(config, deps, { signal, hints, scope: scopeOf(hints, stale) })
  assert.equal(isTargeted, true)
  const result = await sync(config, deps, { signal, log: silent, hints, scope: scopeOf(hints, stale) })
  assert.equal(result.error, undefined)
  assert.equal(result.findings.removalsOnHold.length, 4)
  assert.equal(deps.snapshots.canTarget(key), false)
})

test('a port that moved is not on its former server, although only the new one was named', async () => {
  const ports = await deliverFirst(1)
  const moved = Object.assign(ports[3] ?? assert.fail(), { deviceId: servers[0]?.id })
  const changed = { ports: new Set<string>(), servers: new Set([moved.deviceId]) }
  const hints = { ...hintsOf([]), changed }
  const { plan } = await inspect(config, deps, { signal, hints, scope: scopeOf(hints, deps.snapshots.get(key)) })
  assert.deepEqual(comparable(plan), comparable(await completePlan()))
})

test('many ports disappear and a notification names one: all are put on hold', async () => {
  const ports = await deliverFirst(2)
  const before = nodesOf(await completePlan())
  const gone = ports.filter((_, n) => n % 2 === 0)
  for (const port of gone) Object.assign(port, { deviceId: '', deviceOwner: '' })
  const result = await syncWith(hintsOf(gone.slice(0, 1)))
  assert.equal(result.findings.removalsOnHold.length, gone.length)
  assert.deepEqual(nodesOf(result.plan), before)
})

test('an account that lost its role removes nothing', async () => {
  const ports = await deliverFirst(1)
  const before = nodesOf(await completePlan())
  environment.cloudState.faults.roleLost = true
  const hints = hintsOf(ports.slice(0, 1))
  const scope = scopeOf(hints, deps.snapshots.get(key))
  const { plan } = await inspect(config, deps, { signal, hints, scope }).finally(() => {
    environment.cloudState.faults.roleLost = false
  })
  assert.deepEqual(nodesOf(plan), before)
})

test('only the ports of the named server are read, and the next complete read is due five seconds later', async () => {
  await deliverFirst(1)
  const reads = async () => {
    const before = environment.cloud.calls()
    const hints = hintsOf([port])
    const scope = scopeOf(hints, deps.snapshots.get(key))
    const { isTargeted } = await inspect(config, deps, { signal, hints, scope })
    const { neutron, nova } = environment.cloud.calls()
    return [isTargeted, neutron - before.neutron, nova - before.nova]
  }
  const port = attach(servers[0] ?? assert.fail(), subnets[1] ?? assert.fail())
  assert.deepEqual(await reads(), [true, 1, 0])
  assert.equal(deps.snapshots.msUntilCompleteRead(key), undefined)
  await syncWith(hintsOf([port]))
  now += 3_000
  await syncWith(hintsOf([port]))
  assert.equal(deps.snapshots.msUntilCompleteRead(key), 2_000, 'later notifications do not put it off')
  now += 2_000
  assert.equal(deps.snapshots.get(key), undefined)
  await syncWith(hintsOf([port]))
  assert.equal(deps.snapshots.msUntilCompleteRead(key), undefined)
})

test('an edit, another account and a failed sync need a complete read', async () => {
  const [port] = await deliverFirst(1)
  const hints = hintsOf([port ?? assert.fail()])
  const isTargeted = async (object: OpenstackConfig) => {
    const context = { signal, hints, scope: scopeOf(hints, deps.snapshots.get(key)) }
    return (await inspect(object, deps, context)).isTargeted
  }
  assert.equal(await isTargeted(config), true)
  assert.equal(await isTargeted({ ...config, metadata: { ...config.metadata, generation: 99 } }), false)
  const settings = { ...config.spec.settings, openstackTimeout: '7s' }
  assert.equal(await isTargeted({ ...config, spec: { ...config.spec, settings } }), false)
  environment.cloudState.faults.failing = ['nova']
  assert.ok(
    (await sync(config, deps, { signal, log: silent, scope: { reads: 'everything', fresh: true }, hints: noHints }))
      .error,
  )
  assert.equal(deps.snapshots.get(key), undefined)
})

test('after a notification that needed a complete read, others of ports wait like all', async () => {
  const [port] = await deliverFirst(1)
  assert.equal(deps.snapshots.canTarget(key), true)
  Object.assign(port ?? assert.fail(), { deviceId: '', deviceOwner: '' })
  await syncWith(hintsOf([port ?? assert.fail()]))
  await syncWith(noHints)
  assert.equal(deps.snapshots.canTarget(key), false)
  now += 2_000
  assert.equal(deps.snapshots.canTarget(key), true)
  deps.snapshots.set(key, undefined)
  assert.equal(deps.snapshots.canTarget(key), false)
})
