/**
 * Which events wake which config. An event only wakes a key: what happened is read from the caches.
 */

import { keyOf } from '../kube/keys.ts'
import type { Priority } from '../kube/queue.ts'
import type { NodeObject } from '../kube/types.ts'
import { type Caches, finishOf, nodeOf } from './caches.ts'
import { jobAnnotations, jobLabels } from './job.ts'
import { factsOf } from './machine.ts'
import { configsOf } from './observe.ts'
import { isSame } from './same.ts'
import { isPaused, isSettled } from './work.ts'

export function followCluster(caches: Caches, wake: (key: string, priority?: Priority) => void): () => void {
  const wakeNode = (name: string, uuid?: string) => {
    for (const key of configsOf(caches, name, uuid)) wake(key)
  }
  const machineOf = (name: string) => caches.nodes.get(name)?.status?.nodeInfo?.systemUUID
  const stops = [
    caches.configs.on(({ type, object, old }) => {
      // A settled config that we meet at the start is only looked at again: new work goes first.
      wake(keyOf(object), type === 'added' && isSettled(object) ? 'recheck' : 'new')
      // Its twin may take over, or has to step back.
      if (type !== 'updated' || object.metadata.deletionTimestamp !== old?.metadata.deletionTimestamp)
        for (const key of configsOf(
          caches,
          object.spec.nodeName,
          object.spec.instanceId || machineOf(object.spec.nodeName),
        ))
          if (key !== keyOf(object)) wake(key)
    }),
    caches.nodes.on(({ type, object, old }) => {
      // Kubelets report every few seconds; most of it is not our business.
      if (type === 'updated' && old && sameFacts(object, old)) return
      wakeNode(object.metadata.name, object.status?.nodeInfo?.systemUUID)
    }),
    caches.jobs.on(({ type, object, old }) => {
      // The Job controller counts in it; only its end is news.
      if (type === 'updated' && old && isSame(finishOf(object), finishOf(old))) return
      const { annotations, namespace } = object.metadata
      const config = annotations?.[jobAnnotations.config]
      if (config) wake(namespace ? `${namespace}/${config}` : config)
      wakeNode(nodeOf(object), machineOf(nodeOf(object)) ?? object.metadata.labels?.[jobLabels.legacyInstance])
    }),
    caches.pods.on(({ type, object, old }) => {
      if (type === 'updated' && old && isSame(object.status, old.status)) return
      const name = object.spec.nodeName ?? ''
      wakeNode(name, machineOf(name))
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

function sameFacts(a: NodeObject, b: NodeObject): boolean {
  return a.metadata.uid === b.metadata.uid && isSame(factsOf(a), factsOf(b))
}
