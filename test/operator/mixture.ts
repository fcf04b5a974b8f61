/**
 * A random mixture of changes of the cloud and of wrong answers about them, and an independent check: no interface of a port
 * that is attached leaves its node or gets another index.
 */
import assert from 'node:assert/strict'
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  freeAddress,
  noFaults,
  type Port,
  removePort,
  type Server,
  type Service,
  type Subnet,
} from '../../sandbox/cloud/state.ts'
import { maxInterfaces } from '../../src/contract/interfaces.ts'
import { type OpenstackConfig, openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import { keyOf } from '../../src/kube/keys.ts'
import { type Hints, noHints } from '../../src/operator/events/hints.ts'
import { nextStatus } from '../../src/operator/status/status.ts'
import { sync } from '../../src/operator/sync/sync.ts'
import { SyncError } from '../../src/operator/sync-error.ts'
import { silent } from '../../src/telemetry/log.ts'
import { indexesOf } from '../support/random.ts'
import type { OperatorEnvironment } from './environment.ts'
import { type HalfAnswering, halfAnswers, startHalfAnswering } from './half-answers.ts'
import { openSyncDeps, scopeOf } from './sync-deps.ts'

const vms = 5
const portsPerVm = 4
/** How long after a change an answer about the time before it may still be believed. */
const graceMs = 12_000
const reservedMs = 10 * 60_000
const signal = new AbortController().signal

export interface MixtureResult {
  violations: string[]
  /** What was in the mixture. */
  counts: Record<string, number>
}

export async function runMixture(
  environment: OperatorEnvironment,
  seed: number,
  steps: number,
): Promise<MixtureResult> {
  const random = indexesOf(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] ?? assert.fail('nothing to pick')
  const { cloudState, cloud } = environment
  Object.assign(cloudState.faults, noFaults)
  for (const all of [cloudState.ports, cloudState.servers, cloudState.subnets]) all.clear()
  const started = Date.now()
  let ms = 0
  const date = () => new Date(started + ms)
  const subnets = ['storage', 'backup', 'elsewhere'].map((name, n) =>
    addSubnet(cloudState, { name, cidr: `10.${n}.0.0/24`, mtu: 1500 }),
  )
  const selected = subnets.slice(0, 2)
  const servers = Array.from({ length: vms }, (_, n) => addServer(cloudState, `mixture-${seed}-${n}`))
  for (const server of servers) server.tags = ['mixture']
  // Random IDs would order the ports differently in each run.
  const attach = (server: Server, subnet: Subnet) => {
    const digits = Math.floor(random() * 2 ** 24)
      .toString(16)
      .padStart(6, '0')
    const macAddress = `fa:16:3e:${digits.slice(0, 2)}:${digits.slice(2, 4)}:${digits.slice(4)}`
    const port = addPort(cloudState, { server, subnet, macAddress })
    cloudState.ports.delete(port.id)
    Object.assign(port, { id: `port-${seed}-${digits}`, status: 'ACTIVE' })
    cloudState.ports.set(port.id, port)
    return port
  }
  for (const server of servers) for (let n = 0; n < portsPerVm; n++) attach(server, pick(selected))

  await using proxy = await startHalfAnswering({
    ...{ neutron: cloud.urls.neutron, nova: cloud.urls.nova, random: indexesOf(seed + 1), now: () => ms },
  })
  let config = await environment.create({
    name: `mixture-${seed}`,
    subnetIDs: selected.map(({ id }) => id),
    ...(seed % 2 === 1 && { vmNames: undefined, vmSelector: { namePattern: `mixture-${seed}-*`, tags: ['mixture'] } }),
    settings: { openstackNeutronEndpoint: proxy.neutron, openstackNovaEndpoint: proxy.nova },
  })
  let parts = await openSyncDeps(environment, { now: () => ms, date })
  const counts: Record<string, number> = {}
  const violations: string[] = []
  const checker = createChecker({ cloudState, selected, now: () => ms })
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const observe = async (step: string) => {
    const names = new Set(servers.map(({ name }) => name))
    const nodes = (await environment.nodes()).filter(({ spec }) => names.has(spec.nodeName))
    const nics = nodes.flatMap(({ spec }) =>
      spec.interfaces.map(({ portId = '', id: index = -1 }) => ({ vm: spec.instanceId ?? '', portId, index })),
    )
    violations.push(...checker.check(nics).map(text => `seed ${seed}, ${step}: ${text}`))
  }
  const syncOnce = async (hints: Hints, step: string) => {
    try {
      const snapshot = parts.deps.snapshots.get(keyOf(config))
      const result = await sync(config, parts.deps, { signal, log: silent, hints, scope: scopeOf(hints, snapshot) })
      const { findings, changed, error } = result
      const outcome = { generation: 1, error, findings, changed, nextSyncMs: 1_000 }
      config = { ...config, status: nextStatus(config.status, outcome, date(), 0) ?? config.status ?? {} }
    } catch (error) {
      // As the reconciler does: the status keeps what it says.
      if (!(error instanceof SyncError)) throw error
      parts.deps.snapshots.set(keyOf(config), undefined)
      count(error.reason)
    }
    await observe(step)
  }

  try {
    await syncOnce(noHints, 'start')
    for (let step = 0; step < steps; step++) {
      ms += 200 + Math.floor(random() * 3_800)
      const kind = pick(['attach', 'detach', 'move', 'flap', 'flap', 'address', 'address', 'elsewhere', 'nothing'])
      count(kind)
      const changed = change(kind, { cloudState, servers, subnets, pick, attach })
      checker.note()
      setFaults({ proxy, cloudState, random, pick })
      if (random() < 0.03) {
        count('leader')
        await parts.close()
        parts = await openSyncDeps(environment, { now: () => ms, date })
      }
      const hints = random() < 0.5 ? noHints : hintsOf(changed)
      await syncOnce({ ...hints, servers: random() < 0.3 }, `step ${step} (${kind}, ${proxy.fault})`)
    }
    proxy.fault = undefined
    Object.assign(cloudState.faults, noFaults)
    for (const port of cloudState.ports.values()) port.status = 'ACTIVE'
    for (let round = 0; round < 6; round++) {
      ms += 6_000
      config = approved(config, `${round}`)
      await syncOnce(noHints, `end ${round}`)
    }
    violations.push(...checker.missing().map(text => `seed ${seed}, end: ${text}`))
  } finally {
    await parts.close()
  }
  for (const [fault, times] of proxy.changed) counts[fault] = times
  return { violations, counts }
}

interface Changes {
  cloudState: CloudState
  servers: readonly Server[]
  subnets: readonly Subnet[]
  pick: <T>(all: readonly T[]) => T
  attach: (server: Server, subnet: Subnet) => Port
}

function change(kind: string, { cloudState, servers, subnets, pick, attach }: Changes): Port[] {
  const all = [...cloudState.ports.values()]
  const free = all.filter(({ deviceId }) => deviceId === '')
  const used = all.filter(({ deviceId }) => deviceId !== '')
  const touched = (port: Port, more: Partial<Port>) => [Object.assign(port, more, { revision: port.revision + 1 })]
  const server = pick(servers)
  const isFull = used.filter(({ deviceId }) => deviceId === server.id).length >= maxInterfaces
  if (kind === 'attach' && !isFull) {
    const [port] = free
    return port ? touched(port, { deviceId: server.id, deviceOwner: 'compute:nova' }) : [attach(server, pick(subnets))]
  }
  if (used.length < 2 * vms) return []
  const port = pick(used)
  switch (kind) {
    case 'detach':
      if (pick([true, false])) return touched(port, { deviceId: '', deviceOwner: '' })
      removePort(cloudState, port.id)
      return [{ ...port, deviceId: '' }]
    case 'move':
      return isFull ? [] : touched(port, { deviceId: server.id })
    case 'flap':
      return touched(port, { status: pick(['ACTIVE', 'DOWN', 'BUILD']) })
    case 'address':
      return touched(port, { fixedIps: port.fixedIps.map(({ subnetId }) => addressIn(cloudState, subnets, subnetId)) })
    case 'elsewhere': {
      const subnet = pick(subnets)
      return touched(port, { networkId: subnet.networkId, fixedIps: [addressIn(cloudState, subnets, subnet.id)] })
    }
    default:
      return []
  }
}

function addressIn(cloudState: CloudState, subnets: readonly Subnet[], subnetId: string): Port['fixedIps'][number] {
  const subnet = subnets.find(({ id }) => id === subnetId) ?? assert.fail(`${subnetId} not found`)
  return { subnetId, ipAddress: freeAddress(cloudState, subnet) }
}

function setFaults({
  proxy,
  cloudState: { faults },
  random,
  pick,
}: Pick<Changes, 'cloudState' | 'pick'> & { proxy: HalfAnswering; random: () => number }): void {
  Object.assign(faults, noFaults)
  faults.pageLimit = random() < 0.5 ? 3 : 0
  proxy.fault = random() < 0.6 ? pick(halfAnswers) : undefined
  if (random() < 0.25)
    faults[pick(['failing', 'unauthorized', 'garbled', 'empty'] as const)] = [
      pick<Service>(['nova', 'nova', 'nova', 'neutron', 'keystone', 'contrabass']),
    ]
}

function hintsOf(changed: readonly Port[]): Hints {
  if (changed.length === 0) return noHints
  const ports = new Set(changed.map(({ id }) => id))
  return {
    ...{ ...noHints, notified: true },
    changed: { ports, servers: new Set(changed.flatMap(({ deviceId }) => (deviceId === '' ? [] : deviceId))) },
  }
}

function approved(config: OpenstackConfig, value: string): OpenstackConfig {
  const annotations = { ...config.metadata.annotations, [openstackConfigAnnotations.approveRemovals]: value }
  return { ...config, metadata: { ...config.metadata, annotations } }
}

interface Nic {
  vm: string
  portId: string
  index: number
}

interface Checker {
  /** Notes the truth after a change. */
  note(): void
  /** What is wrong with the nodes after a sync. */
  check(nics: readonly Nic[]): string[]
  /** The ports whose interfaces are not as in the cloud. */
  missing(): string[]
}

/** Knows the cloud and the nodes, and nothing of the operator. */
function createChecker({
  cloudState,
  selected,
  now,
}: {
  cloudState: CloudState
  selected: readonly Subnet[]
  now: () => number
}): Checker {
  const subnetIds = new Set(selected.map(({ id }) => id))
  /** By VM and port, since when the port is attached with an address in a selected subnet. */
  const attachedSince = new Map<string, number>()
  const reserved = new Map<string, { nic: Nic; until: number }>()
  let before = new Map<string, Nic>()
  const keyOfNic = ({ vm, portId }: Pick<Nic, 'vm' | 'portId'>) => `${vm} ${portId}`
  const requested = () =>
    [...cloudState.ports.values()].flatMap(({ id: portId, deviceId: vm, fixedIps }) =>
      vm !== '' && fixedIps.some(({ subnetId }) => subnetIds.has(subnetId)) ? [keyOfNic({ vm, portId })] : [],
    )
  const note = () => {
    const keys = new Set(requested())
    for (const key of attachedSince.keys()) if (!keys.has(key)) attachedSince.delete(key)
    for (const key of keys) if (!attachedSince.has(key)) attachedSince.set(key, now())
  }
  note()

  /** Another port got the index although one was free that is reserved for no port. */
  function isTakenFrom(nic: Nic, nics: readonly Nic[]): boolean {
    const ofVm = [...reserved.values()].filter(one => one.nic.vm === nic.vm && one.until > now())
    if (!ofVm.some(one => one.nic.index === nic.index && one.nic.portId !== nic.portId)) return false
    const unavailable = new Set([...ofVm.map(one => one.nic.index), ...indexesOn(nic.vm, nics)])
    return unavailable.size < maxInterfaces
  }

  function check(nics: readonly Nic[]): string[] {
    const found: string[] = []
    const after = new Map(nics.map(nic => [keyOfNic(nic), nic]))
    for (const [key, nic] of before) {
      if (after.has(key)) continue
      const since = attachedSince.get(key)
      if (since !== undefined && now() - since > graceMs) found.push(`multinic${nic.index} of ${key} was removed`)
      reserved.set(key, { nic, until: now() + reservedMs })
    }
    for (const [key, nic] of after) {
      const known = before.get(key)
      if (known && known.index !== nic.index) found.push(`multinic${known.index} of ${key} became multinic${nic.index}`)
      if (known) continue
      const former = reserved.get(key)
      const isFree = former && !nics.some(one => one.vm === nic.vm && one.index === former.nic.index)
      if (former && former.until > now() && former.nic.index !== nic.index && isFree)
        found.push(`multinic${former.nic.index} of ${key} returned as multinic${nic.index}`)
      if (!former && isTakenFrom(nic, nics)) found.push(`multinic${nic.index} is reserved, and ${key} got it`)
      reserved.delete(key)
    }
    before = after
    return found
  }

  return {
    note,
    check,
    missing() {
      const [delivered, wanted] = [new Set(before.keys()), new Set(requested())]
      return [
        ...[...wanted].filter(key => !delivered.has(key)).map(key => `${key} is not delivered`),
        ...[...delivered].filter(key => !wanted.has(key)).map(key => `${key} is still delivered`),
      ]
    },
  }
}

function indexesOn(vm: string, nics: readonly Nic[]): number[] {
  return nics.flatMap(nic => (nic.vm === vm ? nic.index : []))
}
