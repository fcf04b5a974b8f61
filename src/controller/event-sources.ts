/**
 * Which events wake which config. An event only wakes a key: what happened is read from the caches.
 *
 * Many configs may name one node, by mistake. What happens to one of them, or to a Job there, wakes only those whose plan can
 * change by it: all of them are woken when another one gets the node, and when the Node itself changes.
 */
import { equalJson } from '../contract/json.ts'
import type { NodeConfig } from '../contract/node-config.ts'
import type { Change } from '../kube/informer.ts'
import { keyOf, keyText } from '../kube/keys.ts'
import type { Priority } from '../kube/queue.ts'
import type { JobObject, NodeObject } from '../kube/types.ts'
import { type Caches, finishOf, nodeOf } from './caches.ts'
import { jobAnnotations, jobLabels } from './job.ts'
import { factsOf, instanceIdOf } from './machine.ts'
import { configsOf, keysBehind } from './observe.ts'
import { isPaused, isSettled, standsBack } from './plan/work.ts'

type News = Change<unknown>['type']

export function followCluster(caches: Caches, wake: (key: string, priority?: Priority) => void): () => void {
  const machineOf = (name: string) => caches.nodes.get(name)?.status?.nodeInfo?.systemUUID
  /** What we meet at the start of a settled config is only looked at again: new work goes first. */
  const look = (type: News, config: NodeConfig) =>
    wake(keyOf(config), type === 'added' && isSettled(config) ? 'recheck' : 'new')
  const wakeOwner = (type: News, { metadata: { annotations, namespace } }: JobObject) => {
    const name = annotations?.[jobAnnotations.config]
    if (!name) return
    const key = keyText({ ...(namespace && { namespace }), name })
    const config = caches.configs.get(key)
    if (config) look(type, config)
    else wake(key)
  }
  /** After news of an agent there. Who stands back wakes by its own status when it does so no longer. */
  const wakeWorkers = (type: News, name: string, uuid?: string) => {
    for (const job of caches.jobs.by('node', name)) wakeOwner(type, job)
    for (const config of configsOf(caches, name, uuid)) if (!standsBack(config)) look(type, config)
  }
  const stops = [
    caches.configs.on(({ type, object, old }) => {
      look(type, object)
      if (type === 'updated' && old && equalJson(claimOf(object), claimOf(old))) return
      // Its twins may take over, or have to step back.
      const behind = [object, ...(old ? [old] : [])].flatMap(claim => keysBehind(caches, claim))
      for (const key of new Set(behind)) wake(key)
    }),
    caches.nodes.on(({ type, object, old }) => {
      // Kubelets report every few seconds; most of it is not our business.
      if (type === 'updated' && old && sameFacts(object, old)) return
      const { name } = object.metadata
      for (const config of configsOf(caches, name, object.status?.nodeInfo?.systemUUID)) look(type, config)
    }),
    caches.jobs.on(({ type, object, old }) => {
      // The Job controller counts in it; only its end is news.
      if (type === 'updated' && old && equalJson(finishOf(object), finishOf(old))) return
      wakeOwner(type, object)
      wakeWorkers(type, nodeOf(object), machineOf(nodeOf(object)) ?? object.metadata.labels?.[jobLabels.legacyInstance])
    }),
    caches.pods.on(({ type, object, old }) => {
      if (type === 'updated' && old && equalJson(object.status, old.status)) return
      const name = object.spec.nodeName ?? ''
      wakeWorkers(type, name, machineOf(name))
    }),
    caches.namespaces.on(({ type, object, old }) => {
      const ends = object.metadata.deletionTimestamp
      if (type === 'updated' && old && isPaused(object) === isPaused(old) && ends === old.metadata.deletionTimestamp)
        return
      for (const config of caches.configs.list()) wake(keyOf(config), ends ? 'new' : 'recheck')
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** What a config has to do with others. */
function claimOf(config: NodeConfig): object {
  return { node: config.spec.nodeName, machine: instanceIdOf(config), ends: config.metadata.deletionTimestamp }
}

function sameFacts(a: NodeObject, b: NodeObject): boolean {
  return a.metadata.uid === b.metadata.uid && equalJson(factsOf(a), factsOf(b))
}
