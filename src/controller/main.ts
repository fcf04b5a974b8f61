/**
 * Runs the controller: settings → caches → leader election → reconciles → stop.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeConfigFinalizer } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'
import { connectKube } from '../kube/client.ts'
import { type ClusterAccess, inClusterAccess, loadKubeconfig } from '../kube/config.ts'
import { type Controller, runController } from '../kube/controller.ts'
import { createEventRecorder, type EventRecorder } from '../kube/events.ts'
import { runLeaderElection } from '../kube/leader.ts'
import { createRefusedWrites } from '../kube/refused-writes.ts'
import type { Environment } from '../runtime/env.ts'
import { listen } from '../server/server.ts'
import { measureCalls } from '../telemetry/client-metrics.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openTracer } from '../telemetry/trace-export.ts'
import { type Caches, configIndex, createCaches } from './caches.ts'
import { type ControllerConfig, controllerConfig } from './config.ts'
import { apiConfigWriter } from './config-writer.ts'
import { createDefinitions } from './definitions.ts'
import { createDeletions } from './deletions.ts'
import { wakeOnEvents } from './event-sources.ts'
import { healthApp } from './health.ts'
import { createJobRates } from './job-rates.ts'
import { createLatestState } from './latest-state.ts'
import { entryEvents, entryWriter } from './legacy/entry-writer.ts'
import { runBizConfigs } from './legacy/run.ts'
import { type BizConfigSource, createBizConfigSource } from './legacy/source.ts'
import { createControllerMetrics } from './metrics.ts'
import { type Attachments, runAttachments } from './networks/keep-attachments.ts'
import { runNodeLabels } from './networks/label-nodes.ts'
import { isNamespaceDeleting } from './observe.ts'
import { createOwnStatuses } from './own-status.ts'
import { createPodStartErrors } from './pod-start-errors.ts'
import { nodeConfigReconciler } from './reconcile.ts'
import { createRollout, type Rollout } from './rollout.ts'
import { followServiceNetworks } from './service-networks.ts'
import { createTraces } from './traces.ts'

export interface NodeControllerOptions {
  env: Environment
  log: Log
  signal: AbortSignal
  /** Called once, with the address of the health server. */
  onListening?: (address: string) => void
  /** Configs that are reconciled at the same time, for tests. */
  workers?: number
  /** Minimum time between the starts of two drift checks in the cluster, for tests. */
  checkGapMs?: number
  /** How many drift checks run at once, for tests. */
  maxChecks?: number
}

