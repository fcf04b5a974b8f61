/**
 * Which watch events wake which configs. An event only wakes a key: the reconcile reads the caches.
 *
 * Several configs may name one node by mistake. An event of one of them, or of a Job on the node, wakes only the configs
 * whose plan can change. All of them wake when the Node changes, or when another config starts to manage the node.
 */
import { equalJson } from '../contract/json.ts'
import { agentRolloutOf, type NodeConfig, nodeConfigAnnotations } from '../contract/node-config.ts'
import type { Change } from '../kube/informer.ts'
import { keyOf, keyText } from '../kube/keys.ts'
import type { Priority } from '../kube/queue.ts'
import type { JobObject, KubeObject, NodeObject } from '../kube/types.ts'
import { type Caches, finishOf, nodeOf } from './caches.ts'
import { jobAnnotations, jobLabels } from './job.ts'
import { factsOf, instanceIdOf } from './machine.ts'
import { configsForNode, keysWaitingBehind } from './node-claims.ts'
import { isPaused, isSettled, yieldsToOlder } from './plan/config-status.ts'

type ChangeType = Change<unknown>['type']

/** Returns a function that unsubscribes. */
export function wakeOnEvents(caches: Caches, wake: (key: string, priority?: Priority) => void): () => void {
  const machineOf = (name: string) => caches.nodes.get(name)?.status?.nodeInfo?.systemUUID
  /** Settled configs in the first list get the lower priority: new work goes first. */
  const wakeConfig = (type: ChangeType, config: NodeConfig) =>
    wake(keyOf(config), type === 'added' && isSettled(config) ? 'recheck' : 'new')
  const wakeOwner = (type: ChangeType, { metadata: { annotations, namespace } }: JobObject) => {
    const name = annotations?.[jobAnnotations.config]
    if (!name) return
    const key = keyText({ ...(namespace && { namespace }), name })
    const config = caches.configs.get(key)
    if (config) wakeConfig(type, config)
    else wake(key)
  }
  /** After a change of an agent on the node. A config that yields to an older one wakes when the older one goes. */
  const wakeManagers = (type: ChangeType, name: string, uuid?: string) => {
    for (const job of caches.jobs.by('node', name)) wakeOwner(type, job)
    for (const config of configsForNode(caches, name, uuid)) if (!yieldsToOlder(config)) wakeConfig(type, config)
  }
  const stops = [
    caches.configs.on(({ type, object, old }) => {
      wakeConfig(type, object)
      if (type === 'updated' && old && equalJson(claimOf(object), claimOf(old))) return
      // Other configs for the node may take over, or have to yield.
      const behind = [object, ...(old ? [old] : [])].flatMap(claim => keysWaitingBehind(caches, claim))
      for (const key of new Set(behind)) wake(key)
    }),
    caches.nodes.on(({ type, object, old }) => {
      // Kubelets update their Node every few seconds, mostly fields that the planner does not read.
      if (type === 'updated' && old && sameFacts(object, old)) return
      const { name } = object.metadata
      for (const config of configsForNode(caches, name, object.status?.nodeInfo?.systemUUID)) wakeConfig(type, config)
    }),
    caches.jobs.on(({ type, object, old }) => {
      // The Job controller updates its counters; only the end of the Job matters.
      if (type === 'updated' && old && equalJson(finishOf(object), finishOf(old))) return
      wakeOwner(type, object)
      wakeManagers(
        type,
        nodeOf(object),
        machineOf(nodeOf(object)) ?? object.metadata.labels?.[jobLabels.legacyInstance],
      )
    }),
    caches.pods.on(({ type, object, old }) => {
      if (type === 'updated' && old && equalJson(object.status, old.status)) return
      const name = object.spec.nodeName ?? ''
      wakeManagers(type, name, machineOf(name))
    }),
    caches.namespaces.on(({ type, object, old }) => {
      const deletedAt = object.metadata.deletionTimestamp
      const isUnchanged =
        old &&
        isPaused(object) === isPaused(old) &&
        agentRolloutOf(object) === agentRolloutOf(old) &&
        approvalOf(object) === approvalOf(old) &&
        deletedAt === old.metadata.deletionTimestamp &&
        equalJson(object.metadata.labels, old.metadata.labels)
      if (type === 'updated' && isUnchanged) return
      for (const config of caches.configs.list()) wake(keyOf(config), deletedAt ? 'new' : 'recheck')
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function approvalOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[nodeConfigAnnotations.approveDeletions]
}

/** What decides which config manages a node. */
function claimOf(config: NodeConfig): object {
  return { node: config.spec.nodeName, machine: instanceIdOf(config), deletedAt: config.metadata.deletionTimestamp }
}

function sameFacts(a: NodeObject, b: NodeObject): boolean {
  return a.metadata.uid === b.metadata.uid && equalJson(factsOf(a), factsOf(b))
}
