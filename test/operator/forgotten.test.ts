/**
 * To lose what is remembered of an object costs time only. Two operators sync the same random changes into two clusters: one
 * keeps its memory, the other forgets its object, or starts again, before random syncs. SEED is the first seed, ROUNDS the
 * number of seeds, STEPS the length of each.
 *
 * What rightly differs, and is compared only after it ended: an operator that forgot starts again to wait for the second
 * answer about a port, and does not wait after a failure.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { addPort, addServer, addSubnet, freeAddress, noFaults, type Port } from '../../sandbox/cloud/state.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { type Hints, noHints } from '../../src/operator/events/hints.ts'
import { environment as variables } from '../../src/runtime/env.ts'
import { indexesOf } from '../support/random.ts'
import { clusterId, type OperatorEnvironment, otherClusterId, startOperatorEnvironment } from './environment.ts'
import { type HalfAnswer, startHalfAnswering } from './half-answers.ts'
import { openReconciled, type Reconciled } from './reconciled.ts'

const { SEED = '2', ROUNDS = '1', STEPS = '40' } = variables()
/** Those that answer equal requests equally. */
const faults: readonly HalfAnswer[] = ['noAddresses', 'noAddressField', 'noPort', 'emptyPage', 'noDevice', 'noServer']

let environment: OperatorEnvironment

before(async () => {
  environment = await startOperatorEnvironment()
})
after(() => environment.close())

for (let seed = Number(SEED); seed < Number(SEED) + Number(ROUNDS); seed++)
  test(`an operator that forgets decides as one that remembers (seed ${seed})`, { timeout: 120_000 }, () => run(seed))