/** Runs until the signal. Rejects when the settings are invalid or the API server is unreachable at the start. */
export async function runNodeController(options: NodeControllerOptions): Promise<void> {
  const { env, log, onListening, workers = 16, checkGapMs = 5_000, maxChecks = 10 } = options
  const end = new AbortController()
  const { signal } = end
  const config = controllerConfig(env)
  const now = () => new Date()
  const metrics = createMetrics('controller', { process: true })
  const kube = connectKube(await accessFor(config), { log, startCall: measureCalls(metrics) })
  const apiCaches = createCaches(kube, config.namespace, log)
  const bizConfigs = bizConfigSourceFor(config, kube, apiCaches, log)
  const caches = bizConfigs ? { ...apiCaches, configs: bizConfigs.configs } : apiCaches
  const latest = createLatestState(caches)
  const deletions = createDeletions(caches)
  const definitions = createDefinitions(kube)
  const podStartErrors = createPodStartErrors(kube, config.namespace, log)
  const tracer = openTracer(config.tracing, {
    component: 'controller',
    log,
    count: (outcome, spans) => metrics.count('multinic_trace_spans_total', spans, { outcome }),
  })
  const events = createEventRecorder({ kube, component: 'multinic-controller', log })
  const policy = {
    drift: config.drift.policy,
    cleanupTimeoutMs: config.cleanupTimeoutMs,
    jobTtlMs: config.agent.jobTtlSeconds * 1_000,
  }
  const stop = async () => {
    if (leading) await finalizersRemoved(caches, bizConfigs)
    end.abort()
  }
  if (options.signal.aborted) end.abort()
  else options.signal.addEventListener('abort', () => void stop(), { once: true })
  let attachments: Attachments | undefined
  let leading: { controller: Controller; rollout: Rollout } | undefined

  const refused = createRefusedWrites()
  const health = healthApp({
    refused,
    caches,
    metrics,
    log,
    now,
    signal,
    warnings: () => attachments?.warnings() ?? [],
    queue() {
      if (!leading) return undefined
      const { controller, rollout } = leading
      const at = now().getTime()
      return { controller, waiting: rollout.waiting(), failed: rollout.failed(at), stopped: rollout.stopped(at) }
    },
  })

  async function lead(leaderSignal: AbortSignal): Promise<void> {
    bizConfigs?.reload()
    const rollout = createRollout(caches, latest, { ...config.rollout, maxChecks })
    const statuses = createOwnStatuses(caches)
    const rates = createJobRates(
      { ...config.drift, gapMs: checkGapMs },
      () => caches.configs.list().length,
      () => performance.now(),
    )
    const configs = apiConfigWriter(kube)
    const reconcile = nodeConfigReconciler({
      ...{ kube, latest, refused, rollout, podStartErrors, definitions, statuses, now, agent: config.agent },
      serviceNetworks: followServiceNetworks(kube),
      caches,
      configs: bizConfigs ? entryWriter(kube, bizConfigs, configs) : configs,
      events: bizConfigs ? entryEvents(events, bizConfigs) : events,
      sources: {
        caches,
        latest,
        rates,
        rollout,
        statuses,
        deletions,
        definitions,
        podStartErrors,
        agent: config.agent,
        policy,
      },
      metrics: createControllerMetrics(metrics, now),
      traces: createTraces(tracer, now),
      setsNodeCondition: config.setsNodeCondition,
      wake: key => leading?.controller.wake(key),
    })
    const controller = runController({
      name: 'nodeconfigs',
      workers,
      reconcile,
      log,
      signal: leaderSignal,
      drainMs: 700,
    })
    leading = { controller, rollout }
    const unsubscribe = wakeOnEvents(caches, controller.wake)
    const bizConfigController =
      bizConfigs &&
      runBizConfigs({ kube, source: bizConfigs, mode: config.bizConfigMode, now, log, signal: leaderSignal })
    const nodeLabels = config.labelsNodes ? runNodeLabels({ kube, caches, log, signal: leaderSignal }) : undefined
    attachments = config.attachments.namespaces.length
      ? runAttachments({
          ...{ kube, configs: caches.configs, settings: config.attachments, owner: config.namespace, log },
          signal: leaderSignal,
        })
      : undefined
    const running = [controller, bizConfigController, nodeLabels, attachments]
    await Promise.all(running.map(one => one?.stopped))
    unsubscribe()
    leading = undefined
    attachments = undefined
  }

  try {
    const address = await listen(health, config.healthAddr)
    log.info('listening', { url: address })
    onListening?.(address)
    reportIgnored(config, events, log)
    await Promise.all(Object.values(caches).map(cache => cache.start(signal)))
    log.info('caches synced', { namespace: config.namespace, configs: caches.configs.list().length })
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

function reportIgnored({ ignored, identity, namespace }: ControllerConfig, events: EventRecorder, log: Log): void {
  if (ignored.length === 0) return
  log.warn('settings without effect', { settings: ignored })
  const message = `${ignored.join(', ')} has no effect: remove it from the settings of the agent`
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: identity ?? hostname(), namespace } }
  events.event(pod, 'Normal', 'FieldIgnored', message)
}

function bizConfigSourceFor(
  { bizConfigMode: mode, namespace }: ControllerConfig,
  kube: Pick<Kube, 'list' | 'watch'>,
  { configs: nodeConfigs, nodes }: Caches,
  log: Log,
): BizConfigSource | undefined {
  if (mode === 'node-only') return undefined
  const machineOf = (name: string) => nodes.get(name)?.status?.nodeInfo?.systemUUID
  return createBizConfigSource({ kube, namespace, mode, nodeConfigs, index: configIndex, machineOf, log })
}

/**
 * Deleting the whole namespace stops the controller too. It removes its finalizers first: otherwise the namespace would
 * never go.
 */
async function finalizersRemoved(
  { configs, namespaces }: Caches,
  bizConfigs: BizConfigSource | undefined,
): Promise<void> {
  const isPending = () =>
    [...configs.list(), ...(bizConfigs?.list() ?? [])].some(({ metadata }) =>
      metadata.finalizers?.includes(nodeConfigFinalizer),
    )
  const until = performance.now() + finalizerTimeoutMs
  while (isNamespaceDeleting({ namespaces }) && isPending() && performance.now() < until) await sleep(50)
}

/** Shorter than the default grace period of a Pod. */
const finalizerTimeoutMs = 20_000

async function accessFor({ kubeconfig, serviceHost }: ControllerConfig): Promise<ClusterAccess> {
  return kubeconfig ? loadKubeconfig(kubeconfig) : inClusterAccess(serviceHost)
}
