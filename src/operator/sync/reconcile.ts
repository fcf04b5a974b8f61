/**
 * Reconciles one OpenstackConfig: syncs it, writes its status and schedules the next sync. On deletion, removes or keeps
 * its interfaces.
 *
 * Level-based: the key names only the object to reconcile.
 */
import { equalJson, mergePatch } from '../../contract/json.ts'
import { type OpenstackConfig, openstackConfigFinalizer, openstackConfigs } from '../../contract/openstack-config.ts'
import type { Kube } from '../../kube/api.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Reconcile, ReconcileContext } from '../../kube/controller.ts'
import { isConflict, isNotFound } from '../../kube/errors.ts'
import { readFieldManagers } from '../../kube/field-managers.ts'
import { keyOf, parseKey } from '../../kube/keys.ts'
import type { Environment } from '../../runtime/env.ts'
import { messageOf } from '../../runtime/errors.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import type { Slot } from '../../runtime/object-memory.ts'
import type { Log } from '../../telemetry/log.ts'
import { cloudOf } from '../clouds/credentials.ts'
import { resolveSettings } from '../config.ts'
import type { Intervals } from '../deliver/down-ports.ts'
import { isUnavailable } from '../events/cloud-events.ts'
import type { Acquired, FairShare } from '../limits/fair-share.ts'
import type { Inspection } from '../observe/inspection.ts'
import { storedPlanOf } from '../plan/stored-plan.ts'
import type { SyncOutcome } from '../record/sync-outcome.ts'
import type { ObjectVerdicts } from '../record/verdict-changes.ts'
import type { OwnStatuses } from '../status/own-status.ts'
import { nextStatus } from '../status/status.ts'
import { SyncError } from '../sync-error.ts'
import { auditOf } from './audit.ts'
import { chooseScope } from './choose-scope.ts'
import { release } from './deletion.ts'
import type { ObjectEvents } from './object-events.ts'
import { type SyncContext, type SyncDeps, type SyncResult, sync, withTimeLimit } from './sync.ts'
import { nextPassMs, nextSyncMs } from './sync-schedule.ts'
import type { SyncTrace, Traces } from './traces.ts'
import type { Waker } from './waker.ts'

export interface ReconcileDeps extends SyncDeps {
  env: Environment
  kube: Pick<KubeClient, 'get' | 'patch' | 'patchStatus' | 'raw'>
  objectEvents: ObjectEvents
  ownStatuses: OwnStatuses
  histories: Slot<History>
  /** Drops everything that is kept for a deleted object. */
  forget: (key: string) => void
  /** Whether a person requested a fresh read since the last call. */
  takeForced: (key: string) => boolean
  takeWakes: Waker['takeWakes']
  wakeForStatus: Waker['wakeForStatus']
  /** Called after every sync. */
  onSynced?: (key: string, result: SyncResult | undefined, seconds: number) => void
  fairShare: FairShare
  traces: Traces
  random?: () => number
}

/** Of an object, by its last sync. */
export interface History {
  uid: string | undefined
  generation: number | undefined
  failures: number
  waitingSince: number | undefined
  /** When the next sync that reads the cloud is due, in monotonic milliseconds. 0 while a sync runs: one that throws reads it. */
  dueAt: number
  /** For syncs that only read the status of nodes. */
  inspection: Inspection | undefined
}

/** What came of one sync. */
interface Ended {
  started: Date
  result: SyncResult | undefined
  failure: SyncError | undefined
}

/** The end of another sync wakes a key that waits for a worker. This is the fallback. */
const workerPollMs = 30_000

const defaultIntervals: Intervals = {
  pollFastMs: 20_000,
  pollSlowMs: 120_000,
  pollErrorMs: 30_000,
  pollFastWindowMs: 180_000,
  downPortFastRetryMax: 5,
}

export function configReconciler(deps: ReconcileDeps): Reconcile {
  return async (key, { log, signal }) => {
    const at = parseKey(key)
    const found = await deps.kube.get(openstackConfigs, at)
    if (!found) {
      deps.forget(key)
      return
    }
    const known = deps.histories.get(key)
    // Created again under its name: what is remembered is about another object.
    if (known && known.uid !== found.metadata.uid) deps.forget(key)
    const worker = deps.fairShare.acquire({ namespace: at.namespace ?? '', cloud: cloudOf(found) }, key)
    if (!worker) return { after: workerPollMs }
    try {
      if (found.metadata.deletionTimestamp) return await release(found, deps, { log, signal })
      return await syncOne(deps, found, key, worker, { log, signal })
    } finally {
      worker.free()
    }
  }
}

