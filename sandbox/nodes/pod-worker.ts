/**
 * The life of one Pod on its node: mount, start, restart with backoff, end, and say so at each step.
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
import type { Ended, Mount, RunningContainer } from './container.ts'
import { serviceAddress } from './fabric.ts'
import type { SandboxNode } from './node.ts'
import { fieldOf, lastWords, type PodState, podStatus } from './pod-status.ts'
import { MountFailure, mountsOf } from './volumes.ts'

/** What stands for the container image: its own start, and what is in it besides this machine's programs. */
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
  /** Resolves while the node is up: containers start only then. */
  nodeUp: () => Promise<void>
  /** Pauses before a second, third … restart; the first is at once. */
  backoff: { firstMs: number; longestMs: number }
}

export interface PodWorker {
  /** The Pod is to end: SIGTERM, its grace, SIGKILL. Asking again changes nothing. */
  stop(graceSeconds: number): void
  /** Ends it at once and says nothing: the API server has forgotten the Pod, or the kubelet itself ends. */
  kill(): void
  readonly done: Promise<void>
  /** Files of the current and of the previous container's output. */
  logFile(previous: boolean): string | undefined
}

export function startPodWorker(pod: PodObject, options: PodWorkerOptions): PodWorker {
  const { kube, node, image, dir, events } = options
  const key = { name: pod.metadata.name, namespace: pod.metadata.namespace ?? 'default' }
  const log = options.log.with({ pod: key.name })
  const ending = new AbortController()
  const forgotten = new AbortController()
  const startTime = seconds()
  const [container] = pod.spec.containers
  const logFiles: string[] = []
  let grace = 30
  let state: PodState = { phase: 'Pending', container: { waiting: { reason: 'ContainerCreating' } }, restarts: 0 }
  let said: Promise<void> = Promise.resolve()
  let unsaid = false

  /** Status is sent in the background, in order, and only as it is by then. */
  function say(next: Partial<PodState>): void {
    state = { ...state, ...next }
    if (unsaid) return
    unsaid = true
    said = said.then(async () => {
      await heard(() => {
        unsaid = false
        return kube.patchStatus(pods, key, podStatus(pod, state, { hostIP: node.address, startTime }, seconds()))
      })
    })
  }

  /** What the API server does not take is said again, until it does or the Pod is no more. */
  async function heard(saying: () => Promise<unknown>): Promise<void> {
    for (let pause = 100; !forgotten.signal.aborted; pause = Math.min(pause * 2, 5_000)) {
      try {
        await saying()
        return
      } catch (error) {
        if (isNotFound(error)) return
        log.warn('the API server did not hear of a Pod', { error })
      }
      await sleep(pause, undefined, { signal: forgotten.signal }).catch(() => {})
    }
  }

  async function run(): Promise<void> {
    say({})
    const mounts = await mounted()
    for (let failures = 0; mounts && !ending.signal.aborted; failures++) {
      if (failures > 1) await backOff(failures)
      await options.nodeUp()
      if (ending.signal.aborted) break
      const ended = await runOnce(mounts, join(dir, String(state.restarts)))
      const again =
        pod.spec.restartPolicy === 'Always' || (ended.exitCode !== 0 && pod.spec.restartPolicy === 'OnFailure')
      if (!again || ending.signal.aborted) break
      say({ restarts: state.restarts + 1, last: state.container })
    }
    if (ending.signal.aborted && !forgotten.signal.aborted) await confirmDeletion()
    await said
  }

  async function mounted(): Promise<Mount[] | undefined> {
    for (let pause = 500; !ending.signal.aborted; pause = Math.min(pause * 2, 120_000)) {
      try {
        return await mountsOf(pod, node)
      } catch (error) {
        if (!(error instanceof MountFailure)) throw error
        events.event(pod, 'Warning', 'FailedMount', error.message)
        await waited(pause)
      }
    }
    return undefined
  }

  async function runOnce(mounts: Mount[], at: string): Promise<Ended> {
    const running = await node.start({
      dir: at,
      command: [...(container?.command ?? image.entrypoint), ...(container?.args ?? [])],
      env: environmentOf(),
      mounts: [...image.mounts, ...mounts],
      capabilities: capabilitiesOf(container?.securityContext),
      terminationMessagePath: container?.terminationMessagePath ?? '/dev/termination-log',
    })
    logFiles.push(running.logFile)
    const startedAt = seconds(running.startedAt)
    say({ phase: 'Running', container: { running: { startedAt } } })
    const ended = await Promise.race([running.ended, untilEnding().then(() => stopped(running))])
    const terminated = await terminatedState(running, ended, startedAt)
    // A container that is restarted leaves its Pod Running.
    const retries = ended.exitCode !== 0 && pod.spec.restartPolicy !== 'Never' && !ending.signal.aborted
    say({ container: { terminated }, ...(!retries && { phase: ended.exitCode === 0 ? 'Succeeded' : 'Failed' }) })
    log.debug('a container ended', { exitCode: ended.exitCode })
    return ended
  }

  async function stopped(running: RunningContainer): Promise<Ended> {
    running.signal('SIGTERM')
    const late = new AbortController()
    const killed = sleep(grace * 1000, undefined, { signal: late.signal })
      .then(() => running.signal('SIGKILL'))
      .catch(() => {})
    const ended = await running.ended
    late.abort()
    await killed
    return ended
  }

  async function terminatedState(
    running: RunningContainer,
    ended: Ended,
    startedAt: string,
  ): Promise<NonNullable<ContainerState['terminated']>> {
    const words = await readFile(running.messageFile, 'utf8')
    const output = await readFile(running.logFile, 'utf8')
    const message = lastWords(words, output, container?.terminationMessagePolicy, ended.exitCode)
    return {
      exitCode: ended.exitCode,
      reason: ended.exitCode === 0 ? 'Completed' : 'Error',
      ...(message && { message }),
      startedAt,
      finishedAt: seconds(),
    }
  }

  async function backOff(failures: number): Promise<void> {
    const { firstMs, longestMs } = options.backoff
    const pause = Math.min(longestMs, firstMs * 2 ** (failures - 2))
    const message = `back-off ${Math.round(pause / 1000)}s restarting failed container=${container?.name} pod=${key.name}_${key.namespace}(${pod.metadata.uid})`
    say({ container: { waiting: { reason: 'CrashLoopBackOff', message } } })
    events.event(pod, 'Warning', 'BackOff', message)
    await waited(pause)
  }

  /** The API server keeps a deleted Pod until its kubelet says that nothing of it runs any more. */
  async function confirmDeletion(): Promise<void> {
    await said
    await heard(() =>
      kube
        .raw('DELETE', `${objectPath(pods, key)}?gracePeriodSeconds=0`, {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions: { uid: pod.metadata.uid },
        })
        .catch(error => {
          // Another Pod has its name by now.
          if (!isConflict(error)) throw error
        }),
    )
  }

  function untilEnding(): Promise<void> {
    return new Promise(resolve => {
      if (ending.signal.aborted) resolve()
      else ending.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  async function waited(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: ending.signal }).catch(() => {})
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
    log.error('a Pod could not be run', { error })
    say({ phase: 'Failed', container: { waiting: { reason: 'CreateContainerError', message: String(error) } } })
  })
  return {
    stop(seconds) {
      grace = seconds
      ending.abort()
    },
    kill() {
      grace = 0
      forgotten.abort()
      ending.abort()
    },
    done,
    logFile: previous => logFiles.at(previous ? -2 : -1),
  }
}

/** Docker's and containerd's usual set, for a container that does not say what it wants. */
const usualCapabilities = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'NET_RAW'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT', 'AUDIT_WRITE'],
]

function capabilitiesOf(context: Record<string, unknown> | undefined): string[] {
  const { add = [], drop = [] } = (context?.['capabilities'] ?? {}) as { add?: string[]; drop?: string[] }
  const kept = drop.includes('ALL') ? [] : usualCapabilities.filter(name => !drop.includes(name))
  return [...new Set([...kept, ...add])]
}

function seconds(date = new Date()): string {
  return `${date.toISOString().slice(0, 19)}Z`
}
