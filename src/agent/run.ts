/**
 * One pass over the node: observe → plan → prepare → apply → verify → commit, or roll back.
 *
 * - prepare stages the files, writes the journal, probes connectivity and looks for duplicate addresses.
 * - apply removes the files of removed NICs and changes the kernel, in up to three rounds.
 * - verify compares the node with the request, and its connectivity with the one before the change.
 * - commit moves the staged files of the other NICs into place.
 *
 * Each phase returns the failures so far, by group of NICs. A group that fails is rolled back; the others are committed.
 */
import { messageOf } from '../runtime/errors.ts'
import { applyUnits, type Failure, type Failures, returnToNetworkManager, withSuccessors } from './apply/apply.ts'
import { clearJournal, writeJournal } from './apply/journal.ts'
import { releaseFromNetworkd, releaseUnits, reloadNetworkd, withReleased } from './apply/networkd-reload.ts'
import { rollBack } from './apply/rollback.ts'
import { commitAll, stageAll, tryRemoveStaged } from './apply/staging.ts'
import type { AgentContext } from './context.ts'
import { findDifferences, findLeftovers, remainingKernelChanges } from './differences.ts'
import { trimNode } from './node-trim.ts'
import { type ObserveOptions, observeFiles, withRecord } from './observe/observe.ts'
import { rememberRefusals } from './observe/refusals-of-boot.ts'
import { type PassResult, passResult } from './pass-result.ts'
import { observeNode, planNode } from './pass-view.ts'
import { nodeGroup, planNodeRouting, tablesAfter } from './plan/node-routing.ts'
import type { Plan } from './plan/plan.ts'
import { logPlan } from './plan-log.ts'
import type { Change } from './state/change.ts'
import type { Observed } from './state/observed.ts'
import { predictFiles } from './state/predict.ts'
import { applyUnitOf, type Unit, unitsDone, withoutFailed, withPurpose } from './state/unit.ts'
import {
  compareConnectivity,
  lostLifelines,
  type ProbeScope,
  probeAfter,
  probeBefore,
  probeScope,
  probeUnchanged,
  type Replies,
  reachApiServer,
  targetsAtOnce,
} from './verify/connectivity.ts'
import { duplicatesIn, endOfProbe, newAddresses, probeUnits } from './verify/duplicate-address.ts'
import { askCommands, forgetCommands, type ProbeTarget } from './verify/neighbour-probe.ts'
import { probeModeOf } from './verify/probe-targets.ts'
import { waitForNics } from './verify/settle.ts'
import { differences } from './verify/verify.ts'

interface Prepared {
  plan: Plan
  /** Interfaces that failed in an earlier pass of this run. */
  skip: ReadonlySet<number>
  before: Observed
  units: readonly Unit[]
  /** What the duplicate check has changed: it is still there. */
  probing: readonly Unit[]
  /** What makes networkd release NICs, before the first change of the kernel. */
  releasing: readonly Unit[]
  /** Addresses that the duplicate check asked for. */
  asked: readonly ProbeTarget[]
  /** All units in the journal: those that probe for duplicates and release NICs, `units`, and the units of later rounds. */
  journaled: readonly Unit[]
  scope: ProbeScope
  repliesBefore: Replies
  failures: Failures
}

interface Applied extends Prepared {
  after: Observed
  /** Targets that were asked after the change, and before the node was observed. */
  askedAfter: readonly ProbeTarget[]
  applyStartedAt: number
  applyMs: number
}

interface Verified extends Applied {
  /** Missing replies that fail nothing, by index. */
  notes: Map<number, string>
  /** Unchanged interfaces whose gateway or peer does not reply, by index. */
  unreachable: Map<number, Failure>
  verifyMs: number
}

/** Applying again restores what the kernel removed on its own: a link that goes down loses its routes. */
const maxRounds = 3

type PassContext = AgentContext & { done: Set<Change>; notRestored: string[] }

