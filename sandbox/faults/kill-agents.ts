/**
 * Kills the agents on nodes again and again, each time a little later in their run.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient } from '../../src/kube/client.ts'
import { createInformer } from '../../src/kube/informer.ts'
import { pods } from '../../src/kube/resources.ts'
import type { PodObject } from '../../src/kube/types.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { run } from '../exec.ts'

const maxDelayMs = 250
/** Coprime to maxDelayMs, so that the delays cover every millisecond. */
const stepMs = 37

export interface AgentNode {
  name: string
  namespace: string
}

export function killAgents(kube: KubeClient, nodes: AgentNode[], log: Log): () => Promise<void> {
  const life = new AbortController()
  const seen = new Set<string>()
  let count = 0

  async function killAgentOf(pod: PodObject): Promise<void> {
    const node = nodes.find(({ name }) => name === pod.spec.nodeName)
    const startedAt = pod.status?.containerStatuses?.[0]?.state?.running?.startedAt
    const start = `${pod.metadata.uid} ${pod.status?.containerStatuses?.[0]?.restartCount}`
    if (!node || !startedAt || seen.has(start)) return
    seen.add(start)
    await sleep((count++ * stepMs) % maxDelayMs, undefined, { signal: life.signal })
    for (const pid of await agentsIn(node.namespace)) {
      log.info('killing agent', { node: node.name, pid })
      process.kill(pid, 'SIGKILL')
    }
  }

  const informer = createInformer(kube, pods, { labelSelector: 'app.kubernetes.io/name=multinic-agent', log })
  informer.on(({ type, object }) => {
    if (type !== 'deleted')
      killAgentOf(object).catch(error => {
        if (!life.signal.aborted) log.warn('cannot kill agent', { pod: object.metadata.name, error })
      })
  })
  // Do not await: while the API server is unreachable this would block the queue and that fault could never stop.
  informer.start(life.signal).catch(error => log.error('cannot watch agents', { error }))
  return async () => life.abort()
}

/** In the sandbox, and in the image. */
const agentCommand = /^\/(multinic|usr\/bin)\/node\0\/(multinic\/)?agent\.cjs\0/

/** Only agents: a user may have a shell open on the node. */
async function agentsIn(namespace: string): Promise<number[]> {
  const pids = (await run('ip', ['netns', 'pids', namespace])).split('\n').filter(Boolean)
  return pids.filter(pid => agentCommand.test(commandOf(pid))).map(Number)
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
