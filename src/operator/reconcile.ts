/**
 * Keeps one OpenstackConfig true: sync it, write its status, say when to look again; on deletion, take away or leave what
 * it delivered.
 *
 * Level-based: the key says only which object to look at.
 */
import { mergePatch } from '../contract/json.ts'
import { type OpenstackConfig, openstackConfigFinalizer, openstackConfigs } from '../contract/openstack-config.ts'
import type { Kube } from '../kube/api.ts'
import type { Reconcile, ReconcileContext } from '../kube/controller.ts'
import { isConflict, isNotFound } from '../kube/errors.ts'
import { parseKey } from '../kube/keys.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { resolveSettings } from './config.ts'
import { release } from './deletion.ts'
import { isAway } from './events/cloud-events.ts'
import type { Turns } from './fair-share.ts'
import type { LookContext } from './inspect.ts'
import type { Notices } from './object-events.ts'
import { nextStatus, type Outcome } from './status.ts'
import { type SyncDeps, type SyncResult, sync } from './sync.ts'
import { SyncError } from './sync-error.ts'
import { type Intervals, nextSyncMs } from './sync-schedule.ts'
import type { SyncTrace, Traces } from './traces.ts'

export interface ReconcileDeps extends SyncDeps {
  kube: Pick<Kube, 'get' | 'patch' | 'patchStatus'>
  notices: Notices
  /** The object of this key is gone. */
  forget: (key: string) => void
  /** A person asked for a fresh look at this key. */
  takeForced: (key: string) => boolean
  /** Told of every sync, for numbers and for people who ask why. */
  onSynced?: (key: string, result: SyncResult | undefined, seconds: number) => void
  /** How many syncs one cloud may keep busy. */
  turns: Turns
  traces: Traces
  random?: () => number
}

/** A sync, and whether a notice started it: what waits then is looked at again soon. */
interface Ended {
  generation: number | undefined
  failure: SyncError | undefined
  result: SyncResult | undefined
  noticed: boolean
}

interface Remembered {
  generation: number | undefined
  failures: number
  waitingSince: number | undefined
}

/** Each call has its own limit; this one is for a cloud that answers every call slowly. */
const longestSyncMs = 5 * 60_000

/** A key that waits for its turn is woken by the one that ends; this is only for the case that nobody does. */
const turnMs = 30_000

const fallback: Intervals = {
  pollFastMs: 20_000,
  pollSlowMs: 120_000,
  pollErrorMs: 30_000,
  pollFastWindowMs: 180_000,
  downPortFastRetryMax: 5,
}

