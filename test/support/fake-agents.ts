/**
 * Fake agents for Nodes without kubelets: they end the Pod of every agent Job with a successful report, like a kubelet, and
 * remember each Pod.
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

const workers = 8

export interface FakeAgentOptions {
  perSecond?: number
  phase?: 'Running' | 'Succeeded'
  /** Fields that differ from a successful report. */
  report?: (pod: PodObject) => Partial<AgentReport>
}

export async function startFakeAgents(
  kube: Kube,
  namespace: string,
  { perSecond = 1_000, phase = 'Succeeded', report = () => ({}) }: FakeAgentOptions = {},
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

  async function work(): Promise<void> {
    while (!end.signal.aborted) {
      const pod = waiting.shift()
      if (pod) {
        const status = endedStatus(pod, phase, report(pod))
        await kube.patchStatus(pods, { namespace, name: pod.metadata.name }, status).catch(error => {
          // Like a kubelet, retry until the API server accepts the status or the Pod is gone.
          if (!isNotFound(error)) waiting.push(pod)
        })
      }
      await sleep(pod ? (workers * 1_000) / perSecond : 20)
    }
  }
  const stopped = Promise.all(Array.from({ length: workers }, work))

  return {
    seen: () => [...seen.values()],
    async stop(): Promise<void> {
      end.abort()
      await stopped
    },
  }
}