async function syncOne(
  deps: ReconcileDeps,
  found: OpenstackConfig,
  key: string,
  worker: Acquired,
  { log: parentLog, signal }: Pick<ReconcileContext, 'log' | 'signal'>,
) {
  const stored = await served(deps, found, key)
  const config = deps.ownStatuses.of(stored)
  const { woken, ...occasion } = takeOccasion(deps, key, config)
  const { hints, last } = occasion
  const trace = deps.traces.begin(hints.notification)
  const requestId = hints.notification?.requestId
  const log = parentLog.with({ traceId: trace.traceId, ...(requestId && { requestId }) })
  const scope = chooseScope(occasion)
  const leftMs = last?.leftMs ?? 0
  if (!scope) return { after: leftMs }

  const ended = await attempt(deps, config, { log, signal, hints, scope }, trace)
  const { result, failure, started } = ended
  const history = remember(deps, key, config, ended, hints.notified)
  const intervals = result?.settings ?? intervalsOf(config, deps)
  const next = nextMs(deps, key, config, ended, { history, leftMs, intervals })
  if (failure) log.warn('sync failed', { reason: failure.reason, error: failure.message, retryAfterMs: next })
  await giveWay()
  deps.objectEvents.record(config, result, failure)
  // Before the status, by which the next sync knows what is new.
  await noteAudit(deps, config, ended, log)
  await trace.timed('status', () => writeStatus(deps, { stored, config }, outcomeOf(config, ended, next), intervals))
  // The next object of this cloud is delivered while the inventory stores this one.
  worker.freeCloud()
  await trace.timed('record', () => deps.records.flush(log, result && verdictsOf(config, result)))
  await giveWay()
  trace.end(key, result)
  deps.onSynced?.(key, result, (deps.now().getTime() - started.getTime()) / 1_000)
  history.dueAt = performance.now() + next
  // A sync of some ports does not see the status for which the object was woken too.
  if (woken.forStatus && result?.inspection.reads === 'ports') deps.wakeForStatus(key)
  return { after: nextPassMs(next, isPending(result)) }
}

/** An object that was never served can be deleted at once. One that is no longer served keeps no connection. */
async function served(deps: ReconcileDeps, found: OpenstackConfig, key: string): Promise<OpenstackConfig> {
  if (deps.policy.admits(found)) return withFinalizer(found, deps.kube)
  for (const events of [deps.cloudEvents, deps.nodeWatch, deps.statusWatch]) events.forget(key)
  return found
}

/** Takes what woke the object: the next sync does not get it again. */
function takeOccasion(deps: ReconcileDeps, key: string, { metadata }: OpenstackConfig) {
  const isForced = deps.takeForced(key)
  const woken = deps.takeWakes(key)
  const hints = deps.cloudEvents.take(key)
  // An edit or a forced sync is not a repetition of an old failure.
  if (isForced || deps.histories.get(key)?.generation !== metadata.generation) deps.histories.delete(key)
  const before = deps.histories.get(key)
  return {
    ...{ isForced, isWoken: woken.forSync, woken, hints },
    last: before && { ...before, leftMs: before.dueAt - performance.now() },
    snapshot: deps.snapshots.get(key),
  }
}

function nextMs(
  deps: ReconcileDeps,
  key: string,
  config: OpenstackConfig,
  { result, failure, started }: Ended,
  { history, leftMs, intervals }: { history: History; leftMs: number; intervals: Intervals },
): number {
  const scheduled = nextSyncMs(intervals, {
    now: deps.now().getTime(),
    lastChangeAt: result?.changed ? started.getTime() : timeOf(config.status?.lastChangeAt),
    failures: history.failures,
    retryAfterMs: failure?.retryAfterMs,
    unresolved: isUnresolved(result),
    waitingSince: history.waitingSince,
    eventsUnavailable: isUnavailable(deps.cloudEvents.stateOf(key)),
    renumberDue: isRenumberDue(config, result),
    repeatReadMs: result?.repeatReadMs,
    downDueMs: result?.down.dueMs,
    random: (deps.random ?? Math.random)(),
  })
  const completeMs = deps.snapshots.msUntilCompleteRead(key) ?? scheduled
  return Math.min(scheduled, completeMs, result?.inspection.reads === 'cluster' ? leftMs : scheduled)
}

async function noteAudit(
  deps: ReconcileDeps,
  config: OpenstackConfig,
  { result, failure }: Ended,
  log: Log,
): Promise<void> {
  const at = parseKey(keyOf(config))
  const managers = () => readFieldManagers(deps.kube, openstackConfigs, at).catch(() => [])
  const options = { at: deps.now().toISOString(), failure: failure?.reason, managers }
  for (const entry of await auditOf(config, result, options)) {
    log.info('audit', entry)
    deps.records.noteAudit(entry)
  }
}

