/**
 * The controller: settings → caches → (leader) → reconciles → stop. Nothing else.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeConfigFinalizer } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'
import { connectKube } from '../kube/client.ts'
import { type ClusterAccess, inClusterAccess, loadKubeconfig } from '../kube/config.ts'
import { type Controller, runController } from '../kube/controller.ts'
import { createEventRecorder } from '../kube/events.ts'
import { runLeaderElection } from '../kube/leader.ts'
import type { Environment } from '../runtime/env.ts'
import { listen } from '../server/server.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openTracer } from '../telemetry/trace-export.ts'
import { type Caches, configIndex, createCaches } from './caches.ts'
import { type ControllerConfig, controllerConfig } from './config.ts'
import { followCluster } from './event-sources.ts'
import { healthApp } from './health.ts'
import { createMemory } from './latest-state.ts'
import { entryEvents, entryHands } from './legacy/entry-writer.ts'
import { runBizConfigs } from './legacy/run.ts'
import { type BizSource, followBizConfigs } from './legacy/source.ts'
import { createTally } from './metrics.ts'
import { isEnding } from './observe.ts'
import { createTroubles } from './pod-start-errors.ts'
import { nodeConfigReconciler } from './reconcile.ts'
import { createRollout, type Rollout } from './rollout.ts'
import { createTraces } from './traces.ts'

export interface NodeControllerOptions {
  env: Environment
  log: Log
  signal: AbortSignal
  /** Told once, with the address of the health server. */
  onListening?: (address: string) => void
}

/** Runs until the signal. Rejects when the settings cannot be used or the cluster cannot be reached at all. */
export async function runNodeController(options: NodeControllerOptions): Promise<void> {
  const { env, log, onListening } = options
  const end = new AbortController()
  const { signal } = end
  const config = controllerConfig(env)
  const now = () => new Date()
  const kube = connectKube(await accessFor(config), { log })
  const own = createCaches(kube, config.namespace, log)
  const biz = bizSourceFor(config, kube, own, log)
  const caches = biz ? { ...own, configs: biz.configs } : own
  const memory = createMemory(caches)
  const troubles = createTroubles(kube, config.namespace, log)
  const metrics = createMetrics('controller', { process: true })
  const tally = createTally(metrics, now)
  const tracer = openTracer(config.tracing, {
    component: 'controller',
    log,
    count: (outcome, spans) => metrics.count('multinic_trace_spans_total', spans, { outcome }),
  })
  const traces = createTraces(tracer, now)
  const events = createEventRecorder({ kube, component: 'multinic-controller', log })
  const policy = {
    drift: config.drift,
    cleanupTimeoutMs: config.cleanupTimeoutMs,
    jobTtlMs: config.agent.jobTtlSeconds * 1_000,
  }
  const stop = async () => {
    if (leading) await released(caches, biz)
    end.abort()
  }
  if (options.signal.aborted) end.abort()
  else options.signal.addEventListener('abort', () => void stop(), { once: true })
  let leading: { controller: Controller; rollout: Rollout } | undefined

  const health = healthApp({
    caches,
    metrics,
    log,
    now,
    signal,
    queue() {
      if (!leading) return undefined
      const { controller, rollout } = leading
      const [depth, active] = [controller.depth(), controller.active()]
      return { depth, active, waiting: rollout.waiting(), stopped: rollout.stopped() }
    },
  })

  async function lead(reign: AbortSignal): Promise<void> {
    biz?.begin()
    const rollout = createRollout(caches, memory, { ...config.rollout, maxChecks: config.drift.maxChecks })
    const reconcile = nodeConfigReconciler({
      ...{ memory, rollout, troubles, tally, traces, now, agent: config.agent },
      kube: biz ? entryHands(kube, biz) : kube,
      events: biz ? entryEvents(events, biz) : events,
      view: { caches, memory, rollout, troubles, policy },
      marksNodes: config.marksNodes,
      wake: key => leading?.controller.wake(key),
    })
    const controller = runController({
      name: 'nodeconfigs',
      workers: config.workers,
      reconcile,
      log,
      signal: reign,
      drainMs: 700,
    })
    leading = { controller, rollout }
    const stopFollowing = followCluster(caches, controller.wake)
    const documents = biz && runBizConfigs({ kube, source: biz, mode: config.bizMode, now, log, signal: reign })
    await Promise.all([controller.stopped, documents?.stopped])
    stopFollowing()
    leading = undefined
  }

  try {
    const address = await listen(health, config.healthAddr)
    onListening?.(address)
    await Promise.all(Object.values(caches).map(cache => cache.start(signal)))
    log.info('following the cluster', { namespace: config.namespace, configs: caches.configs.list().length })
    if (!config.leaderElect) await lead(signal)
    else
      await runLeaderElection({
        ...{ kube, namespace: config.namespace, name: 'multinic-controller', log, signal, onLeading: lead },
        identity: `${config.identity ?? hostname()}_${randomUUID()}`,
      })
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    end.abort()
    await Promise.race([events.flush(), new Promise(resolve => setTimeout(resolve, 200).unref())])
    await health.close()
    await tracer.close()
    await kube.close()
  }
}

function bizSourceFor(
  { bizMode: mode, namespace }: ControllerConfig,
  kube: Pick<Kube, 'list' | 'watch'>,
  { configs: real, nodes }: Caches,
  log: Log,
): BizSource | undefined {
  if (mode === 'node-only') return undefined
  const machineOf = (name: string) => nodes.get(name)?.status?.nodeInfo?.systemUUID
  return followBizConfigs({ kube, namespace, mode, real, index: configIndex, machineOf, log })
}

/** Who deletes the whole namespace ends us with it. What we hold of it is let go first, or it would never end. */
async function released({ configs, namespaces }: Caches, biz: BizSource | undefined): Promise<void> {
  const held = () =>
    [...configs.list(), ...(biz?.list() ?? [])].some(({ metadata }) =>
      metadata.finalizers?.includes(nodeConfigFinalizer),
    )
  const until = performance.now() + releaseWithinMs
  while (isEnding({ namespaces }) && held() && performance.now() < until) await sleep(50)
}

/** Less than the grace that Kubernetes gives a Pod. */
const releaseWithinMs = 20_000

async function accessFor({ kubeconfig, serviceHost }: ControllerConfig): Promise<ClusterAccess> {
  return kubeconfig ? loadKubeconfig(kubeconfig) : inClusterAccess(serviceHost)
}
