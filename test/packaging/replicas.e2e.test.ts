/**
 * Two replicas of every component, while ports are attached and detached: what happens when a replica is killed, a node loses
 * power, PostgreSQL restarts or fails over, the message bus is killed, and every component is upgraded. Nothing is lost, no NIC is configured twice, and the
 * dashboard answers. The measured times are diagnostics of the tests.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { leases, pods } from '../../src/kube/resources.ts'
import type { PodObject } from '../../src/kube/types.ts'
import { binary } from '../rigs/kubernetes/binaries.ts'
import { type NetworkEvents, watchNetwork } from '../support/network-events.ts'
import { maxOutage, type Prober, startProber } from '../support/prober.ts'
import { root } from './deployed.fixture.ts'
import { type Peer, whileCut } from './network-cut.ts'
import { biz, type Machine, management, providerId, type Replicated, startReplicated } from './replicas.fixture.ts'
import { addressesOf, type Player, startPlayer } from './replicas-player.ts'

const components = [
  ['operator', management],
  ['viola', management],
  ['inventory', management],
  ['controller', biz],
] as const
/** Longest time with errors of the dashboard, in seconds. */
const limits = { pod: 5, node: 60 }

const cutMs = 8_000

let site: Replicated
let player: Player
let prober: Prober
let events: Map<Machine, NetworkEvents>
let token: string

before(async () => {
  site = await startReplicated()
  await site.deploy('install', 'production')
  token = await site.token()
  events = new Map(
    await Promise.all(site.machines.map(async machine => [machine, await watchNetwork(machine.node.netns)] as const)),
  )
  player = startPlayer(site)
  await player.nextChange()
  const urls = ['/', '/v1/inventory/node-configs'].map(path => site.inventory() + path)
  prober = startProber(urls, { headers: { authorization: `Bearer ${token}` }, tls: site.inventoryTls })
})
after(async () => {
  await prober?.stop()
  await player?.stop().catch(() => {})
  await site?.close()
})

const seconds = (milliseconds: number) => Number((milliseconds / 1_000).toFixed(1))

/**
 * Runs a fault, then waits for a whole change of a port. Reports how long the dashboard had errors, and how long after the start
 * of the fault a port was ready.
 */
async function recovers(t: TestContext, name: string, limit: number, fault: () => Promise<void>): Promise<void> {
  const startedAt = performance.now()
  let readyAt = 0
  const failures = await prober.during(async () => {
    await fault()
    readyAt = (await player.nextChange()).endedAt
  })
  const errors = seconds(maxOutage(failures))
  const slowest = Math.max(
    ...player.changes.filter(({ endedAt }) => endedAt >= startedAt).map(change => change.endedAt - change.startedAt),
  )
  t.diagnostic(
    `${name}: dashboard errors over ${errors} s (${failures.length}), slowest change of a port ${seconds(slowest)} s, recovered ${seconds(readyAt - startedAt)} s after the fault`,
  )
  assert.ok(errors <= limit, `${name}: errors over ${errors} s: ${JSON.stringify(failures.slice(0, 5))}`)
}

async function podsOf(component: string, namespace: string): Promise<PodObject[]> {
  const { items } = await site.kube.list(pods, { namespace })
  const isOurs = ({ metadata }: PodObject) => metadata.labels?.['app.kubernetes.io/component'] === component
  return items.filter(isOurs)
}