async function run(seed: number): Promise<void> {
  const random = indexesOf(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] ?? assert.fail('nothing to pick')
  const { cloudState, cloud, kube } = environment
  Object.assign(cloudState.faults, noFaults)
  for (const all of [cloudState.ports, cloudState.servers, cloudState.subnets]) all.clear()
  const subnets = [0, 1, 2].map(n => addSubnet(cloudState, { name: `net-${n}`, cidr: `10.${n}.0.0/24`, mtu: 1500 }))
  const servers = [0, 1, 2, 3].map(n => addServer(cloudState, `worker-${seed}-${n}`))
  const attach = () => {
    const port = addPort(cloudState, { server: pick(servers), subnet: pick(subnets) })
    port.status = 'ACTIVE'
    return port
  }
  for (let n = 0; n < 8; n++) attach()
  const started = Date.now()
  let ms = 0
  const clocks = { now: () => ms, date: () => new Date(started + ms) }
  await using proxy = await startHalfAnswering({
    ...{ neutron: cloud.urls.neutron, nova: cloud.urls.nova, random: () => 0, now: () => ms },
  })
  const open = async (name: string, k8sProviderID: string, namespace: string) => {
    const credentials = { openstackProviderID: cloudState.provider.id, projectID: cloudState.project.id, k8sProviderID }
    await environment.create({
      ...{ name, credentials, subnetIDs: subnets.slice(0, 2).map(({ id }) => id) },
      settings: {
        ...{ openstackNeutronEndpoint: proxy.neutron, openstackNovaEndpoint: proxy.nova },
        ...{ pollFastInterval: '10m', pollSlowInterval: '10m', pollErrorInterval: '10m' },
      },
    })
    return openReconciled(environment, { name, providerId: k8sProviderID, namespace, clocks })
  }
  await using kept = await open(`kept-${seed}`, clusterId, 'multinic-system')
  await using lost = await open(`lost-${seed}`, otherClusterId, 'other-cluster')
  const both = [kept, lost]
  const counts: Record<string, number> = {}

  /** What a step changes, and what the bus says about it. */
  const change = async (kind: string): Promise<Partial<Hints>> => {
    const used = [...cloudState.ports.values()].filter(({ deviceId }) => deviceId !== '')
    const touched = (port: Port, more: Partial<Port> = {}) => {
      const ids = new Set([port.deviceId, more.deviceId ?? ''].filter(id => id !== ''))
      Object.assign(port, more, { revision: port.revision + 1 })
      return { changed: { ports: new Set([port.id]), servers: ids } }
    }
    const server = pick(servers)
    const subnet = pick(subnets)
    const port = pick(used)
    if (kind === 'attach' && used.length < 16) return touched(attach())
    if (kind === 'detach' && used.length > 6) return touched(port, { deviceId: '', deviceOwner: '' })
    if (kind === 'move') return touched(port, { deviceId: server.id })
    if (kind === 'flap') return touched(port, { status: pick(['ACTIVE', 'DOWN', 'BUILD']) })
    if (kind === 'address') {
      const fixedIps = [{ subnetId: subnet.id, ipAddress: freeAddress(cloudState, subnet) }]
      return touched(port, { networkId: subnet.networkId, fixedIps })
    }
    if (kind === 'rename') {
      server.name = `worker-${seed}-${Math.floor(random() * 1_000)}`
      return { servers: true }
    }
    if (kind === 'edit') {
      const spec = {
        subnetIDs: subnets.filter(() => random() < 0.7).map(({ id }) => id),
        vmNames: servers.filter(() => random() < 0.8).map(({ id }) => id),
      }
      if (spec.subnetIDs.length === 0 || spec.vmNames.length === 0) return {}
      for (const one of both) await kube.patch(openstackConfigs, one.at, { spec })
    }
    const position = Math.floor(random() * 8)
    const mtu = 1_000 + Math.floor(random() * 400)
    const edit = (one: Reconciled) =>
      one.editNode(position, nics => nics.map((nic, n) => (n === position % nics.length ? { ...nic, mtu } : nic)))
    if (kind === 'handEdit') for (const one of both) await edit(one)
    if (kind === 'conflict') for (const one of both) one.beforeDelivery = () => edit(one)
    const state = pick(['Configured', 'Failed', 'InProgress'] as const)
    if (kind === 'status')
      for (const one of both)
        await one.report(position, ({ metadata: { generation = 0 } }) => ({ state, observedGeneration: generation }))
    return {}
  }
  const kinds = ['attach', 'attach', 'detach', 'move', 'flap', 'address', 'rename', 'edit', 'handEdit', 'conflict']
  const reconcile = async (hints: Hints, wake: 'sync' | 'status') => {
    for (const one of both) await one.reconcile(hints, wake)
  }
  let isUnsure = false
  await reconcile(noHints, 'sync')
  for (let step = 0; step < Number(STEPS); step++) {
    ms += 200 + Math.floor(random() * 3_800)
    const kind = pick([...kinds, 'status', 'status', 'status', 'nothing'])
    counts[kind] = (counts[kind] ?? 0) + 1
    const named = await change(kind)
    proxy.fault = random() < 0.2 ? pick(faults) : undefined
    if (random() < 0.4) lost.forget()
    else if (random() < 0.1) await lost.restart()
    const isNotified = named.changed !== undefined || named.servers === true
    const wake = kind === 'status' || (kind === 'handEdit' && random() < 0.5) ? 'status' : 'sync'
    await reconcile({ ...noHints, ...named, notified: isNotified }, wake)
    isUnsure ||= proxy.fault !== undefined
    for (let round = 0; (isUnsure || kept.isOpen() || lost.isOpen()) && round < 3; round++) {
      proxy.fault = undefined
      ms += 6_000
      await reconcile(noHints, 'sync')
    }
    isUnsure = false
    await assertEqual(kept, lost, `seed ${seed}, step ${step} (${kind}, ${wake})`)
    for (const one of both) one.beforeDelivery = undefined
  }
  const reads = JSON.stringify([kept.reads, counts])
  for (const scope of ['everything', 'ports', 'cluster'] as const) assert.ok((kept.reads[scope] ?? 0) > 0, reads)
}

/** The stream of Viola reports what others wrote some time later. */
async function assertEqual(kept: Reconciled, lost: Reconciled, step: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const [a, b] = await Promise.all([kept.state(), lost.state()])
    if (JSON.stringify(a) === JSON.stringify(b)) return
    if (attempt === 99) assert.deepEqual(b, a, step)
    await sleep(20)
    for (const one of [kept, lost]) await one.reconcile(noHints, 'status')
  }
}