export async function runPass(basics: AgentContext, skip: ReadonlySet<number>): Promise<PassResult> {
  const context: PassContext = { ...basics, done: new Set(), notRestored: [] }
  // A NIC without a record gets changes, and is asked after them.
  const before = await observeNode(context, { lookups: withRecord(context.request.interfaces, context) })
  const plan = planNode(before, context, skip)
  logPlan(plan, before, context.paths, context.log)
  if (plan.units.length === 0)
    return passResult(plan, before, context, await probeUnchanged(probeScope(plan, []), before, context))

  const prepared = await prepare(plan, before, skip, context)
  if ('aborted' in prepared) return passResult(plan, before, context, { failures: prepared.failures })
  const applied = await apply(prepared, context)
  const verified = await verify(applied, context)
  await rollBackFailed(verified, context)
  const { committed, failures } = await commit(verified, context)
  const seen = await observeResult(verified, failures, context)
  const trimmed = await trimNode(seen, failedIndexes(plan, failures, skip), context)
  const { node, observed } = trimmed
  clearJournal(context.host, context.paths)
  const { notes, unreachable, applyStartedAt, applyMs, verifyMs } = verified
  const result = passResult({ ...plan, node }, observed, context, {
    failures: withIncompleteRollback(merge(failures, trimmed.failures), prepared, observed, context),
    committed,
    notes,
    unreachable,
  })
  return { ...result, applyStartedAt, applyMs, verifyMs }
}

function failedIndexes({ units }: Plan, failures: Failures, skip: ReadonlySet<number>): Set<number> {
  const failed = withPurpose(units, 'apply').filter(({ group }) => failures.has(group))
  return new Set([...skip, ...failed.map(({ index }) => index)])
}

/** A rollback proves itself: nothing is left of the changes, and the node has all lifelines that it had before. */
function withIncompleteRollback(
  failures: Failures,
  { before, scope }: Prepared,
  observed: Observed,
  { request, notRestored, log }: PassContext,
): Failures {
  if (failures.size === 0) return failures
  const lost = lostLifelines(before, observed, request.nodeAddresses, scope.owned)
  if (lost.length > 0) log.error('node still lacks connectivity after the rollback', { lost })
  const left = [...notRestored.map(text => `not rolled back: ${text}`), ...lost.map(text => `still lost: ${text}`)]
  if (left.length === 0) return failures
  return new Map(
    [...failures].map(([group, { message }]) => [
      group,
      { reason: 'RollbackIncomplete', message: `${message}; ${left.join('; ')}` } as const,
    ]),
  )
}

/** Observes and plans like a pass, and changes nothing. */
export async function inspect(context: AgentContext): Promise<PassResult> {
  const observed = await observeNode(context)
  const plan = planNode(observed, context, new Set())
  logPlan(plan, observed, context.paths, context.log)
  if (context.request.mode === 'plan') return passResult(plan, observed, context)
  return passResult(plan, observed, context, await probeUnchanged(probeScope(plan, []), observed, context))
}

/** Nothing on the node changes before the journal is written: a pass without a journal is aborted. */
async function prepare(
  plan: Plan,
  before: Observed,
  skip: ReadonlySet<number>,
  context: AgentContext,
): Promise<Prepared | { aborted: true; failures: Failures }> {
  const { host, paths, settings } = context
  const { units } = plan
  const probing = settings.duplicateCheck ? probeUnits(units, before) : []
  const releasing = releaseUnits(units, before, context)
  const journaled = [...probing, ...releasing, ...units]
  try {
    writeJournal(host, paths, { bootID: before.bootID, units: journaled })
  } catch (error) {
    const failure: Failure = { reason: 'PersistFailed', message: `cannot write the journal: ${messageOf(error)}` }
    return { aborted: true, failures: new Map(units.map(unit => [unit.group, failure])) }
  }
  const scope = probeScope(plan, units)
  const apiServer = reachApiServer(context, settings.probe.timeout)
  const added = newAddresses(settings.duplicateCheck ? units : [])
  const asks = added.flatMap(({ target }) => askCommands(target, []))
  const { failures: notProbed } = await applyUnits(probing, before, context, asks)
  const asked = added.filter(({ group }) => !notProbed.has(group)).map(({ target }) => target)
  const listening = probeBefore(scope, before, context, asked)
  // While the agent listens, it writes the files under temporary names.
  const notStaged = stageAll(units, host)
  const neighbours = await listening
  const duplicates = duplicatesIn(added, neighbours, before)
  const failures = withShared(units, merge(merge(notProbed, notStaged), duplicates))
  const repliesBefore = { neighbours, apiServer: await apiServer }
  return { plan, skip, before, units, probing, releasing, asked, journaled, scope, repliesBefore, failures }
}

