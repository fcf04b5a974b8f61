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
import type { Log } from '../../telemetry/log.ts'
import { resolveSettings } from '../config.ts'
import type { Intervals } from '../deliver/down-ports.ts'
import { isUnavailable } from '../events/cloud-events.ts'
import type { Acquired, FairShare } from '../limits/fair-share.ts'
import type { InspectContext, Inspection } from '../observe/inspect.ts'
import { storedPlanOf } from '../plan/stored-plan.ts'
import type { SyncOutcome } from '../record/sync-outcome.ts'
import type { ObjectVerdicts } from '../record/verdict-changes.ts'
import type { OwnStatuses } from '../status/own-status.ts'
import { nextStatus } from '../status/status.ts'
import { SyncError } from '../sync-error.ts'
import { auditOf } from './audit.ts'
import { release } from './deletion.ts'
import type { ObjectEvents } from './object-events.ts'
import { type SyncDeps, type SyncResult, sync, withTimeLimit } from './sync.ts'
import { nextPassMs, nextSyncMs, violaPollMs } from './sync-schedule.ts'
import type { SyncTrace, Traces } from './traces.ts'
import type { Waker } from './waker.ts'

export interface ReconcileDeps extends SyncDeps {
  env: Environment
  kube: Pick<KubeClient, 'get' | 'patch' | 'patchStatus' | 'raw'>
  objectEvents: ObjectEvents
  ownStatuses: OwnStatuses
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

/** A completed sync, and whether a notification started it: then waiting ports are read again soon. */
interface Completed {
  generation: number | undefined
  failure: SyncError | undefined
  result: SyncResult | undefined
  notified: boolean
}

interface History {
  generation: number | undefined
  failures: number
  waitingSince: number | undefined
  /** When the next full sync is due, in monotonic milliseconds. 0 while a sync runs: one that throws is repeated in full. */
  dueAt: number
  /** Of the last sync, for passes that only read the status of nodes. */
  inspection: Inspection | undefined
}

/** The end of another sync wakes a key that waits for a worker. This is the fallback. */
const workerPollMs = 30_000
/** A timer may end this much too early. */
const timerErrorMs = 2

const defaultIntervals: Intervals = {
  pollFastMs: 20_000,
  pollSlowMs: 120_000,
  pollErrorMs: 30_000,
  pollFastWindowMs: 180_000,
  downPortFastRetryMax: 5,
}

export function configReconciler(deps: ReconcileDeps): Reconcile {
  const histories = new Map<string, History>()

  return async (key, { log, signal }) => {
    const at = parseKey(key)
    const found = await deps.kube.get(openstackConfigs, at)
    if (!found) {
      histories.delete(key)
      deps.objectEvents.forget(key)
      deps.forget(key)
      return
    }
    const worker = deps.fairShare.acquire({ namespace: at.namespace ?? '', cloud: cloudOf(found) }, key)
    if (!worker) return { after: workerPollMs }
    try {
      if (found.metadata.deletionTimestamp) return await release(found, deps, { log, signal })
      return await syncOne(found, key, worker, { log, signal })
    } finally {
      worker.free()
    }
  }

  async function syncOne(
    found: OpenstackConfig,
    key: string,
    worker: Acquired,
    { log: parentLog, signal }: Pick<ReconcileContext, 'log' | 'signal'>,
  ) {
    const at = parseKey(key)
    const isAdmitted = deps.policy.admits(found)
    // An object that was never served can be deleted at once. One that is no longer served keeps no connection.
    const stored = isAdmitted ? await withFinalizer(found, deps.kube) : found
    const config = deps.ownStatuses.of(stored)
    if (!isAdmitted) {
      deps.cloudEvents.forget(key)
      deps.nodeWatch.forget(key)
      deps.statusWatch.forget(key)
    }
    const { generation } = config.metadata
    const fresh = deps.takeForced(key)
    const woken = deps.takeWakes(key)
    const hints = deps.cloudEvents.take(key)
    const trace = deps.traces.begin(hints.notification)
    const requestId = hints.notification?.requestId
    const log = parentLog.with({ traceId: trace.traceId, ...(requestId && { requestId }) })
    // An edit or a forced sync is not a repetition of an old failure.
    if (fresh || histories.get(key)?.generation !== generation) histories.delete(key)
    const before = histories.get(key)
    const leftMs = before ? before.dueAt - performance.now() : 0
    const isFull = woken.forSync || hints.notified || hints.busRefused || leftMs < timerErrorMs
    // The status of nodes does not shorten the time after a failure.
    if (before && !isFull && before.failures > 0) return { after: leftMs }
    if (before) before.dueAt = 0

    const started = deps.now()
    const snapshot = fresh || (before?.failures ?? 1) > 0 ? undefined : deps.snapshots.get(key)
    const reuse = isFull ? undefined : before?.inspection
    const listAge = fresh ? {} : { maxAgeMs: before ? violaPollMs : 0, maxStreamedMs: violaPollMs }
    const context = { log, signal, fresh, hints, snapshot, reuse, listAge }
    const { result, error } = await attempt(config, context, trace)
    signal.throwIfAborted()
    if (error) deps.snapshots.set(key, undefined)
    const failure = error ?? result?.error
    const history = remember(key, { generation, failure, result, notified: hints.notified })
    const intervals = result?.settings ?? intervalsOf(config, deps)
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
    const next = Math.min(scheduled, completeMs, result?.isStatusPass ? leftMs : scheduled)
    if (failure) log.warn('sync failed', { reason: failure.reason, error: failure.message, retryAfterMs: next })
    await giveWay()
    deps.objectEvents.record(config, result, failure)

    const outcome: SyncOutcome = {
      generation: generation ?? 0,
      error: failure,
      cloudError: failure?.cloudError,
      changed: result?.changed ?? 0,
      findings: result?.findings,
      downPortRetry: result?.down.retry,
      nextSyncMs: next,
    }
    await noteAudit()
    await trace.timed('status', () => writeStatus(outcome))
    // The next object of this cloud is delivered while the inventory stores this one.
    worker.freeCloud()
    await trace.timed('record', () => deps.records.flush(log, result && verdictsOf(config, result)))
    await giveWay()
    trace.end(key, result)
    deps.onSynced?.(key, result, (deps.now().getTime() - started.getTime()) / 1_000)
    history.dueAt = performance.now() + next
    // A targeted read does not see the status for which the object was woken too.
    if (woken.forStatus && result?.inspection.isTargeted && !result.isStatusPass) deps.wakeForStatus(key)
    return { after: nextPassMs(next, isPending(result)) }

    /** Before the status, by which the next sync knows what is new. */
    async function noteAudit(): Promise<void> {
      const managers = () => readFieldManagers(deps.kube, openstackConfigs, at).catch(() => [])
      const entries = await auditOf(config, result, {
        at: deps.now().toISOString(),
        failure: failure?.reason,
        managers,
      })
      for (const entry of entries) {
        log.info('audit', entry)
        deps.records.noteAudit(entry)
      }
    }

    async function writeStatus(outcome: SyncOutcome): Promise<void> {
      const next = nextStatus(config.status, outcome, deps.now(), intervals.pollSlowMs)
      const status = next ?? config.status ?? {}
      deps.ownStatuses.writing(stored, status)
      if (!next && config === stored) return
      try {
        await deps.kube.patchStatus(openstackConfigs, at, mergePatch(stored.status ?? {}, status))
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
  }

  async function attempt(config: OpenstackConfig, context: InspectContext & { log: Log }, trace: SyncTrace) {
    const { log, signal } = context
    const limited = withTimeLimit(signal, deps.maxSyncMs)
    try {
      const { timed, traceparent } = trace
      return { result: await sync(config, { ...deps, timed }, { ...context, signal: limited, traceparent }) }
    } catch (error) {
      signal.throwIfAborted()
      if (limited.aborted) return { error: new SyncError('SyncTimeout', messageOf(error), { cause: error }) }
      if (error instanceof SyncError) return { error }
      log.error('sync failed unexpectedly', { error })
      return { error: new SyncError('UnexpectedError', messageOf(error), { cause: error }) }
    }
  }

  function remember(key: string, { generation, failure, result, notified }: Completed): History {
    const before = histories.get(key)
    const waiting = result ? result.waiting || result.plan.down.length > 0 : before?.waitingSince !== undefined
    const now = {
      generation,
      failures: failure ? (before?.failures ?? 0) + 1 : 0,
      waitingSince: waiting ? ((notified ? undefined : before?.waitingSince) ?? deps.now().getTime()) : undefined,
      dueAt: 0,
      inspection: result?.inspection,
    }
    histories.set(key, now)
    return now
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

/** Objects that name the same cloud. Whether they use the same account does not matter here. */
function cloudOf({ spec, metadata }: OpenstackConfig): string {
  if (spec.cloudSecretRef) return JSON.stringify([metadata.namespace, spec.cloudSecretRef])
  return JSON.stringify([spec.settings?.contrabassEndpoint, spec.credentials?.openstackProviderID])
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