async function writeStatus(
  deps: ReconcileDeps,
  { stored, config }: Record<'stored' | 'config', OpenstackConfig>,
  outcome: SyncOutcome,
  { pollSlowMs }: Intervals,
): Promise<void> {
  const next = nextStatus(config.status, outcome, deps.now(), pollSlowMs)
  const status = next ?? config.status ?? {}
  deps.ownStatuses.writing(stored, status)
  if (!next && equalJson(config, stored)) return
  try {
    await deps.kube.patchStatus(openstackConfigs, parseKey(keyOf(config)), mergePatch(stored.status ?? {}, status))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

async function attempt(
  deps: ReconcileDeps,
  config: OpenstackConfig,
  context: SyncContext,
  trace: SyncTrace,
): Promise<Ended> {
  const key = keyOf(config)
  const started = deps.now()
  const before = deps.histories.get(key)
  if (before) before.dueAt = 0
  const { result, error } = await tried(deps, config, context, trace)
  context.signal.throwIfAborted()
  if (error) deps.snapshots.set(key, undefined)
  return { started, result, failure: error ?? result?.error }
}

async function tried(
  deps: ReconcileDeps,
  config: OpenstackConfig,
  context: SyncContext,
  { timed, traceparent }: SyncTrace,
): Promise<{ result?: SyncResult; error?: SyncError }> {
  const { log, signal } = context
  const limited = withTimeLimit(signal, deps.maxSyncMs)
  try {
    return { result: await sync(config, { ...deps, timed }, { ...context, signal: limited, traceparent }) }
  } catch (error) {
    signal.throwIfAborted()
    if (limited.aborted) return { error: new SyncError('SyncTimeout', messageOf(error), { cause: error }) }
    if (error instanceof SyncError) return { error }
    log.error('sync failed unexpectedly', { error })
    return { error: new SyncError('UnexpectedError', messageOf(error), { cause: error }) }
  }
}

/** `notified`: a notification started the sync, so waiting ports are read again soon. */
function remember(
  deps: ReconcileDeps,
  key: string,
  { metadata }: OpenstackConfig,
  { failure, result }: Ended,
  notified: boolean,
): History {
  const before = deps.histories.get(key)
  const waiting = result ? result.waiting || result.plan.down.length > 0 : before?.waitingSince !== undefined
  const now = {
    uid: metadata.uid,
    generation: metadata.generation,
    failures: failure ? (before?.failures ?? 0) + 1 : 0,
    waitingSince: waiting ? ((notified ? undefined : before?.waitingSince) ?? deps.now().getTime()) : undefined,
    dueAt: 0,
    inspection: result?.inspection,
  }
  deps.histories.set(key, now)
  return now
}

function outcomeOf({ metadata }: OpenstackConfig, { result, failure }: Ended, nextSyncMs: number): SyncOutcome {
  return {
    generation: metadata.generation ?? 0,
    error: failure,
    cloudError: failure?.cloudError,
    changed: result?.changed ?? 0,
    findings: result?.findings,
    downPortRetry: result?.down.retry,
    nextSyncMs,
  }
}

function verdictsOf(config: OpenstackConfig, { findings, plan }: SyncResult): ObjectVerdicts {
  const providerBefore = config.status?.deliveredTo?.providerId
  return {
    config: keyOf(config),
    providerId: findings.target.providerId,
    verdicts: findings.verdicts,
    plan: storedPlanOf(plan),
    ...(providerBefore !== undefined && { providerBefore }),
  }
}

function isUnresolved(result: SyncResult | undefined): boolean {
  return result !== undefined && (result.unresolved || result.findings.refusedRemovals.length > 0)
}

/** Nodes are being configured or removed. */
function isPending(result: SyncResult | undefined): boolean {
  if (!result) return false
  const { nodes, nodesReported } = result.findings
  return nodesReported && nodes.some(({ state }) => state !== 'Configured')
}

/** The status names a move that this sync has not delivered yet. */
function isRenumberDue({ status }: OpenstackConfig, result: SyncResult | undefined): boolean {
  const current = result?.findings.renumber?.current
  return current !== undefined && !equalJson(current, status?.renumber?.current)
}

/** A sync that failed early is repeated on the object's own intervals if they are valid. */
function intervalsOf({ spec }: OpenstackConfig, { env }: ReconcileDeps): Intervals {
  try {
    return resolveSettings(env, spec)
  } catch {
    return defaultIntervals
  }
}

function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}

/** Added before the first delivery, so that a deletion cannot orphan interfaces. */
async function withFinalizer(config: OpenstackConfig, kube: Pick<Kube, 'patch'>): Promise<OpenstackConfig> {
  const { finalizers = [], resourceVersion, name, namespace } = config.metadata
  if (finalizers.includes(openstackConfigFinalizer)) return config
  const metadata = {
    finalizers: [...finalizers, openstackConfigFinalizer],
    ...(resourceVersion && { resourceVersion }),
  }
  try {
    return await kube.patch(openstackConfigs, { name, ...(namespace && { namespace }) }, { metadata })
  } catch (error) {
    if (isConflict(error)) throw new Error('the object changed during the sync; retrying', { cause: error })
    throw error
  }
}
