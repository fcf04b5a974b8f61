/**
 * Runs one Pod on its node: mounts volumes, starts the container, restarts it with backoff, stops it, and updates the status.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient } from '../../src/kube/client.ts'
import { isConflict, isNotFound } from '../../src/kube/errors.ts'
import type { EventRecorder } from '../../src/kube/events.ts'
import { objectPath } from '../../src/kube/paths.ts'
import { pods } from '../../src/kube/resources.ts'
import type { ContainerState, PodObject } from '../../src/kube/types.ts'
import type { Log } from '../../src/telemetry/log.ts'
import type { ContainerExit, Mount, RunningContainer } from './container.ts'
import { serviceAddress } from './fabric.ts'
import type { SandboxNode } from './node.ts'
import { fieldOf, type PodState, podStatus, terminationMessage } from './pod-status.ts'
import { MountFailure } from './volumes.ts'

/** Replaces a container image: its entrypoint, and its files beyond the programs of this machine. */
export interface Image {
  entrypoint: string[]
  mounts: Mount[]
}

export interface PodWorkerOptions {
  kube: KubeClient
  node: SandboxNode
  image: Image
  dir: string
  events: EventRecorder
  log: Log
  /** Resolves when the node is up: containers start only then. */
  nodeUp: () => Promise<void>
  /** Pauses before the second and later restarts; the first restart is immediate. */
  backoff: { firstMs: number; maxMs: number }
}

export interface PodWorker {
  /** Sends SIGTERM, waits for the grace period, sends SIGKILL. Idempotent. */
  stop(graceSeconds: number): void
  /** Kills the container without a status update: the Pod object is gone, or the kubelet stops. */
  kill(): void
  readonly done: Promise<void>
  /** File with the output of the current or the previous container. */
  logFile(previous: boolean): string | undefined
}

