/**
 * Puts the outcome into the words of the contract, and cuts it to the size of a termination message: first the long
 * sentences, then what was read back. A failure stays a failure, and the JSON stays whole.
 */
import type { AgentReport, InterfaceReport } from '../contract/agent-report.ts'
import { type FieldError, type Interface, interfaceName } from '../contract/interfaces.ts'
import type { ObservedInterface } from '../contract/node-config.ts'
import { inWords } from './change.ts'
import type { Work } from './input.ts'
import { linkByIndex, linksByMac, type Observed } from './observed.ts'
import type { Refusal } from './preflight.ts'
import type { Pass } from './run.ts'

/** As `contract/agent-report.ts` has it; a test holds the two together. */
export const maxReportBytes = 4096

type Judged = Pick<InterfaceReport, 'status' | 'reason' | 'message'>

/** Nothing was looked at: the work or the settings cannot be used. */
export function invalidReport(work: Work | undefined, errors: readonly FieldError[]): AgentReport {
  const message = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return refusedReport(work, { reason: 'InputInvalid', message })
}

export function refusedReport(work: Work | undefined, refusal: Refusal): AgentReport {
  const { reason, message } = refusal
  const interfaces = (work?.interfaces ?? []).map(nic => nicReport(nic, { status: 'Failed', reason }))
  return { ...blank(work), verdict: 'Failed', reason, message, interfaces }
}

/** What an apply or a cleanup came to. */
export function appliedReport(work: Work, passes: readonly Pass[], recovered: readonly string[]): AgentReport {
  const last = passes.at(-1)
  if (!last) return blank(work)
  const failed = new Map(passes.flatMap(pass => [...pass.failed]))
  const removed = passes.flatMap(pass => pass.removed)
  const common = {
    ...blank(work),
    ...factsOf(last),
    changed: passes.reduce((sum, pass) => sum + pass.changed, 0),
    removed,
    timings: timingsOf(passes),
    undone: [...new Set([...recovered, ...passes.flatMap(pass => pass.undone)])],
  }
  const stuck = passes.flatMap(pass => pass.stuck)
  if (work.mode === 'cleanup') return { ...common, ...cleanedUp(stuck, removed) }
  const interfaces = work.interfaces.map(nic => {
    const refusal = failed.get(nic.index) ?? last.plan.refused.get(nic.index)
    const missing = last.plan.missing.some(entry => entry.index === nic.index)
    const judged: Judged = refusal
      ? { status: 'Failed', ...refusal }
      : missing
        ? { status: 'Pending', reason: 'NicMissing', message: `no NIC has ${nic.macAddress}` }
        : { status: 'Configured', reason: 'Configured', ...toldOf(passes, nic.index) }
    return nicReport(nic, judged, observedOf(last.observed, nic))
  })
  return { ...common, ...verdictOf(interfaces, stuck), interfaces }
}

function timingsOf(passes: readonly Pass[]): AgentReport['timings'] {
  const sum = (of: (pass: Pass) => number) => passes.reduce((total, pass) => total + of(pass), 0)
  const applyAt = passes.find(({ began }) => began !== undefined)?.began
  const times = { apply: sum(pass => pass.applying), verify: sum(pass => pass.verifying) }
  return { ...times, ...(applyAt === undefined ? {} : { applyAt }) }
}

/** A gateway that does not answer is told and fails nothing. */
function toldOf(passes: readonly Pass[], id: number): Pick<Judged, 'message'> {
  const message = passes.map(({ notes }) => notes.get(id)).find(note => note !== undefined)
  return message === undefined ? {} : { message }
}

/** What a check or a dry run found: every change that an apply would make is a difference. */
export function checkedReport(work: Work, pass: Pass): AgentReport {
  const { plan, observed } = pass
  const dry = work.mode === 'plan'
  const words = (id: number) =>
    plan.units.filter(unit => unit.id === id && unit.purpose === 'apply').flatMap(unit => unit.changes.map(inWords))
  const interfaces = work.interfaces.map(nic => {
    const refusal = plan.refused.get(nic.index)
    const changes = words(nic.index)
    const found = changes.length > 0 ? changes.join('; ') : pass.failed.get(nic.index)?.message
    const judged: Judged = refusal
      ? { status: 'Failed', ...refusal }
      : plan.missing.some(entry => entry.index === nic.index)
        ? { status: 'Pending', reason: 'NicMissing', message: `no NIC has ${nic.macAddress}` }
        : found === undefined
          ? { status: 'Configured', reason: 'InSync' }
          : { status: dry ? 'Pending' : 'Failed', reason: dry ? 'Planned' : 'Drifted', message: found }
    return nicReport(nic, judged, observedOf(observed, nic))
  })
  const removals = plan.units.filter(unit => unit.purpose === 'remove')
  const differs = interfaces.filter(nic => nic.reason !== 'InSync').length + removals.length
  const orphans = removals.map(unit => `${unit.name} is orphaned`)
  const told = interfaces.filter(nic => nic.message).map(nic => `${nic.name}: ${nic.message}`)
  const verdict = dry ? 'Planned' : differs > 0 ? 'Drifted' : 'InSync'
  const message = [...told, ...orphans].join('; ') || 'nothing to change'
  return { ...blank(work), ...factsOf(pass), verdict, reason: verdict, message, interfaces }
}

type Summary = Pick<AgentReport, 'verdict' | 'reason' | 'message'>

