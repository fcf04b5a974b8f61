/**
 * Measures connectivity before and after a change and compares the two: the node's gateways, the API server, and the
 * gateway or a peer of each NIC. Every target that replied before the change must reply after it.
 */

import { parseIp } from '../../contract/address.ts'
import type { Failure, Failures } from '../apply/apply.ts'
import type { Settings } from '../config.ts'
import type { AgentContext } from '../context.ts'
import type { Plan } from '../plan/plan.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { type Address, linkByIndex, type Observed } from '../state/observed.ts'
import { applyUnitOf, type Unit } from '../state/unit.ts'
import { type NeighbourReplies, type ProbeTarget, probeNeighbours, repliesIn, targetKey } from './neighbour-probe.ts'
import { defaultRoutes, gatewayTargets, nicTargets, type OwnedNetwork, probeModeOf } from './probe-targets.ts'
import { packetsNotSent } from './routed-probe.ts'

export interface Replies {
  neighbours: NeighbourReplies
  apiServer: boolean
  /** Packets of NICs that the node did not send, by index. */
  notSent?: ReadonlyMap<number, string>
}

/** What a run probes: the requested NICs, and the node itself. */
export interface ProbeScope {
  nics: readonly { nic: DesiredNic; ifindex: number }[]
  owned: OwnedNetwork
}

/** The node and its replies at one point in time. */
export interface Connectivity {
  observed: Observed
  replies: Replies
}

/** By index. */
export interface NicReachability {
  unreachable: Map<number, Failure>
  /** Missing replies that fail nothing. */
  notes: Map<number, string>
}

const noReplies: Replies = { neighbours: new Map(), apiServer: false }

/** Milliseconds without a reply after which an address counts as free. */
export const duplicateTimeout = 400

/** Milliseconds. Targets that replied before the change get this much longer: one lost packet must not cause a rollback. */
const retryTimeout = 3_000

export function probeScope(plan: Plan, units: readonly Unit[]): ProbeScope {
  const ofNics = units.filter(({ purpose }) => purpose !== 'node')
  const devices = [...plan.accepted.map(({ link }) => link.ifindex), ...ofNics.flatMap(unit => unit.ifindex ?? [])]
  return {
    nics: plan.accepted.map(({ nic, link }) => ({ nic, ifindex: link.ifindex })),
    owned: { tables: plan.tables, devices: new Set(devices) },
  }
}

/**
 * Probes the node before the change, and waits for the silence of the addresses that have just been `asked`. One process
 * serves both.
 */
export async function probeBefore(
  scope: ProbeScope,
  observed: Observed,
  { host, settings }: AgentContext,
  asked: readonly ProbeTarget[],
): Promise<NeighbourReplies> {
  const { links, neighbours } = observed
  const targets = allTargets(scope, observed, settings).filter(target => canAsk(target, observed))
  const { timeout } = settings.probe
  const silence = asked.length > 0 ? Math.min(duplicateTimeout, timeout) : 0
  const entries = { links, neighbours, asked }
  const replies = new Map(
    silence > 0
      ? await probeNeighbours(host, [...asked, ...targets], { ...entries, timeout: silence, silence: true })
      : [],
  )
  const silent = targets.filter(target => !replies.has(targetKey(target)))
  if (timeout <= silence) return replies
  const late = await probeNeighbours(host, silent, { links, neighbours, timeout: timeout - silence })
  return new Map([...replies, ...late])
}

/** Targets that can be asked right after the change. An IPv6 address cannot be used before DAD has ended. */
export function targetsAtOnce(scope: ProbeScope, observed: Observed, settings: Settings): ProbeTarget[] {
  return allTargets(scope, observed, settings).filter(({ address }) => parseIp(address)?.family === 4)
}

function allTargets(scope: ProbeScope, observed: Observed, settings: Settings): ProbeTarget[] {
  return isProbing(settings) ? [...gatewayTargets(observed, scope.owned), ...targetsOfNics(scope, settings)] : []
}

function targetsOfNics({ nics }: ProbeScope, settings: Settings): ProbeTarget[] {
  return nics.flatMap(({ nic, ifindex }) => nicTargets(nic, ifindex, settings))
}

