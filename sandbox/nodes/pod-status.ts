/**
 * The status of a Pod with one container, as a kubelet computes it. Pure.
 */
import type { ContainerState, ContainerStatus, PodObject } from '../../src/kube/types.ts'

export interface PodState {
  phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  container: ContainerState
  last?: ContainerState
  restarts: number
}

export interface PodHost {
  hostIP: string
  startTime: string
}

export function podStatus(
  pod: PodObject,
  state: PodState,
  host: PodHost,
  now: string,
): NonNullable<PodObject['status']> {
  const [container] = pod.spec.containers
  const running = state.container.running !== undefined
  const completed = state.phase === 'Succeeded'
  const status: ContainerStatus = {
    name: container?.name ?? '',
    image: container?.image ?? '',
    imageID: container?.image ?? '',
    ready: running,
    restartCount: state.restarts,
    state: state.container,
    ...(state.last && { lastState: state.last }),
  }
  const since = new Map(pod.status?.conditions?.map(each => [`${each.type} ${each.status}`, each.lastTransitionTime]))
  const condition = (type: string, holds: boolean, reason?: string) => ({
    type,
    status: holds ? 'True' : 'False',
    ...(!holds && reason && { reason }),
    lastTransitionTime: since.get(`${type} ${holds ? 'True' : 'False'}`) ?? now,
  })
  const unready = completed ? 'PodCompleted' : 'ContainersNotReady'
  return {
    phase: state.phase,
    hostIP: host.hostIP,
    podIP: host.hostIP,
    startTime: host.startTime,
    conditions: [
      condition('Initialized', true),
      condition('Ready', running, unready),
      condition('ContainersReady', running, unready),
      condition('PodScheduled', true),
    ],
    containerStatuses: [status],
  }
}

/** With the limits of a real kubelet. */
export function terminationMessage(message: string, log: string, policy: string | undefined, exitCode: number): string {
  const written = head(message, 4096)
  if (written || policy !== 'FallbackToLogsOnError' || exitCode === 0) return written
  return tail(log.split('\n').slice(-81).join('\n'), 2048)
}

function head(text: string, bytes: number): string {
  return Buffer.from(text).subarray(0, bytes).toString('utf8')
}

function tail(text: string, bytes: number): string {
  return Buffer.from(text).subarray(-bytes).toString('utf8')
}

/** The value of a `fieldRef` (downward API). */
export function fieldOf(pod: PodObject, path: string, hostIP: string): string | undefined {
  const { metadata, spec } = pod
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path)
  if (keyed) return (keyed[1] === 'labels' ? metadata.labels : metadata.annotations)?.[keyed[2] ?? '']
  const known: Record<string, string | undefined> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'spec.nodeName': spec.nodeName,
    'spec.serviceAccountName': spec.serviceAccountName,
    'status.hostIP': hostIP,
    'status.podIP': hostIP,
  }
  return known[path]
}
