/**
 * Hears who answers before a change and after it: the node's gateways, the API server, and each NIC's own gateway or peer.
 * What answered before must answer after. All are asked at once.
 */
import { parseIp } from '../contract/address.ts'
import type { Log } from '../telemetry/log.ts'
import type { Failures } from './apply.ts'
import type { Settings } from './config.ts'
import type { WantedNic } from './desired.ts'
import type { Host } from './host.ts'
import type { Work } from './input.ts'
import { type Answers, askWire, type Target, targetKey } from './neighbour-probe.ts'
import type { Observed } from './observed.ts'
import { allIds } from './ownership.ts'
import type { Plan } from './plan.ts'
import { gatewayTargets, judgeSilence, lifelines, lost, nicTarget, type Ours, probeModeOf } from './probe-targets.ts'
import type { Unit } from './unit.ts'

export interface Heard {
  answers: Answers
  apiServer: boolean
}

const nothingHeard: Heard = { answers: new Map(), apiServer: false }

/** Whose answers count in a run. */
export interface Watch {
  host: Host
  settings: Settings
  nics: readonly { nic: WantedNic; ifindex: number }[]
  ours: Ours
}

/** Who answered before a change is given so much longer after it: a good NIC must not be taken back for a lost packet. */
const patience = 3_000

/** With what was heard `before` a change, those that have fallen silent are asked again. */
export async function listen({
  host,
  settings,
  observed,
  nics,
  ours,
  before = nothingHeard,
}: Watch & { observed: Observed; before?: Heard }): Promise<Heard> {
  const { probe, apiServer, apiPort } = settings
  if (probe.mode === 'off' && Object.values(probe.of).every(mode => mode === 'off')) return nothingHeard
  const targets = [
    ...gatewayTargets(observed, ours),
    ...nics.flatMap(({ nic, ifindex }) => nicTarget(nic, ifindex, settings) ?? []),
  ]
  const reached = async (within: number) =>
    apiServer !== undefined && parseIp(apiServer) !== undefined && (await host.reach(apiServer, apiPort, within))
  const [answers, answered] = await Promise.all([
    askWire(host, targets, observed.links, probe.timeout),
    reached(probe.timeout),
  ])
  const fallen = targets.filter(target => before.answers.has(targetKey(target)) && !answers.has(targetKey(target)))
  const [late, answeredLate] = await Promise.all([
    fallen.length > 0 ? askWire(host, fallen, observed.links, patience) : [],
    answered || (before.apiServer && reached(patience)),
  ])
  return { answers: new Map([...answers, ...late]), apiServer: answeredLate }
}

/** In words: those of the node that answered before and do not any more. */
function fallenSilent(observed: Observed, ours: Ours, before: Heard, after: Heard): string[] {
  const silent = ({ ifindex, address }: Target) =>
    before.answers.has(targetKey({ ifindex, address })) && !after.answers.has(targetKey({ ifindex, address }))
  return [
    ...gatewayTargets(observed, ours)
      .filter(silent)
      .map(({ address }) => `the answer of gateway ${address}`),
    ...(before.apiServer && !after.apiServer ? ['the answer of the API server'] : []),
  ]
}

interface Probed {
  observed: Observed
  after: Observed
  heard: Heard
  now: Heard
  watch: Watch
  work: Work
  settings: Settings
  log: Log
}

/** A node that lost what it lives on gets everything back, whichever NIC it was; a NIC that fell silent goes alone. */
export function judge(units: readonly Unit[], probed: Probed, failures: Failures): Map<number, string> {
  const { observed, after, heard, now, watch, work, settings, log } = probed
  const missing = [
    ...lost(lifelines(observed, work.nodeAddresses, watch.ours), lifelines(after, work.nodeAddresses, watch.ours)),
    ...fallenSilent(observed, watch.ours, heard, now),
  ]
  const notes = new Map<number, string>()
  if (missing.length > 0) {
    log.error('the node lost what it lives on; everything is taken back', { missing })
    for (const unit of units)
      failures.set(unit.group, { reason: 'ProbeFailed', message: `lost ${missing.join(', ')}; all was taken back` })
    return notes
  }
  for (const { nic, ifindex } of watch.nics) {
    const group = units.find(unit => unit.purpose === 'apply' && unit.id === nic.id)?.group
    const target = nicTarget(nic, ifindex, settings)
    if (group === undefined || !target || failures.has(group)) continue
    const answers = { before: heard.answers, after: now.answers }
    const { note, failure } = judgeSilence(target, probeModeOf(nic.id, settings), answers)
    if (note) notes.set(nic.id, note)
    if (failure) failures.set(group, { reason: 'GatewayUnreachable', message: failure })
  }
  return notes
}

/** Whose answers count in this run: NICs that are changed, and what the node lives on. */
export function watching(
  plan: Plan,
  units: readonly Unit[],
  { host, settings }: Pick<Watch, 'host' | 'settings'>,
): Watch {
  const changed = plan.accepted.filter(({ nic }) => units.some(unit => unit.purpose === 'apply' && unit.id === nic.id))
  const devices = [...plan.accepted.map(({ link }) => link.ifindex), ...units.flatMap(unit => unit.ifindex ?? [])]
  return {
    host,
    settings,
    nics: changed.map(({ nic, link }) => ({ nic, ifindex: link.ifindex })),
    ours: { tables: new Set(allIds.map(id => settings.tableBase + id)), devices: new Set(devices) },
  }
}