/** Kills the process of the Pod's container as a crash would, and waits until the kubelet has started it again. */
async function crash(pod: PodObject): Promise<void> {
  const { namespace = '', name } = pod.metadata
  const read = async () => (await site.kube.get(pods, { namespace, name }))?.status?.containerStatuses?.[0]
  const earlier = await read()
  const path = 'jsonpath={.status.containerStatuses[0].containerID}'
  const { stdout } = await site.cp.exec('kubectl', ['get', 'pod', name, '-n', namespace, '-o', path])
  const { node } = site.machines.find(machine => machine.node.name === pod.spec?.nodeName) ?? assert.fail(name)
  await node.exec(binary('ctr'), [
    '-n',
    'k8s.io',
    'tasks',
    'kill',
    '--signal',
    'SIGKILL',
    stdout.replace('containerd://', ''),
  ])
  await site.soon(async () => {
    const now = await read()
    assert.deepEqual(
      { restarts: now?.restartCount, ready: now?.ready },
      { restarts: (earlier?.restartCount ?? 0) + 1, ready: true },
    )
  })
}

/** A node with an inventory, if possible with the leading operator too. */
async function machineToPowerOff(): Promise<Machine> {
  const { items } = await site.kube.list(leases, { namespace: management })
  const leads = ({ metadata }: PodObject) => items.some(({ spec }) => spec?.holderIdentity?.startsWith(metadata.name))
  const leader = (await podsOf('operator', management)).find(leads) ?? assert.fail('no operator leads')
  const holders = (await podsOf('inventory', management)).map(({ spec }) => spec?.nodeName)
  const name = holders.find(node => node === leader.spec?.nodeName) ?? holders[0]
  return site.machines.find(({ node }) => node.name === name) ?? assert.fail(`no node ${name}`)
}

test('the commands verify the inventory with the CA of its Secret', async () => {
  const { code, stdout, stderr } = await site.cp.exec(join(root, 'bin/multinic'), ['status'], { check: false })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /multinic0/)
})

for (const [component, namespace] of components)
  test(`kill -9 of each ${component} stops nothing`, async t => {
    const found = await podsOf(component, namespace)
    assert.equal(new Set(found.map(pod => pod.spec?.nodeName)).size, 2, 'the replicas are on two nodes')
    for (const [index, pod] of found.entries())
      await recovers(t, `kill -9 of ${component} ${index + 1}`, limits.pod, () => crash(pod))
  })

test('PostgreSQL restarts, and fails over to its synchronous standby', async t => {
  const { postgres, movePostgres } = site
  await recovers(t, 'restart of PostgreSQL', limits.node, async () => {
    await postgres.kill()
    await postgres.start()
  })
  await recovers(t, 'failover of PostgreSQL', limits.node, async () => {
    await postgres.kill()
    await postgres.promoteStandby()
    await movePostgres()
  })
})

test('the message bus is killed, and comes back', async t => {
  const { rabbit } = site
  const hasBus = (expected: string) =>
    site.soon(async () => {
      const config = await site.kube.get(openstackConfigs, { namespace: management, name: 'main' })
      const { status, reason } = config?.status?.conditions?.find(({ type }) => type === 'EventsConnected') ?? {}
      assert.equal(`${status} ${reason}`, expected)
    })
  await hasBus('True EventBusConnected')
  await recovers(t, 'kill -9 of the message bus', limits.pod, () => rabbit.kill())
  await hasBus('False EventBusUnreachable')
  await recovers(t, 'return of the message bus', limits.pod, () => rabbit.start())
  await hasBus('True EventBusConnected')
})

test('a rolling upgrade of every component stops nothing', async t => {
  const set = components.flatMap(([component]) => ['--set', `${component}.podAnnotations.upgrade=first`])
  await recovers(t, 'rolling upgrade', limits.pod, () => site.deploy('upgrade', 'production', ...set))
})

/** Pairs of components that talk to each other. All replicas are cut, so that no other replica helps. */
const cuts: Record<string, () => Promise<[Peer[], Peer[]]>> = {
  'operator and Viola': async () => [await peersOf('operator', management), await peersOf('viola', management)],
  'operator and inventory': async () => [await peersOf('operator', management), await peersOf('inventory', management)],
  'inventory and PostgreSQL': async () => [await peersOf('inventory', management), [site.database]],
  'operator and API server': async () => [await peersOf('operator', management), [site.apiServer]],
  'Viola and API server': async () => [await peersOf('viola', management), [site.apiServer]],
  'controller and API server': async () => [await peersOf('controller', biz), [site.apiServer]],
}

