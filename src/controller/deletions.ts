/**
 * The deletions of configs that nobody approved: those in the cache, and those that ended lately. Cleanups may end as fast as
 * a client deletes, and would then never be many at a time.
 */
import { type NodeConfig, nodeConfigAnnotations, nodeConfigFinalizer } from '../contract/node-config.ts'
import type { Caches } from './caches.ts'
import { findNode } from './node-claims.ts'
import { type Deletion, deletionWindowMs, isOneOfMany, unapprovedDeletion } from './plan/deletion-hold.ts'

export interface Deletions {
  isOneOfMany(config: NodeConfig): boolean
  /** The annotation on the namespace. */
  approval(): string | undefined
}

export function createDeletions(caches: Caches): Deletions {
  let ended: Deletion[] = []

  const approval = () =>
    caches.namespaces.list().map(({ metadata }) => metadata.annotations?.[nodeConfigAnnotations.approveDeletions])[0]
  /** Of a config whose node there is: nothing is removed from one that is gone. */
  const deletionOf = (config: NodeConfig) =>
    config.metadata.finalizers?.includes(nodeConfigFinalizer) && findNode(caches, config).node
      ? unapprovedDeletion(config, approval())
      : undefined

  caches.configs.on(({ type, object, old = object }) => {
    if (type !== 'deleted') return
    const deletion = unapprovedDeletion(old, approval())
    if (!deletion || !findNode(caches, old).node) return
    ended = ended.filter(({ deletedAt }) => deletedAt > deletion.deletedAt - deletionWindowMs)
    ended.push({ ...deletion, onHold: false })
  })

  function* all(): Iterable<Deletion> {
    for (const state of ['onHold', 'other'])
      for (const config of caches.configs.by('deleted', state)) {
        const deletion = deletionOf(config)
        if (deletion) yield deletion
      }
    yield* ended
  }

  return {
    approval,
    isOneOfMany(config) {
      const deletion = unapprovedDeletion(config, approval())
      return (
        deletion !== undefined && isOneOfMany(deletion.deletedAt, all(), caches.configs.list().length + ended.length)
      )
    },
  }
}
