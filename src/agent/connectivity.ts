/**
 * Measures connectivity before and after a change and compares the two: the node's gateways, the API server, and the
 * gateway or a peer of each changed NIC. Every target that replied before the change must reply after it.
 */
import { parseIp } from '../contract/address.ts'
import type { Failure, Failures } from './apply.ts'
import type { ProbeMode } from './config.ts'
import type { AgentContext } from './context.ts'
import type { DesiredNic } from './desired.ts'
import { type NeighbourReplies, type ProbeTarget, probeNeighbours, targetKey } from './neighbour-probe.ts'
import { linkByIndex, type Observed } from './observed.ts'
import type { Plan } from './plan.ts'
import { defaultRoutes, gatewayTargets, nicTarget, type OwnedNetwork, probeModeOf } from './probe-targets.ts'
import { applyUnitOf, type Unit } from './unit.ts'

export interface Replies {
  neighbours: NeighbourReplies
  apiServer: boolean
}

/** What a run probes: the NICs that it changes, and the node itself. */
export interface ProbeScope {
  nics: readonly { nic: DesiredNic; ifindex: number }[]
  owned: OwnedNetwork
}

/** The node and its replies at one point in time. */
export interface Connectivity {
  observed: Observed
  replies: Replies
}

const noReplies: Replies = { neighbours: new Map(), apiServer: false }

/** Milliseconds. Targets that replied before the change get this much longer: one lost packet must not cause a rollback. */
const retryTimeout = 3_000

export function probeScope(plan: Plan, units: readonly Unit[]): ProbeScope {
  const changed = plan.accepted.filter(({ nic }) => applyUnitOf(units, nic.index) !== undefined)
  const devices = [...plan.accepted.map(({ link }) => link.ifindex), ...units.flatMap(unit => unit.ifindex ?? [])]
  return {
    nics: changed.map(({ nic, link }) => ({ nic, ifindex: link.ifindex })),
    owned: { tables: plan.tables, devices: new Set(devices) },
  }
}

/** Probes all targets at once. Targets that replied `before` and do not now are probed again. */
export async function probeConnectivity(
  { nics, owned }: ProbeScope,
  observed: Observed,
  { host, settings }: AgentContext,
  before: Replies = noReplies,
): Promise<Replies> {
  const { probe, apiServer, apiPort } = settings
  if (probe.mode === 'off' && Object.values(probe.perInterface).every(mode => mode === 'off')) return noReplies
  const targets = [
    ...gatewayTargets(observed, owned),
    ...nics.flatMap(({ nic, ifindex }) => nicTarget(nic, ifindex, settings) ?? []),
  ]
  const reachApiServer = async (timeout: number) =>
    apiServer !== undefined && parseIp(apiServer) !== undefined && (await host.canConnect(apiServer, apiPort, timeout))
  const [neighbours, reached] = await Promise.all([
    probeNeighbours(host, targets, observed.links, probe.timeout),
    reachApiServer(probe.timeout),
  ])
  const silent = targets.filter(
    target => before.neighbours.has(targetKey(target)) && !neighbours.has(targetKey(target)),
  )
  const [late, reachedLate] = await Promise.all([
    silent.length > 0 ? probeNeighbours(host, silent, observed.links, retryTimeout) : [],
    reached || (before.apiServer && reachApiServer(retryTimeout)),
  ])
  return { neighbours: new Map([...neighbours, ...late]), apiServer: reachedLate }
}

/**
 * A node that lost connectivity fails every unit, whichever NIC caused it. A NIC whose target does not reply fails alone,
 * or gets a note. Units that are in `failures` already are not checked again.
 */
export function compareConnectivity(
  units: readonly Unit[],
  { nics, owned }: ProbeScope,
  before: Connectivity,
  after: Connectivity,
  { request, settings, log }: AgentContext,
  failures: Failures,
): { failures: Failures; notes: Map<number, string> } {
  const present = describeConnectivity(after.observed, request.nodeAddresses, owned)
  const gone = describeConnectivity(before.observed, request.nodeAddresses, owned).filter(
    line => !present.includes(line),
  )
  const lost = [...gone, ...lostReplies(owned, before, after)]
  if (lost.length > 0) {
    log.error('node lost connectivity, rolling back all changes', { lost })
    const failure: Failure = {
      reason: 'ProbeFailed',
      message: `lost ${lost.join(', ')}; all changes were rolled back`,
    }
    return { failures: new Map(units.map(unit => [unit.group, failure])), notes: new Map() }
  }
  const unreachable = new Map<string, Failure>()
  const notes = new Map<number, string>()
  for (const { nic, ifindex } of nics) {
    const group = applyUnitOf(units, nic.index)?.group
    const target = nicTarget(nic, ifindex, settings)
    if (group === undefined || !target || failures.has(group) || unreachable.has(group)) continue
    const { note, failure } = judgeReply(target, probeModeOf(nic.index, settings), before.replies, after.replies)
    if (note) notes.set(nic.index, note)
    if (failure) unreachable.set(group, { reason: 'GatewayUnreachable', message: failure })
  }
  return { failures: unreachable, notes }
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

/** A missing reply of a NIC's own gateway or peer is a failure or a note in the report, depending on the mode. */
function judgeReply(
  target: ProbeTarget,
  mode: ProbeMode,
  before: Replies,
  after: Replies,
): { note?: string; failure?: string } {
  const key = targetKey(target)
  if (after.neighbours.has(key)) return {}
  if (before.neighbours.has(key)) return { failure: `${target.address} replied before the change but not after it` }
  const message = `no reply from ${target.address}`
  return mode === 'required' ? { failure: message } : { note: message }
}
