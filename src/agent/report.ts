/**
 * Makes the report from the results of a run, and fits it into a termination message: shortens messages first, then drops
 * the observed state. A failure stays a failure, and the JSON stays valid.
 */
import type { AgentReport, InterfaceReport } from '../contract/agent-report.ts'
import { type FieldError, type Interface, interfaceName } from '../contract/interfaces.ts'
import type { ObservedInterface } from '../contract/node-config.ts'
import type { Failure } from './apply/apply.ts'
import { ownedNics } from './backends/owned.ts'
import type { AgentRequest } from './input.ts'
import type { PassResult } from './pass-result.ts'
import type { Paths } from './paths.ts'
import type { Plan } from './plan/plan.ts'
import type { Refusal } from './plan/preflight.ts'
import { type Change, describeChange } from './state/change.ts'
import { linkByIndex, linksByMac, type Observed } from './state/observed.ts'
import { isOfGoAgent, ownedNicOf } from './state/ownership.ts'
import { applyUnitOf } from './state/unit.ts'

/** The same as in `contract/agent-report.ts`, which needs a package; a test compares the two. */
export const maxReportBytes = 4096

type InterfaceResult = Pick<InterfaceReport, 'status' | 'reason' | 'message'>

/** The request or the settings are invalid, so the node was not even observed. */
export function invalidReport(request: AgentRequest | undefined, errors: readonly FieldError[]): AgentReport {
  const message = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return refusedReport(request, { reason: 'InputInvalid', message })
}

export function refusedReport(request: AgentRequest | undefined, refusal: Refusal): AgentReport {
  const { reason, message } = refusal
  const interfaces = (request?.interfaces ?? []).map(nic => nicReport(nic, { status: 'Failed', reason }))
  return { ...emptyReport(request), verdict: 'Failed', reason, message, interfaces }
}

export function appliedReport(
  request: AgentRequest,
  results: readonly PassResult[],
  recovered: readonly string[],
): AgentReport {
  const last = results.at(-1)
  if (!last) return emptyReport(request)
  const failed = new Map(results.flatMap(result => [...result.failed]))
  const removed = results.flatMap(result => result.removed)
  const common = {
    ...emptyReport(request),
    ...factsOf(last),
    changed: results.reduce((sum, result) => sum + result.changed, 0),
    removed,
    timings: timingsOf(results),
    undone: [...new Set([...recovered, ...results.flatMap(result => result.rolledBack)])],
  }
  const notRemoved = results.flatMap(result => result.notRemoved)
  if (request.mode === 'cleanup') return { ...common, ...cleanupSummary(notRemoved, removed) }
  const interfaces = request.interfaces.map(nic => {
    const result = unconfigured(nic, last.plan, failed.get(nic.index))
    const configured = { status: 'Configured', reason: 'Configured', ...noteOf(results, nic.index) } as const
    const changed = results.reduce((sum, { changesOf }) => sum + (changesOf.get(nic.index) ?? 0), 0)
    return { ...nicReport(nic, result ?? configured, observedOf(last.observed, nic)), changed }
  })
  return { ...common, ...summaryOf(interfaces, notRemoved), interfaces }
}

/** A node on which an earlier run could not be rolled back has failed, whatever this run came to. */
export function withNotRestored(report: AgentReport, notRestored: readonly string[]): AgentReport {
  if (notRestored.length === 0) return report
  const message = [`not rolled back: ${notRestored.join('; ')}`, report.message].filter(Boolean).join('. ')
  return { ...report, verdict: 'Failed', reason: 'RollbackIncomplete', message }
}

/** Why an interface is not configured: it failed, was refused, or its NIC is missing. */
function unconfigured(nic: Interface, { refused, missing }: Plan, failed?: Failure): InterfaceResult | undefined {
  const failure = failed ?? refused.get(nic.index)
  if (failure) return { status: 'Failed', ...failure }
  if (!missing.some(({ index }) => index === nic.index)) return undefined
  return { status: 'Pending', reason: 'NicMissing', message: `no NIC has MAC address ${nic.macAddress}` }
}

function timingsOf(results: readonly PassResult[]): AgentReport['timings'] {
  const sum = (of: (result: PassResult) => number) => results.reduce((total, result) => total + of(result), 0)
  const applyAt = results.find(({ applyStartedAt }) => applyStartedAt !== undefined)?.applyStartedAt
  const times = { apply: sum(({ applyMs }) => applyMs), verify: sum(({ verifyMs }) => verifyMs) }
  return { ...times, ...(applyAt === undefined ? {} : { applyAt }) }
}

/** A missing reply that fails nothing. */
function noteOf(results: readonly PassResult[], index: number): Pick<InterfaceResult, 'message'> {
  const message = results.map(({ notes }) => notes.get(index)).find(note => note !== undefined)
  return message === undefined ? {} : { message }
}

/**
 * The report of a check or a dry run: every change that an apply would make is a difference. The Go implementation routed packets
 * by other rules, which is no drift: the reason says so, and the controller waits until somebody asks for a run.
 */