/** A NIC without an address would ask with one of another device. */
function canAsk({ ifindex, address }: ProbeTarget, observed: Observed): boolean {
  const family = parseIp(address)?.family
  const link = linkByIndex(observed, ifindex)
  const isUsable = (entry: Address) =>
    entry.ifindex === ifindex && entry.family === family && !entry.tentative && !entry.dadFailed
  return link?.up === true && link.carrier && observed.addresses.some(isUsable)
}

function isProbing({ probe }: Settings): boolean {
  return [probe.mode, ...Object.values(probe.perInterface)].some(mode => mode !== 'off')
}

export async function reachApiServer({ host, settings }: AgentContext, timeout: number): Promise<boolean> {
  const { apiServer, apiPort } = settings
  if (!isProbing(settings) || apiServer === undefined || parseIp(apiServer) === undefined) return false
  return host.canConnect(apiServer, apiPort, timeout)
}

/**
 * Probes the targets that have not replied since they were `asked`. Targets that replied `before` and do not now are
 * probed again.
 */
export async function probeAfter(
  scope: ProbeScope,
  observed: Observed,
  context: AgentContext,
  before: Replies,
  asked: readonly ProbeTarget[],
): Promise<Replies> {
  const { host, settings } = context
  const { links, neighbours } = observed
  const replied = new Map(repliesIn(neighbours, asked))
  const silent = () => allTargets(scope, observed, settings).filter(target => !replied.has(targetKey(target)))
  const probe = async (targets: readonly ProbeTarget[], timeout: number) => {
    const found = await probeNeighbours(host, targets, { timeout, links, neighbours })
    for (const [key, macAddress] of found) replied.set(key, macAddress)
  }
  const { timeout } = settings.probe
  const [reached] = await Promise.all([reachApiServer(context, timeout), probe(silent(), timeout)])
  const lost = silent().filter(target => before.neighbours.has(targetKey(target)))
  const [reachedLate] = await Promise.all([
    reached || (before.apiServer && reachApiServer(context, retryTimeout)),
    probe(lost, retryTimeout),
  ])
  const notSent = await packetsNotSent(scope.nics, host, settings)
  return { neighbours: replied, apiServer: reachedLate, notSent }
}

/** For a run that changes nothing. A neighbour that the kernel has heard lately is not asked again. */
export async function probeUnchanged(
  scope: ProbeScope,
  observed: Observed,
  { host, settings }: AgentContext,
): Promise<NicReachability> {
  const { links, neighbours } = observed
  const targets = targetsOfNics(scope, settings).filter(target => canAsk(target, observed))
  const recent = repliesIn(neighbours, targets)
  const silent = targets.filter(target => !recent.has(targetKey(target)))
  const late = await probeNeighbours(host, silent, { timeout: settings.probe.timeout, links, neighbours })
  const notSent = await packetsNotSent(
    scope.nics.filter(({ ifindex }) => targets.some(target => target.ifindex === ifindex)),
    host,
    settings,
  )
  const after = { neighbours: new Map([...recent, ...late]), apiServer: false, notSent }
  return judgeNics(scope, targets, noReplies, after, settings)
}

/**
 * A node that lost connectivity fails every unit, whichever NIC caused it. A NIC whose targets do not reply fails alone, or
 * gets a note; without a unit there is nothing to roll back, and it is only unreachable. NICs that have failed are skipped.
 */
