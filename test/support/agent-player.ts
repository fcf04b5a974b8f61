/**
 * A player of agents on Nodes without kubelets: it ends the Pod of every agent Job with a good report, as a kubelet would
 * show it, and remembers each Pod that it has seen.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import type { Kube } from '../../src/kube/api.ts'
import { isNotFound } from '../../src/kube/errors.ts'
import { createInformer } from '../../src/kube/informer.ts'
import { pods } from '../../src/kube/resources.ts'
import type { PodObject } from '../../src/kube/types.ts'
import { silent } from '../../src/telemetry/log.ts'
import { endedStatus } from './controller-cluster.ts'

const hands = 8

export interface PlayOptions {
  perSecond?: number
  phase?: 'Running' | 'Succeeded'
  /** What an agent says that differs from a good report. */
  report?: (pod: PodObject) => Partial<AgentReport>
}

export async function allAgents(
  kube: Kube,
  namespace: string,
  { perSecond = 1_000, phase = 'Succeeded', report = () => ({}) }: PlayOptions = {},
) {
  const end = new AbortController()
  const agents = createInformer(kube, pods, {
    namespace,
    labelSelector: 'app.kubernetes.io/name=multinic-agent',
    log: silent,
  })
  const seen = new Map<string, PodObject>()
  const waiting: PodObject[] = []
  agents.on(({ object }) => {
    const { uid = '' } = object.metadata
    if (seen.has(uid)) return
    seen.set(uid, object)
    waiting.push(object)
  })
  await agents.start(end.signal)

  async function play(): Promise<void> {
    while (!end.signal.aborted) {
      const pod = waiting.shift()
      if (pod) {
        const status = endedStatus(pod, phase, report(pod))
        await kube.patchStatus(pods, { namespace, name: pod.metadata.name }, status).catch(error => {
          // As a kubelet would: it tells until the API server has heard it, or the Pod is gone.
          if (!isNotFound(error)) waiting.push(pod)
        })
      }
      await sleep(pod ? (hands * 1_000) / perSecond : 20)
    }
  }
  const played = Promise.all(Array.from({ length: hands }, play))

  return {
    seen: () => [...seen.values()],
    async stop(): Promise<void> {
      end.abort()
      await played
    },
  }
}