function cleanedUp(stuck: Pass['stuck'], removed: readonly string[]): Summary {
  const [first] = stuck
  if (first) return { verdict: 'Failed', reason: first.failure.reason, message: stillThere(stuck) }
  const names = removed.filter(name => !name.startsWith('/'))
  return {
    verdict: 'Removed',
    reason: 'Removed',
    message: names.length > 0 ? names.join(', ') : 'nothing of ours was there',
  }
}

function stillThere(stuck: Pass['stuck']): string {
  return stuck.map(({ name, failure }) => `${name} could not be removed: ${failure.message}`).join('; ')
}

/** The verdict of a whole apply from those of its interfaces. */
function verdictOf(interfaces: readonly InterfaceReport[], stuck: Pass['stuck']): Summary {
  const failed = interfaces.filter(nic => nic.status === 'Failed')
  const pending = interfaces.filter(nic => nic.status === 'Pending')
  const told = (list: readonly InterfaceReport[]) =>
    list.map(nic => `${nic.name}: ${nic.message ?? nic.reason}`).join('; ')
  const reason = failed[0]?.reason ?? stuck[0]?.failure.reason
  if (reason !== undefined) {
    const some = failed.length > 0 ? [`${failed.length} of ${interfaces.length} failed. ${told(failed)}`] : []
    const message = [...some, ...(stuck.length > 0 ? [stillThere(stuck)] : [])].join('; ')
    return { verdict: 'Failed', reason, message }
  }
  if (pending.length > 0) return { verdict: 'Pending', reason: 'NicMissing', message: told(pending) }
  const message = `All ${interfaces.length} interfaces configured successfully`
  return { verdict: 'Configured', reason: 'Configured', message }
}

function blank(work: Work | undefined): AgentReport {
  return {
    version: 1,
    node: work?.nodeName ?? '',
    mode: work?.mode ?? 'apply',
    generation: work?.generation ?? 0,
    specHash: work?.specHash ?? '',
    verdict: 'Failed',
    reason: 'InputInvalid',
    message: '',
    interfaces: [],
    changed: 0,
    removed: [],
    undone: [],
    timings: {},
  }
}

function factsOf({ plan, observed }: Pass): Pick<AgentReport, 'backend' | 'bootID'> {
  return { backend: plan.backend, ...(observed.bootId ? { bootID: observed.bootId } : {}) }
}

function nicReport(nic: Interface, judged: Judged, observed?: ObservedInterface): InterfaceReport {
  return {
    id: nic.index,
    name: interfaceName(nic.index),
    macAddress: nic.macAddress,
    ...(nic.portId === undefined ? {} : { portId: nic.portId }),
    ...judged,
    ...(observed ? { observed } : {}),
  }
}

function observedOf(observed: Observed, nic: Interface): ObservedInterface | undefined {
  const found = linksByMac(observed.links, nic.macAddress)[0]
  const link = found && linkByIndex(observed, found.ifindex)
  if (!link) return undefined
  const addresses = observed.addresses.filter(entry => entry.ifindex === link.ifindex && !entry.linkLocal)
  return {
    name: link.name,
    ifindex: link.ifindex,
    mtu: link.mtu,
    addresses: addresses.map(({ cidr }) => cidr).slice(0, 32),
    link: link.up ? (link.carrier ? 'up' : 'no-carrier') : 'down',
  }
}

export function fitReport(report: AgentReport): string {
  const whole = JSON.stringify(report)
  if (Buffer.byteLength(whole) <= maxReportBytes) return whole
  const lean = untraced(report)
  const cuts = [
    (whole: AgentReport) => whole,
    ...[400, 200, 120, 60, 24].map(limit => (whole: AgentReport) => shortened(whole, limit)),
    (whole: AgentReport) => withoutObserved(shortened(whole, 24)),
    (whole: AgentReport) => withoutLists(shortened(whole, 24)),
    (whole: AgentReport) => withoutMessages(shortened(whole, 24)),
  ]
  let text = ''
  for (const cut of cuts) {
    text = JSON.stringify(cut(lean))
    if (Buffer.byteLength(text) <= maxReportBytes) break
  }
  return text
}

/** What only a trace needs goes first. */
function untraced({ traceId: _, ...report }: AgentReport): AgentReport {
  const { startedAt: __, applyAt: ___, verify: ____, ...timings } = report.timings
  return { ...report, timings }
}

function shortened(report: AgentReport, limit: number): AgentReport {
  const cut = (text: string) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text)
  return {
    ...report,
    message: cut(report.message),
    interfaces: report.interfaces.map(nic => (nic.message ? { ...nic, message: cut(nic.message) } : nic)),
    removed: report.removed.slice(0, 20).map(cut),
    undone: report.undone.slice(0, 20).map(cut),
  }
}

function withoutObserved(report: AgentReport): AgentReport {
  return { ...report, interfaces: report.interfaces.map(({ observed: _, ...nic }) => nic) }
}

function withoutLists(report: AgentReport): AgentReport {
  const { backend: _, ...rest } = withoutObserved(report)
  return { ...rest, removed: [], timings: {} }
}

/** Port ids may have 253 characters each: ten of them leave no room for anything else. */
function withoutMessages(report: AgentReport): AgentReport {
  const { interfaces, ...rest } = withoutLists(report)
  return { ...rest, interfaces: interfaces.map(({ message: _, portId: __, ...nic }) => nic) }
}