export function checkedReport(request: AgentRequest, pass: PassResult, paths: Paths): AgentReport {
  const { plan, observed } = pass
  const dryRun = request.mode === 'plan'
  const owned = ownedNics(observed, paths)
  const different = (nic: Interface, message: string, changes: readonly Change[] = []): InterfaceResult => {
    if (dryRun) return { status: 'Pending', reason: 'Planned', message }
    return isOfGoAgent(ownedNicOf(owned, nic)) && changes.length > 0 && !changes.some(isDrift)
      ? { status: 'Pending', reason: 'ConfiguredByOlderAgent', message }
      : { status: 'Failed', reason: 'Drifted', message }
  }
  const interfaces = request.interfaces.map(nic => {
    const changes = applyUnitOf(plan.units, nic.index)?.changes
    const found = changes?.map(describeChange).join('; ') ?? pass.failed.get(nic.index)?.message
    const result: InterfaceResult =
      unconfigured(nic, plan) ??
      (found === undefined
        ? { status: 'Configured', reason: 'InSync', ...noteOf([pass], nic.index) }
        : different(nic, found, changes))
    return nicReport(nic, result, observedOf(observed, nic))
  })
  const removals = plan.units.filter(unit => unit.purpose === 'remove')
  const differing = interfaces.filter(nic => nic.reason !== 'InSync')
  const orphans = removals.map(unit => `${unit.name} is orphaned`)
  const messages = differing.filter(nic => nic.message).map(nic => `${nic.name}: ${nic.message}`)
  const verdict = dryRun ? 'Planned' : differing.length + removals.length > 0 ? 'Drifted' : 'InSync'
  const ofGoAgent = 'ConfiguredByOlderAgent'
  const onlyOfGoAgent =
    differing.length > 0 && removals.length === 0 && differing.every(nic => nic.reason === ofGoAgent)
  const message = [...messages, ...orphans].join('; ') || 'no changes'
  const reason = onlyOfGoAgent ? ofGoAgent : verdict
  return { ...emptyReport(request), ...factsOf(pass), verdict, reason, message, interfaces }
}

/** Both agents set these as requested. Rules, routes, files and sysctls differ. */
function isDrift(change: Change): boolean {
  return ['name', 'mtu', 'link'].includes(change.kind) || (change.kind === 'address' && !change.inPlace)
}

type Summary = Pick<AgentReport, 'verdict' | 'reason' | 'message'>

function cleanupSummary(notRemoved: PassResult['notRemoved'], removed: readonly string[]): Summary {
  const [first] = notRemoved
  if (first) return { verdict: 'Failed', reason: first.failure.reason, message: describeNotRemoved(notRemoved) }
  const names = removed.filter(name => !name.startsWith('/'))
  return {
    verdict: 'Removed',
    reason: 'Removed',
    message: names.length > 0 ? names.join(', ') : 'nothing to remove',
  }
}

function describeNotRemoved(notRemoved: PassResult['notRemoved']): string {
  return notRemoved.map(({ name, failure }) => `${name}: cannot remove: ${failure.message}`).join('; ')
}

function summaryOf(interfaces: readonly InterfaceReport[], notRemoved: PassResult['notRemoved']): Summary {
  const failed = interfaces.filter(nic => nic.status === 'Failed')
  const pending = interfaces.filter(nic => nic.status === 'Pending')
  const messages = (list: readonly InterfaceReport[]) =>
    list.map(nic => `${nic.name}: ${nic.message ?? nic.reason}`).join('; ')
  const reason = failed[0]?.reason ?? notRemoved[0]?.failure.reason
  if (reason !== undefined) {
    const parts = [
      ...(failed.length > 0 ? [messages(failed)] : []),
      ...(notRemoved.length > 0 ? [describeNotRemoved(notRemoved)] : []),
      ...(failed.length > 0 ? [`${failed.length} of ${interfaces.length} interfaces failed`] : []),
    ]
    const message = parts.join('; ')
    return { verdict: 'Failed', reason, message }
  }
  if (pending.length > 0) return { verdict: 'Pending', reason: 'NicMissing', message: messages(pending) }
  const message = `All ${interfaces.length} interfaces configured successfully`
  return { verdict: 'Configured', reason: 'Configured', message }
}

function emptyReport(request: AgentRequest | undefined): AgentReport {
  return {
    version: 1,
    node: request?.nodeName ?? '',
    mode: request?.mode ?? 'apply',
    generation: request?.generation ?? 0,
    specHash: request?.specHash ?? '',
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

function factsOf({ plan, observed }: PassResult): Pick<AgentReport, 'backend' | 'bootID'> {
  return { backend: plan.backend, ...(observed.bootID ? { bootID: observed.bootID } : {}) }
}

function nicReport(nic: Interface, result: InterfaceResult, observed?: ObservedInterface): InterfaceReport {
  return {
    id: nic.index,
    name: interfaceName(nic.index),
    macAddress: nic.macAddress,
    ...(nic.portId === undefined ? {} : { portId: nic.portId }),
    ...result,
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
  const lean = withoutTrace(report)
  let text = ''
  // What a cut makes free goes to the messages.
  for (const cut of [(whole: AgentReport) => whole, withoutObserved, withoutLists, withoutPortIds, withoutMessages])
    for (const limit of [Number.POSITIVE_INFINITY, 400, 200, 120, 60, 24]) {
      text = JSON.stringify(shortened(cut(lean), limit))
      if (Buffer.byteLength(text) <= maxReportBytes) return text
    }
  return text
}

/** Drops what only a trace needs. */
function withoutTrace({ traceId: _, ...report }: AgentReport): AgentReport {
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

/** Ten port IDs of up to 253 characters each may leave no room for messages. */
function withoutPortIds(report: AgentReport): AgentReport {
  const { interfaces, ...rest } = withoutLists(report)
  return { ...rest, interfaces: interfaces.map(({ portId: _, ...nic }) => nic) }
}

function withoutMessages(report: AgentReport): AgentReport {
  const { interfaces, ...rest } = withoutPortIds(report)
  return { ...rest, interfaces: interfaces.map(({ message: _, ...nic }) => nic) }
}
