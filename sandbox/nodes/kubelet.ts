/**
 * The kubelet of one node: registers the Node, keeps saying that it is alive, and runs the Pods that are bound to it.
 */
import { rm } from 'node:fs/promises'
import { release } from 'node:os'
import { join } from 'node:path'
import { setInterval as every, setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient } from '../../src/kube/client.ts'
import { isAlreadyExists, isNotFound } from '../../src/kube/errors.ts'
import { createEventRecorder } from '../../src/kube/events.ts'
import { createInformer, type Informer } from '../../src/kube/informer.ts'
import { microTime } from '../../src/kube/leader.ts'
import { leases, nodes, pods } from '../../src/kube/resources.ts'
import type { NodeObject, PodObject } from '../../src/kube/types.ts'
import type { Log } from '../../src/telemetry/log.ts'
import type { SandboxNode } from './node.ts'
import { type Image, type PodWorker, startPodWorker } from './pod-worker.ts'

export interface KubeletOptions {
  kube: KubeClient
  node: SandboxNode
  image: Image
  /** For containers: their roots, logs and last words. */
  dir: string
  log: Log
  /** Where many kubelets share one watch: whoever starts it does so when all are there. */
  pods?: Pick<Informer<PodObject>, 'on'> | undefined
  backoff?: { firstMs: number; longestMs: number }
  heartbeatMs?: number
}

export interface Kubelet {
  /** The output of a Pod's container, the file it is in; undefined when there is none. */
  logFile(namespace: string, name: string, previous: boolean): string | undefined
  /** Restarts the node: its Pods' containers end and start again after the boot. */
  reboot(): Promise<void>
  /** Ends the containers and stops; the Node stays in the API. */
  stop(): Promise<void>
}

/** At 10 s each: the whole status every 5 min. */
const beatsPerReport = 30

const bootEveryMs = 500

/** As the real one: 10 s doubling to 5 min. */
const usualBackoff = { firstMs: 10_000, longestMs: 300_000 }