export function startPodWorker(pod: PodObject, options: PodWorkerOptions): PodWorker {
  const { kube, node, image, dir, events } = options
  const key = { name: pod.metadata.name, namespace: pod.metadata.namespace ?? 'default' }
  const log = options.log.with({ pod: key.name })
  const stopping = new AbortController()
  const abandoned = new AbortController()
  const startTime = seconds()
  const [container] = pod.spec.containers
  const logFiles: string[] = []
  let grace = 30
  let state: PodState = { phase: 'Pending', container: { waiting: { reason: 'ContainerCreating' } }, restarts: 0 }
  let statusSent: Promise<void> = Promise.resolve()
  let isPending = false

  /** Sends status updates in the background, in order; several changes may become one update. */
  function updateStatus(next: Partial<PodState>): void {
    state = { ...state, ...next }
    if (isPending) return
    isPending = true
    statusSent = statusSent.then(async () => {
      await untilAccepted(() => {
        isPending = false
        return kube.patchStatus(pods, key, podStatus(pod, state, { hostIP: node.address, startTime }, seconds()))
      })
    })
  }

  /** Retries until the API server accepts the request or the Pod object is gone. */
  async function untilAccepted(send: () => Promise<unknown>): Promise<void> {
    for (let pause = 100; !abandoned.signal.aborted; pause = Math.min(pause * 2, 5_000)) {
      try {
        await send()
        return
      } catch (error) {
        if (isNotFound(error)) return
        log.warn('cannot update Pod, retrying', { error })
      }
      await sleep(pause, undefined, { signal: abandoned.signal }).catch(() => {})
    }
  }

  async function run(): Promise<void> {
    updateStatus({})
    const mounts = await mountVolumes()
    for (let failures = 0; mounts && !stopping.signal.aborted; failures++) {
      if (failures > 1) await backOff(failures)
      await options.nodeUp()
      if (stopping.signal.aborted) break
      const exit = await runOnce(mounts, join(dir, String(state.restarts)))
      const restarts =
        pod.spec.restartPolicy === 'Always' || (exit.exitCode !== 0 && pod.spec.restartPolicy === 'OnFailure')
      if (!restarts || stopping.signal.aborted) break
      updateStatus({ restarts: state.restarts + 1, last: state.container })
    }
    if (stopping.signal.aborted && !abandoned.signal.aborted) await confirmDeletion()
    await statusSent
  }

  async function mountVolumes(): Promise<Mount[] | undefined> {
    for (let pause = 500; !stopping.signal.aborted; pause = Math.min(pause * 2, 120_000)) {
      try {
        return await node.mounts(pod)
      } catch (error) {
        if (!(error instanceof MountFailure)) throw error
        events.event(pod, 'Warning', 'FailedMount', error.message)
        await wait(pause)
      }
    }
    return undefined
  }

  async function runOnce(mounts: Mount[], containerDir: string): Promise<ContainerExit> {
    const running = await node.start({
      dir: containerDir,
      spec: pod.spec,
      command: [...(container?.command ?? image.entrypoint), ...(container?.args ?? [])],
      env: environmentOf(),
      mounts: [...image.mounts, ...mounts],
      capabilities: capabilitiesOf(container?.securityContext),
      terminationMessagePath: container?.terminationMessagePath ?? '/dev/termination-log',
    })
    logFiles.push(running.logFile)
    const startedAt = seconds(running.startedAt)
    updateStatus({ phase: 'Running', container: { running: { startedAt } } })
    const exit = await Promise.race([running.ended, untilStopping().then(() => stopContainer(running))])
    const terminated = await terminatedState(running, exit, startedAt)
    // The Pod of a restarted container stays Running.
    const retries = exit.exitCode !== 0 && pod.spec.restartPolicy !== 'Never' && !stopping.signal.aborted
    updateStatus({
      container: { terminated },
      ...(!retries && { phase: exit.exitCode === 0 ? 'Succeeded' : 'Failed' }),
    })
    log.debug('container exited', { exitCode: exit.exitCode })
    return exit
  }

  async function stopContainer(running: RunningContainer): Promise<ContainerExit> {
    running.signal('SIGTERM')
    const timeout = new AbortController()
    const killed = sleep(grace * 1000, undefined, { signal: timeout.signal })
      .then(() => running.signal('SIGKILL'))
      .catch(() => {})
    const exit = await running.ended
    timeout.abort()
    await killed
    return exit
  }

  async function terminatedState(
    running: RunningContainer,
    exit: ContainerExit,
    startedAt: string,
  ): Promise<NonNullable<ContainerState['terminated']>> {
    const written = await readFile(running.messageFile, 'utf8')
    const output = await readFile(running.logFile, 'utf8')
    const message = terminationMessage(written, output, container?.terminationMessagePolicy, exit.exitCode)
    return {
      exitCode: exit.exitCode,
      reason: exit.exitCode === 0 ? 'Completed' : 'Error',
      ...(message && { message }),
      startedAt,
      finishedAt: seconds(),
    }
  }

  async function backOff(failures: number): Promise<void> {
    const { firstMs, maxMs } = options.backoff
    const pause = Math.min(maxMs, firstMs * 2 ** (failures - 2))
    const message = `back-off ${Math.round(pause / 1000)}s restarting failed container=${container?.name} pod=${key.name}_${key.namespace}(${pod.metadata.uid})`
    updateStatus({ container: { waiting: { reason: 'CrashLoopBackOff', message } } })
    events.event(pod, 'Warning', 'BackOff', message)
    await wait(pause)
  }

  /** The API server keeps a deleted Pod until its kubelet confirms that no container is running. */
  async function confirmDeletion(): Promise<void> {
    await statusSent
    await untilAccepted(() =>
      kube
        .raw('DELETE', objectPath(pods, key), {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          gracePeriodSeconds: 0,
          preconditions: { uid: pod.metadata.uid },
        })
        .catch(error => {
          // Meanwhile another Pod with the same name exists.
          if (!isConflict(error)) throw error
        }),
    )
  }

  function untilStopping(): Promise<void> {
    return new Promise(resolve => {
      if (stopping.signal.aborted) resolve()
      else stopping.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  async function wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})
  }

  function environmentOf(): Record<string, string> {
    const env: Record<string, string> = {
      HOSTNAME: node.name,
      KUBERNETES_SERVICE_HOST: serviceAddress,
      KUBERNETES_SERVICE_PORT: '443',
      KUBERNETES_SERVICE_PORT_HTTPS: '443',
    }
    for (const { name, value, valueFrom } of container?.env ?? [])
      env[name] = value ?? (valueFrom?.fieldRef && fieldOf(pod, valueFrom.fieldRef.fieldPath, node.address)) ?? ''
    return env
  }

  const done = run().catch(error => {
    log.error('cannot run Pod', { error })
    updateStatus({
      phase: 'Failed',
      container: { waiting: { reason: 'CreateContainerError', message: String(error) } },
    })
  })
  return {
    stop(seconds) {
      grace = seconds
      stopping.abort()
    },
    kill() {
      grace = 0
      abandoned.abort()
      stopping.abort()
    },
    done,
    logFile: previous => logFiles.at(previous ? -2 : -1),
  }
}

/** Default capabilities of Docker and containerd. */
const defaultCapabilities = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'NET_RAW'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT', 'AUDIT_WRITE'],
]

function capabilitiesOf(context: Record<string, unknown> | undefined): string[] {
  const { add = [], drop = [] } = (context?.['capabilities'] ?? {}) as { add?: string[]; drop?: string[] }
  const defaults = drop.includes('ALL') ? [] : defaultCapabilities.filter(name => !drop.includes(name))
  return [...new Set([...defaults, ...add])]
}

function seconds(date = new Date()): string {
  return `${date.toISOString().slice(0, 19)}Z`
}
