/**
 * Keeps the status of one MultiNicBizConfig true, and lets the document go when its last node is done.
 *
 * One write tells of all nodes that changed since the last one, and there is a pause between two: never a write a node. A
 * document of a thousand nodes is more than a megabyte, and everybody who watches it gets all of it each time.
 */

import { mergePatch } from '../../contract/json.ts'
import { type BizConfigStatus, bizConfigAnnotations, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { nodeConfigAnnotations, nodeConfigFinalizer } from '../../contract/node-config.ts'
import type { Kube } from '../../kube/api.ts'
import type { Reconcile } from '../../kube/controller.ts'
import { isNotFound } from '../../kube/errors.ts'
import { parseKey } from '../../kube/keys.ts'
import { explain } from '../../runtime/errors.ts'
import { type BizMode, isReadOnly } from './expand.ts'
import type { BizSource } from './source.ts'
import { nextBizStatus } from './status.ts'

export interface BizDeps {
  kube: Pick<Kube, 'patch' | 'patchStatus'>
  source: BizSource
  mode: BizMode
  now: () => Date
}

/** What happens within this time is told together. */
export const foldMs = 200

/** Between two writes of a document's status. */
export function pauseOf(nodes: number): number {
  return Math.max(1_000, nodes * 5)
}

export function bizConfigReconciler({ kube, source, mode, now }: BizDeps): Reconcile {
  /** Our last write: the cache may not show it yet. */
  const written = new Map<string, { uid: string; at: number; status: BizConfigStatus }>()

  return async (key, { log }) => {
    const biz = source.get(key)
    if (!biz) return void written.delete(key)
    const { uid = '', annotations = {}, deletionTimestamp, finalizers = [], resourceVersion } = biz.metadata
    const unfolded = source.unfolded(key)
    const patch = (metadata: object) =>
      kube.patch(bizConfigs, parseKey(key), { metadata }).catch(error => {
        if (!isNotFound(error)) throw explain(`changing the metadata of ${key}`, error)
      })

    if (deletionTimestamp && finalizers.includes(nodeConfigFinalizer) && unfolded.entries.length === 0) {
      await patch({ finalizers: finalizers.filter(name => name !== nodeConfigFinalizer), resourceVersion })
      log.info('the last node of a document is done', { name: biz.metadata.name })
      return
    }
    // The server refuses changes by this mark, where it can.
    if (mode === 'biz-read-only' && annotations[bizConfigAnnotations.readOnly] === undefined && !deletionTimestamp)
      await patch({ annotations: { [bizConfigAnnotations.readOnly]: 'true' } })
    // The entries have it by now, and each lets go of it when it has tried again.
    if (annotations[nodeConfigAnnotations.retry] !== undefined)
      await patch({ annotations: { [nodeConfigAnnotations.retry]: null } })

    const last = written.get(key)
    const own = last?.uid === uid ? last : undefined
    const before = own?.status ?? biz.status ?? {}
    const pause = pauseOf(unfolded.entries.length)
    const wait = (own?.at ?? 0) + pause - now().getTime()
    // More than a pause: the clock was set back.
    if (wait > 0 && wait <= pause) return { after: wait }
    const status = nextBizStatus({
      ...unfolded,
      ...{ biz, before, now: now(), ownerOf: source.ownerOf, readOnly: isReadOnly(biz, mode) },
    })
    if (!status) return
    try {
      await kube.patchStatus(bizConfigs, parseKey(key), mergePatch(before, status))
    } catch (error) {
      if (isNotFound(error)) return
      throw explain(`writing the status of ${key}`, error)
    }
    written.set(key, { uid, at: now().getTime(), status })
    log.info('status of a document', { ...status.summary })
  }
}