async function apply(prepared: Prepared, context: PassContext): Promise<Applied> {
  const { plan, skip, before, units, probing, releasing, asked, scope, repliesBefore } = prepared
  const { host, paths, settings } = context
  const applyStartedAt = host.now()
  const started = host.monotonic()
  // A rename makes udev and networkd apply the files that they find: those of a removed NIC go first.
  const notPersisted = commitAll(withPurpose(withoutFailed(units, prepared.failures), 'remove'), context)
  const ready = withSuccessors(units, merge(prepared.failures, notPersisted))
  const notReleased = await releaseFromNetworkd(withoutFailed(releasing, ready), units, before, context)
  const notPrepared = merge(ready, notReleased)
  const applicable = withoutFailed(units, notPrepared)
  const askedAfter = targetsAtOnce(scope, before, settings)
  const first = await applyUnits([...endOfProbe(withoutFailed(probing, notPrepared)), ...applicable], before, context, [
    ...forgetCommands(asked),
    ...askedAfter.flatMap(target => askCommands(target, before.neighbours, repliesBefore.neighbours)),
  ])
  const applyMs = host.monotonic() - started
  if (first.refusedAltnames.length > 0 || first.nftError !== undefined) rememberRefusals(first, before, context)

  let failures = merge(notPrepared, first.failures)
  let journaled = prepared.journaled
  // What this pass has set is ours by the records that it commits in the end. Removals still need the old ones.
  const files = predictFiles(
    before,
    applicable.filter(({ purpose }) => purpose !== 'remove'),
  )
  const known = unaffectedBy(plan, units, files, context)
  let after = await observeNode(context, { known, nft: tablesAfter(before, applicable, context.done) })
  for (let round = 2; round <= maxRounds && needsAnotherRound(plan, applicable, after); round++) {
    const planned = planNode(after, context, skip).units.filter(({ purpose }) => purpose !== 'node')
    const shared = planNodeRouting(plan.node, after, paths)
    const again = remainingKernelChanges([...planned, ...shared], units, failures)
    if (again.length === 0) break
    journaled = [...journaled, ...again]
    writeJournal(host, paths, { bootID: before.bootID, units: again })
    failures = merge(failures, (await applyUnits(again, after, context)).failures)
    after = await observeNode(context, { known, nft: tablesAfter(after, again, context.done) })
  }
  return { ...prepared, journaled, failures, after, askedAfter, applyStartedAt, applyMs }
}

async function verify(applied: Applied, context: AgentContext): Promise<Verified> {
  const { plan, before, units, repliesBefore, askedAfter } = applied
  const started = context.host.monotonic()
  const after = await observeSettled(applied, context)
  const isFailed = (index: number) => applied.failures.has(applyUnitOf(units, index)?.group ?? '')
  const scope = { ...applied.scope, nics: applied.scope.nics.filter(({ nic }) => !isFailed(nic.index)) }
  const repliesAfter = await probeAfter(scope, after, context, repliesBefore, askedAfter)
  const differing = findDifferences(plan, withoutFailed(units, applied.failures), after, context)
  const verified = withSuccessors(
    units,
    merge(merge(applied.failures, differing), findLeftovers(applied, after, context)),
  )
  const { failures, notes, unreachable } = compareConnectivity(
    units,
    scope,
    { observed: before, replies: repliesBefore },
    { observed: after, replies: repliesAfter },
    context,
    verified,
  )
  const verifyMs = context.host.monotonic() - started
  return { ...applied, after, failures: merge(verified, failures), notes, unreachable, verifyMs }
}

