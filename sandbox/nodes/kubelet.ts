/**
 * The kubelet of one node: registers the Node, sends heartbeats, and runs the Pods that are bound to it.
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
  /** For roots, logs and termination messages of containers. */
  dir: string
  log: Log
  /** A Pod informer shared by many kubelets; the caller starts it after all of them. */
  pods?: Pick<Informer<PodObject>, 'on'> | undefined
  backoff?: { firstMs: number; maxMs: number }
  heartbeatMs?: number
}

export interface Kubelet {
  /** File with the output of the container of a Pod; undefined when there is none. */
  logFile(namespace: string, name: string, previous: boolean): string | undefined
  /** Reboots the node: containers are killed and start again after the boot. */
  reboot(): Promise<void>
  /** Kills the containers and stops; the Node object stays. */
  stop(): Promise<void>
}

/** With a heartbeat every 10 s: the full status every 5 min. */
const beatsPerStatus = 30

const bootReportRetryMs = 500

/** As in a real kubelet: 10 s, doubling up to 5 min. */
const defaultBackoff = { firstMs: 10_000, maxMs: 300_000 }

export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { kube, node, image, dir, backoff = defaultBackoff, heartbeatMs = 10_000 } = options
  const log = options.log.with({ node: node.name })
  const life = new AbortController()
  const events = createEventRecorder({ kube, component: 'kubelet', log })
  const workers = new Map<string, { worker: PodWorker; pod: PodObject }>()
  let nodeUp: Promise<void> = Promise.resolve()
  const started = seconds()
  const { gitVersion: kubeletVersion } = (await kube.raw('GET', '/version')).body as { gitVersion: string }
  let ready = { status: true, since: started }

  function syncPod(pod: PodObject): void {
    const uid = pod.metadata.uid ?? ''
    const known = workers.get(uid)
    const isDeleted = pod.metadata.deletionTimestamp !== undefined
    if (known) {
      if (isDeleted) known.worker.stop(graceOf(pod))
      return
    }
    if (!isDeleted && isFinished(pod)) return
    const podDir = join(dir, uid)
    const worker = startPodWorker(pod, { kube, node, image, dir: podDir, events, log, backoff, nodeUp: () => nodeUp })
    if (isDeleted) worker.stop(0)
    workers.set(uid, { worker, pod })
  }

  async function removePod(pod: PodObject): Promise<void> {
    const uid = pod.metadata.uid ?? ''
    const known = workers.get(uid)
    if (!known) return
    // A force-deleted Pod may still be running.
    known.worker.kill()
    await known.worker.done
    workers.delete(uid)
    await rm(join(dir, uid), { recursive: true, force: true })
  }

  function nodeStatus(): NonNullable<NodeObject['status']> {
    const now = seconds()
    const condition = (type: string, status: boolean, reason: string, message: string, since: string) => ({
      type,
      status: status ? 'True' : 'False',
      reason,
      message,
      lastHeartbeatTime: now,
      lastTransitionTime: since,
    })
    const noPressure = (type: string, reason: string, message: string) =>
      condition(type, false, reason, message, started)
    return {
      addresses: [
        { type: 'InternalIP', address: node.address },
        { type: 'Hostname', address: node.name },
      ],
      conditions: [
        noPressure('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
        noPressure('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
        noPressure('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
        ready.status
          ? condition('Ready', true, 'KubeletReady', 'kubelet is posting ready status', ready.since)
          : condition('Ready', false, 'KubeletNotReady', 'node is shutting down', ready.since),
      ],
      nodeInfo: {
        systemUUID: node.server.id,
        machineID: node.server.id.replaceAll('-', ''),
        bootID: node.bootID,
        osImage: node.osImage,
        kernelVersion: release(),
        ...{ kubeletVersion, containerRuntimeVersion: 'sandbox://1' },
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
    await updateStatus()
  }

  async function updateStatus(): Promise<void> {
    try {
      await kube.patchStatus(nodes, { name: node.name }, nodeStatus())
    } catch (error) {
      if (!isNotFound(error)) throw error
      await register()
    }
  }

  /** The heartbeat between status updates. */
  async function renewLease(): Promise<void> {
    const metadata = { name: node.name, namespace: 'kube-node-lease' }
    const spec = { holderIdentity: node.name, leaseDurationSeconds: 40, renewTime: microTime(new Date()) }
    await kube.apply(
      leases,
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
      { fieldManager: 'kubelet', force: true },
    )
  }

  async function sendHeartbeats(): Promise<void> {
    let beats = 0
    let sentAt = performance.now()
    const send = async () => {
      const isLate = performance.now() - sentAt > 2 * heartbeatMs
      await renewLease()
      // Meanwhile the cluster may have declared the node unreachable: only its status ends that.
      if (isLate || ++beats % beatsPerStatus === 0) await updateStatus()
      sentAt = performance.now()
    }
    for await (const _ of every(heartbeatMs, undefined, { signal: life.signal }))
      await send().catch(error => log.warn('cannot send heartbeat', { error }))
  }

  async function setReady(status: boolean): Promise<void> {
    ready = { status, since: seconds() }
    await updateStatus()
  }

  /** Retries until the API server has accepted the new boot id. */
  async function reportBoot(): Promise<void> {
    while (!life.signal.aborted) {
      try {
        await setReady(true)
        const object = await kube.get(nodes, { name: node.name })
        if (object)
          events.event(object, 'Warning', 'Rebooted', `Node ${node.name} has been rebooted, boot id: ${node.bootID}`)
        return
      } catch (error) {
        log.warn('cannot report boot, retrying', { error })
        await sleep(bootReportRetryMs, undefined, { signal: life.signal }).catch(() => {})
      }
    }
  }

  await register()
  await renewLease()
  const ownInformer = options.pods
    ? undefined
    : createInformer(kube, pods, { fieldSelector: `spec.nodeName=${node.name}`, log })
  const informer = options.pods ?? ownInformer
  informer?.on(({ type, object }) => {
    if (object.spec.nodeName !== node.name || life.signal.aborted) return
    if (type !== 'deleted') syncPod(object)
    else removePod(object).catch(error => log.error('cannot remove Pod', { pod: object.metadata.name, error }))
  })
  await ownInformer?.start(life.signal)
  sendHeartbeats().catch(() => {})

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
        // Like a power failure: the reboot does not depend on the API server.
        await setReady(false).catch(error => log.warn('cannot report shutdown', { error }))
        await node.reboot()
        await reportBoot()
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
  const requested = (pod.metadata as { deletionGracePeriodSeconds?: number }).deletionGracePeriodSeconds
  return requested ?? pod.spec.terminationGracePeriodSeconds ?? 30
}

function isFinished(pod: PodObject): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

function seconds(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`
}
