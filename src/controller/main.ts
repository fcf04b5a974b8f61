/**
 * The controller: settings → caches → (leader) → reconciles → stop. Nothing else.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Environment } from '../env.ts'
import { listen } from '../http.ts'
import { connectKube } from '../kube/client.ts'
import { type ClusterAccess, inClusterAccess, loadKubeconfig } from '../kube/config.ts'
import { type Controller, runController } from '../kube/controller.ts'
import { createEventRecorder } from '../kube/events.ts'
import { runLeaderElection } from '../kube/leader.ts'
import type { Log } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createCaches } from './caches.ts'
import { type ControllerConfig, controllerConfig } from './config.ts'
import { healthApp } from './health.ts'
import { createMemory } from './memory.ts'
import { nodeConfigReconciler } from './reconcile.ts'
import { createRollout } from './rollout.ts'
import { createTally } from './tally.ts'
import { followCluster } from './wakes.ts'

export interface NodeControllerOptions {
  env: Environment
  log: Log
  signal: AbortSignal
  /** Told once, with the address of the health server. */
  onListening?: (address: string) => void
}

/** Runs until the signal. Rejects when the settings cannot be used or the cluster cannot be reached at all. */
export async function runNodeController({ env, log, signal, onListening }: NodeControllerOptions): Promise<void> {
  const config = controllerConfig(env)
  const now = () => new Date()
  const kube = connectKube(await accessFor(config), { log })
  const caches = createCaches(kube, config.namespace, log)
  const memory = createMemory(caches)
  const rollout = createRollout(caches, memory, config.rollout)
  const metrics = createMetrics({ process: true })
  const tally = createTally(metrics, now)
  const events = createEventRecorder({ kube, component: 'multinic-controller', log })
  const policy = {
    drift: config.drift,
    cleanupTimeoutMs: config.cleanupTimeoutMs,
    jobTtlMs: config.agent.jobTtlSeconds * 1_000,
  }
  let controller: Controller | undefined

  const health = healthApp({
    caches,
    metrics,
    log,
    now,
    signal,
    queue: () => controller && { depth: controller.depth(), active: controller.active(), waiting: rollout.waiting() },
  })

  async function lead(reign: AbortSignal): Promise<void> {
    const reconcile = nodeConfigReconciler({
      ...{ kube, memory, rollout, events, tally, now, agent: config.agent },
      view: { caches, memory, rollout, policy },
      wake: key => controller?.wake(key),
    })
    controller = runController({
      name: 'nodeconfigs',
      workers: config.workers,
      reconcile,
      log,
      signal: reign,
      drainMs: 700,
    })
    const stopFollowing = followCluster(caches, controller.wake)
    await controller.stopped
    stopFollowing()
    controller = undefined
  }

  try {
    onListening?.(await listen(health, config.healthAddr))
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
    await Promise.race([events.flush(), new Promise(resolve => setTimeout(resolve, 200).unref())])
    await health.close()
    await kube.close()
  }
}

async function accessFor({ kubeconfig, serviceHost }: ControllerConfig): Promise<ClusterAccess> {
  return kubeconfig ? loadKubeconfig(kubeconfig) : inClusterAccess(serviceHost)
}