export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { kube, node, image, dir, backoff = usualBackoff, heartbeatMs = 10_000 } = options
  const log = options.log.with({ node: node.name })
  const life = new AbortController()
  const events = createEventRecorder({ kube, component: 'kubelet', log })
  const workers = new Map<string, { worker: PodWorker; pod: PodObject }>()
  let nodeUp: Promise<void> = Promise.resolve()
  const started = seconds()
  let ready = { holds: true, since: started }

  function look(pod: PodObject): void {
    const uid = pod.metadata.uid ?? ''
    const known = workers.get(uid)
    const ends = pod.metadata.deletionTimestamp !== undefined
    if (known) {
      if (ends) known.worker.stop(graceOf(pod))
      return
    }
    if (!ends && isFinished(pod)) return
    const at = join(dir, uid)
    const worker = startPodWorker(pod, { kube, node, image, dir: at, events, log, backoff, nodeUp: () => nodeUp })
    if (ends) worker.stop(0)
    workers.set(uid, { worker, pod })
  }

  async function forget(pod: PodObject): Promise<void> {
    const uid = pod.metadata.uid ?? ''
    const known = workers.get(uid)
    if (!known) return
    // Deleted by force: nobody waits for it any more, but it must not go on.
    known.worker.kill()
    await known.worker.done
    workers.delete(uid)
    await rm(join(dir, uid), { recursive: true, force: true })
  }

  function statusOf(): NonNullable<NodeObject['status']> {
    const now = seconds()
    const condition = (type: string, holds: boolean, reason: string, message: string, since: string) => ({
      type,
      status: holds ? 'True' : 'False',
      reason,
      message,
      lastHeartbeatTime: now,
      lastTransitionTime: since,
    })
    const fine = (type: string, reason: string, message: string) => condition(type, false, reason, message, started)
    return {
      addresses: [
        { type: 'InternalIP', address: node.address },
        { type: 'Hostname', address: node.name },
      ],
      conditions: [
        fine('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
        fine('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
        fine('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
        ready.holds
          ? condition('Ready', true, 'KubeletReady', 'kubelet is posting ready status', ready.since)
          : condition('Ready', false, 'KubeletNotReady', 'node is shutting down', ready.since),
      ],
      nodeInfo: {
        systemUUID: node.server.id,
        machineID: node.server.id.replaceAll('-', ''),
        bootID: node.bootId,
        osImage: node.osImage,
        kernelVersion: release(),
        ...{ kubeletVersion: 'v1.34.0-sandbox', containerRuntimeVersion: 'sandbox://1' },
        ...{ operatingSystem: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch },
      },
    }
  }

  async function register(): Promise<void> {
    const labels = { 'kubernetes.io/hostname': node.name, 'kubernetes.io/os': 'linux' }
    try {
      await kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: node.name, labels } })
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
    await report()
  }

  async function report(): Promise<void> {
    try {
      await kube.patchStatus(nodes, { name: node.name }, statusOf())
    } catch (error) {
      if (!isNotFound(error)) throw error
      await register()
    }
  }

  /** Between reports of the whole status, a Lease says that somebody is there: so do real kubelets. */
  async function renew(): Promise<void> {
    const metadata = { name: node.name, namespace: 'kube-node-lease' }
    const spec = { holderIdentity: node.name, leaseDurationSeconds: 40, renewTime: microTime(new Date()) }
    await kube.apply(
      leases,
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
      { fieldManager: 'kubelet', force: true },
    )
  }

  async function beat(): Promise<void> {
    let beats = 0
    for await (const _ of every(heartbeatMs, undefined, { signal: life.signal })) {
      const sent = ++beats % beatsPerReport === 0 ? report() : renew()
      await sent.catch(error => log.warn('the heartbeat was not heard', { error }))
    }
  }

  async function turn(holds: boolean): Promise<void> {
    ready = { holds, since: seconds() }
    await report()
  }

  /** A machine that starts tells so until it is heard. */
  async function tellBoot(): Promise<void> {
    while (!life.signal.aborted) {
      try {
        await turn(true)
        const object = await kube.get(nodes, { name: node.name })
        if (object)
          events.event(object, 'Warning', 'Rebooted', `Node ${node.name} has been rebooted, boot id: ${node.bootId}`)
        return
      } catch (error) {
        log.warn('the boot was not heard', { error })
        await sleep(bootEveryMs, undefined, { signal: life.signal }).catch(() => {})
      }
    }
  }

  await register()
  await renew()
  const own = options.pods
    ? undefined
    : createInformer(kube, pods, { fieldSelector: `spec.nodeName=${node.name}`, log })
  const heard = options.pods ?? own
  heard?.on(({ type, object }) => {
    if (object.spec.nodeName !== node.name || life.signal.aborted) return
    if (type !== 'deleted') look(object)
    else forget(object).catch(error => log.error('a deleted Pod could not be forgotten', { error }))
  })
  await own?.start(life.signal)
  beat().catch(() => {})

  return {
    logFile(namespace, name, previous) {
      const found = [...workers.values()].find(
        ({ pod }) => pod.metadata.name === name && (pod.metadata.namespace ?? 'default') === namespace,
      )
      return found?.worker.logFile(previous)
    },
    async reboot() {
      let up = () => {}
      nodeUp = new Promise(resolve => {
        up = resolve
      })
      try {
        // One that loses its power need not be heard.
        await turn(false).catch(error => log.warn('the end was not heard', { error }))
        await node.reboot()
        await tellBoot()
      } finally {
        up()
      }
    },
    async stop() {
      life.abort()
      for (const { worker } of workers.values()) worker.kill()
      await Promise.all([...workers.values()].map(({ worker }) => worker.done))
      await events.flush()
    },
  }
}

function graceOf(pod: PodObject): number {
  const asked = (pod.metadata as { deletionGracePeriodSeconds?: number }).deletionGracePeriodSeconds
  return asked ?? pod.spec.terminationGracePeriodSeconds ?? 30
}

function isFinished(pod: PodObject): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

function seconds(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`
}