export function configReconciler(deps: ReconcileDeps): Reconcile {
  const memory = new Map<string, Remembered>()

  return async (key, { log, signal }) => {
    const at = parseKey(key)
    const found = await deps.kube.get(openstackConfigs, at)
    if (!found) {
      memory.delete(key)
      deps.notices.forget(key)
      deps.forget(key)
      return
    }
    const end = deps.turns.take(cloudOf(found), key)
    if (!end) return { after: turnMs }
    try {
      if (found.metadata.deletionTimestamp) return await release(found, deps, { log, signal })
      return await syncOne(found, key, { log, signal })
    } finally {
      end()
    }
  }

  async function syncOne(
    found: OpenstackConfig,
    key: string,
    { log: plain, signal }: Pick<ReconcileContext, 'log' | 'signal'>,
  ) {
    const at = parseKey(key)
    const config = await withFinalizer(found, deps.kube)
    const { generation } = config.metadata
    const fresh = deps.takeForced(key)
    const hints = deps.cloudEvents.take(key)
    const trace = deps.traces.begin(hints.notice)
    const requestId = hints.notice?.requestId
    const log = plain.with({ traceId: trace.traceId, ...(requestId && { requestId }) })
    // What a person changed or asked for is no repetition of an old failure.
    if (fresh || memory.get(key)?.generation !== generation) memory.delete(key)

    const started = deps.now()
    const { result, error } = await attempt(config, { log, signal, fresh, hints }, trace)
    signal.throwIfAborted()
    const failure = error ?? result?.error
    const remembered = remember(key, { generation, failure, result, noticed: hints.noticed })
    const intervals = result?.settings ?? intervalsOf(config, deps)
    const next = nextSyncMs(intervals, {
      now: deps.now().getTime(),
      lastChangeAt: result?.changed ? started.getTime() : timeOf(config.status?.lastChangeAt),
      failures: remembered.failures,
      retryAfterMs: failure?.retryAfterMs,
      nodesPending: isPending(result),
      waitingSince: remembered.waitingSince,
      eventsAway: isAway(deps.cloudEvents.stateOf(key)),
      downDueMs: result?.down.dueMs,
      random: (deps.random ?? Math.random)(),
    })
    if (failure) log.warn('the sync failed', { reason: failure.reason, error: failure.message, afterMs: next })
    deps.notices.tell(config, result, failure)

    const outcome: Outcome = {
      generation: generation ?? 0,
      error: failure && { reason: failure.reason, message: failure.message },
      changed: result?.changed ?? 0,
      findings: result?.findings,
      downPortRetry: result?.down.retry,
      nextSyncMs: next,
    }
    await trace.timed('status', () => writeStatus(config, outcome))
    await trace.timed('record', () => deps.records.flush(log))
    trace.end(key, result)
    deps.onSynced?.(key, result, (deps.now().getTime() - started.getTime()) / 1_000)
    return { after: next }

    async function writeStatus(object: OpenstackConfig, outcome: Outcome): Promise<void> {
      const status = nextStatus(object.status, outcome, deps.now(), intervals.pollSlowMs)
      if (!status) return
      try {
        await deps.kube.patchStatus(openstackConfigs, at, mergePatch(object.status ?? {}, status))
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
  }

  async function attempt(config: OpenstackConfig, context: LookContext & { log: Log }, trace: SyncTrace) {
    const { log, signal } = context
    const limited = AbortSignal.any([signal, AbortSignal.timeout(longestSyncMs)])
    try {
      const { timed, traceparent } = trace
      return { result: await sync(config, { ...deps, timed }, { ...context, signal: limited, traceparent }) }
    } catch (error) {
      if (error instanceof SyncError) return { error }
      signal.throwIfAborted()
      log.error('the sync broke', { error })
      return { error: new SyncError('ConfigError', messageOf(error), { cause: error }) }
    }
  }

  function remember(key: string, { generation, failure, result, noticed }: Ended): Remembered {
    const before = memory.get(key)
    const waiting = result ? result.waiting || result.plan.down.length > 0 : before?.waitingSince !== undefined
    const now = {
      generation,
      failures: failure ? (before?.failures ?? 0) + 1 : 0,
      waitingSince: waiting ? ((noticed ? undefined : before?.waitingSince) ?? deps.now().getTime()) : undefined,
    }
    memory.set(key, now)
    return now
  }
}

function isPending(result: SyncResult | undefined): boolean {
  if (!result) return false
  const { nodes, nodesTold, refusedRemovals } = result.findings
  return (
    result.unsettled || refusedRemovals.length > 0 || (nodesTold && nodes.some(({ state }) => state !== 'Configured'))
  )
}

/** A sync that failed early is tried again on the object's own intervals, as far as they can be read. */
function intervalsOf({ spec }: OpenstackConfig, { env }: ReconcileDeps): Intervals {
  try {
    return resolveSettings(env, spec.settings)
  } catch {
    return fallback
  }
}

/** Objects with the same word for their cloud: whether they share an account does not matter here. */
function cloudOf({ spec }: OpenstackConfig): string {
  return JSON.stringify([spec.settings?.contrabassEndpoint, spec.credentials.openstackProviderID])
}

function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}

/** What is delivered must not be orphaned by a deletion, so the finalizer is there before the first delivery. */
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
    if (isConflict(error)) throw new Error('the object moved on; it is looked at again', { cause: error })
    throw error
  }
}