export function compareConnectivity(
  units: readonly Unit[],
  scope: ProbeScope,
  before: Connectivity,
  after: Connectivity,
  { request, settings, log }: AgentContext,
  failed: Failures,
): NicReachability & { failures: Failures } {
  const { owned } = scope
  const gone = lostLifelines(before.observed, after.observed, request.nodeAddresses, owned)
  const lost = [...gone, ...lostReplies(owned, before, after)]
  if (lost.length > 0) {
    log.error('node lost connectivity, rolling back all changes', { lost })
    const failure: Failure = {
      reason: 'ProbeFailed',
      message: `lost ${lost.join(', ')}; all changes were rolled back`,
    }
    const failures = new Map(units.map(unit => [unit.group, failure]))
    return { failures, unreachable: new Map(), notes: new Map() }
  }
  const { unreachable, notes } = judgeNics(
    scope,
    targetsOfNics(scope, settings),
    before.replies,
    after.replies,
    settings,
  )
  const failures = new Map<string, Failure>()
  for (const [index, failure] of unreachable) {
    const group = applyUnitOf(units, index)?.group
    if (group === undefined) continue
    if (!failed.has(group)) failures.set(group, failure)
    unreachable.delete(index)
  }
  return { failures, unreachable, notes }
}

/** Default routes, own addresses and the route to the API server that the node had before and has not now. */
export function lostLifelines(
  before: Observed,
  after: Observed,
  nodeAddresses: readonly string[],
  owned: OwnedNetwork,
): string[] {
  const present = describeConnectivity(after, nodeAddresses, owned)
  return describeConnectivity(before, nodeAddresses, owned).filter(line => !present.includes(line))
}

/** The node's default routes, its own addresses and its route to the API server, one line each. */
function describeConnectivity(observed: Observed, nodeAddresses: readonly string[], owned: OwnedNetwork): string[] {
  const device = (ifindex: number | undefined) => linkByIndex(observed, ifindex ?? 0)?.name ?? 'no device'
  const gateways = defaultRoutes(observed, owned).map(
    route => `default route via ${route.gateway ?? 'link'} on ${device(route.devices[0])}, table ${route.table}`,
  )
  const known = new Set(nodeAddresses.flatMap(text => parseIp(text)?.value ?? []))
  const addresses = observed.addresses
    .filter(
      ({ cidr, ifindex }) => !owned.devices.has(ifindex) && known.has(parseIp(cidr.split('/')[0] ?? '')?.value ?? -1n),
    )
    .map(({ cidr, ifindex }) => `node address ${cidr} on ${device(ifindex)}`)
  const { apiPath } = observed
  const path = apiPath ? [`route to the API server via ${apiPath.gateway ?? 'link'} on ${device(apiPath.ifindex)}`] : []
  return [...gateways, ...addresses, ...path]
}

/** The node's own targets that replied before and do not now. */
function lostReplies(owned: OwnedNetwork, before: Connectivity, after: Connectivity): string[] {
  const replied = (target: ProbeTarget, { replies }: Connectivity) => replies.neighbours.has(targetKey(target))
  return [
    ...gatewayTargets(before.observed, owned)
      .filter(target => replied(target, before) && !replied(target, after))
      .map(({ address }) => `reply from gateway ${address}`),
    ...(before.replies.apiServer && !after.replies.apiServer ? ['reply from the API server'] : []),
  ]
}

/** A missing reply is a failure or a note in the report, depending on the mode. */
function judgeNics(
  { nics }: ProbeScope,
  targets: readonly ProbeTarget[],
  before: Replies,
  after: Replies,
  settings: Settings,
): NicReachability {
  const [unreachable, notes] = [new Map<number, Failure>(), new Map<number, string>()]
  for (const { nic, ifindex } of nics) {
    const notSent = after.notSent?.get(nic.index)
    if (notSent !== undefined) {
      unreachable.set(nic.index, { reason: 'GatewayUnreachable', message: notSent })
      continue
    }
    const silent = targets.filter(target => target.ifindex === ifindex && !after.neighbours.has(targetKey(target)))
    const lost = silent.filter(target => before.neighbours.has(targetKey(target)))
    if (silent.length === 0) continue
    const addresses = (list: readonly ProbeTarget[]) => list.map(({ address }) => address).join(' and ')
    const message =
      lost.length > 0
        ? `${addresses(lost)} replied before the change but not after it`
        : `no reply from ${addresses(silent)}`
    if (lost.length > 0 || probeModeOf(nic.index, settings) === 'required')
      unreachable.set(nic.index, { reason: 'GatewayUnreachable', message })
    else notes.set(nic.index, message)
  }
  return { unreachable, notes }
}