async function rollBackFailed({ journaled, failures, after }: Verified, context: PassContext): Promise<void> {
  const { host, paths } = context
  const failed = unitsDone(journaled, failures, context.done)
  if (failed.length > 0)
    context.notRestored.push(...(await rollBack(failed, { ...after, ...observeFiles(host, paths) }, context)))
  for (const unit of failed) tryRemoveStaged(host, unit)
}

async function commit(
  { plan, units, journaled, after, failures: before }: Verified,
  context: PassContext,
): Promise<{ committed: Unit[]; failures: Failures }> {
  const notPersisted = commitAll(
    withoutFailed(units, before).filter(({ purpose }) => purpose !== 'remove'),
    context,
  )
  const undo = async (failed: Failures, observed: () => Promise<Observed>) => {
    const again = unitsDone(journaled, failed, context.done)
    if (again.length > 0) context.notRestored.push(...(await rollBack(again, await observed(), context)))
  }
  await undo(notPersisted, () => observeNode(context))
  const failures = merge(before, notPersisted)
  const committed = withoutFailed(units, failures)
  await returnToNetworkManager(committed, after, context)
  const { ifindexes, error } = await reloadNetworkd(committed, withReleased(after, journaled), context)
  if (ifindexes.length === 0) return { committed, failures }
  const reloaded = await observeNode(context)
  const notReloaded = error === undefined ? [] : committed.filter(unit => ifindexes.includes(unit.ifindex ?? 0))
  const differing = merge(
    findDifferences(plan, committed, reloaded, context),
    new Map(notReloaded.map(({ group }) => [group, { reason: 'CommandFailed', message: error ?? '' } as const])),
  )
  await undo(differing, async () => reloaded)
  const all = merge(failures, differing)
  return { committed: withoutFailed(committed, all), failures: all }
}

/** Without what all NICs share, packets of the node would take another way: no NIC is configured then. */
function withShared(units: readonly Unit[], failures: Failures): Failures {
  const failure = failures.get(nodeGroup)
  if (!failure) return failures
  const groups = withPurpose(units, 'apply').map(({ group }) => group)
  return new Map([...groups.map(group => [group, failure] as const), ...failures])
}

/** The later failure of a group wins. */
function merge(earlier: Failures, later: Failures): Failures {
  return new Map([...earlier, ...later])
}

/** Waits until the changed NICs can be used, and observes the node then. */
async function observeSettled({ after, units, scope }: Applied, context: AgentContext): Promise<Observed> {
  const { settings } = context
  const changed = scope.nics.filter(({ nic }) => applyUnitOf(units, nic.index) !== undefined)
  const dad = settings.duplicateCheck || changed.some(({ nic }) => probeModeOf(nic.index, settings) !== 'off')
  return (await waitForNics(changed, after, context, { dad })) ? observeNode(context, { nft: after.nft }) : after
}

/** Changing the kernel affects no files, and no IPv6 rules where neither multinic nor NetworkManager has any. */
function unaffectedBy(
  { accepted }: Plan,
  units: readonly Unit[],
  { files, directories, rules }: Observed,
  { networkManager }: AgentContext,
): NonNullable<ObserveOptions['known']> {
  const affectsRules6 =
    networkManager !== undefined ||
    accepted.some(({ nic }) => nic.rules.some(rule => rule.family === 6)) ||
    units.some(({ changes }) => changes.some(change => change.kind === 'rule' && change.rule.family === 6))
  return { files, directories, ...(affectsRules6 ? {} : { rules6: rules.filter(rule => rule.family === 6) }) }
}

function needsAnotherRound(plan: Plan, units: readonly Unit[], after: Observed): boolean {
  return (
    units.some(unit => unit.purpose === 'remove') ||
    plan.accepted.some(({ nic, link, isStale }) => differences(nic, link.ifindex, after, isStale).length > 0)
  )
}

/** The node after the pass. Only the files have changed since it was verified, unless something failed. */
async function observeResult({ after }: Verified, failures: Failures, context: AgentContext): Promise<Observed> {
  const { host, paths } = context
  return failures.size === 0 ? { ...after, ...observeFiles(host, paths) } : observeNode(context)
}