async function peersOf(component: string, namespace: string): Promise<Peer[]> {
  return (await podsOf(component, namespace)).map(({ status }) => ({
    address: status?.podIP ?? assert.fail(component),
  }))
}

for (const [name, pair] of Object.entries(cuts))
  test(`a cut between ${name} for ${seconds(cutMs)} s loses nothing`, async t => {
    const groups = await pair()
    const nodes = site.machines.map(({ node }) => node.netns)
    await recovers(t, `cut between ${name}`, limits.node, () => whileCut(nodes, groups, () => sleep(cutMs)))
  })

test('a node with an inventory loses power, and comes back', async t => {
  const victim = await machineToPowerOff()
  player.avoid(victim)
  await player.nextChange()
  assertConfiguredOnce(victim, (await events.get(victim)?.stop()) ?? [])
  events.delete(victim)
  await recovers(t, 'power loss of a node', limits.node, () => victim.node.powerOff())
  await victim.node.powerOn()
  await site.soon(async () => {
    const expected = player.nics.filter(nic => nic.machine === victim && nic.attached).map(({ address }) => address)
    assert.deepEqual(await addressesOf(victim), expected.sort())
  })
  player.avoid(undefined)
  await player.nextChange()
})

for (const profile of ['staging', 'dev'])
  test(`a Biz cluster by values-${profile}.yaml configures NICs`, async () => {
    await site.deploy('upgrade', profile)
    await player.nextChange()
  })

test('every port was configured once, and the history has every change', async t => {
  await player.stop()
  t.diagnostic(`${player.changes.length} changes of ${player.nics.length} ports`)
  for (const [machine, watch] of events) assertConfiguredOnce(machine, await watch.stop())
  const dispatcher = new Agent({ connect: site.inventoryTls })
  for (const machine of site.machines) {
    const path = `/v1/inventory/node-configs/${machine.server.name}/history?providerId=${providerId}&limit=1000`
    const { statusCode, body } = await request(site.inventory() + path, {
      headers: { authorization: `Bearer ${token}` },
      dispatcher,
    })
    assert.equal(statusCode, 200)
    const entries = (await body.json()) as HistoryEntry[]
    const portsOf = (record: HistoryEntry['after']) => record?.interfaces?.map(({ portId }) => portId) ?? []
    const changes = entries.map(({ before, after }) => {
      const [earlier, later] = [portsOf(before), portsOf(after)]
      return { added: later.filter(id => !earlier.includes(id)), removed: earlier.filter(id => !later.includes(id)) }
    })
    // The next entry would contain the change of a missing one.
    for (const change of changes) assert.ok(Object.values(change).flat().length <= 1, JSON.stringify(change))
    for (const { port, attached } of player.nics.filter(nic => nic.machine === machine)) {
      const added = changes.filter(change => change.added.includes(port.id)).length
      const removed = changes.filter(change => change.removed.includes(port.id)).length
      assert.deepEqual({ added, removed }, { added: 1, removed: attached ? 0 : 1 }, `${machine.server.name} ${port.id}`)
    }
  }
})

/** By the events of the kernel: each address was set once, and removed once if its port was detached. */
function assertConfiguredOnce(machine: Machine, lines: readonly string[]): void {
  for (const { address, attached, ...nic } of player.nics.filter(one => one.machine === machine)) {
    const own = lines.filter(line => line.includes(` inet ${address}/`))
    const removed = own.filter(line => line.startsWith('Deleted')).length
    const counts = { set: own.length - removed, removed }
    assert.deepEqual(
      counts,
      { set: 1, removed: attached ? 0 : 1 },
      `${machine.server.name} ${nic.port.id}: ${own.join('\n')}`,
    )
  }
}
