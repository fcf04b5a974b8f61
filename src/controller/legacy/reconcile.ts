/**
 * Reconciles one MultiNicBizConfig: writes its status, and removes the finalizer after its last node is cleaned up.
 *
 * One write covers all nodes that changed since the last one, with a minimum pause between writes. A BizConfig of a
 * thousand nodes is larger than a megabyte, and every watcher gets all of it after each write.
 */
import { mergePatch } from '../../contract/json.ts'
import { type BizConfigStatus, bizConfigAnnotations, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigFinalizer } from '../../contract/node-config.ts'
import type { Kube } from '../../kube/api.ts'
import type { Reconcile } from '../../kube/controller.ts'
import { isNotFound } from '../../kube/errors.ts'
import { parseKey } from '../../kube/keys.ts'
import { explain } from '../../runtime/errors.ts'
import type { BizConfigMode } from '../config.ts'
import { isReadOnly } from './expand.ts'
import type { BizConfigSource } from './source.ts'
import { nextBizConfigStatus } from './status.ts'

export interface BizConfigDeps {
  kube: Pick<Kube, 'patch' | 'patchStatus'>
  source: BizConfigSource
  mode: BizConfigMode
  now: () => Date
}

/** Changes within this time share one status write. */
export const statusBatchMs = 200

/** The minimum pause between two status writes. */
function statusPauseMs(nodes: number): number {
  return Math.max(1_000, nodes * 5)
}

export function bizConfigReconciler({ kube, source, mode, now }: BizConfigDeps): Reconcile {
  /** Our last write, which the cache may not show yet. */
  const written = new Map<string, { uid: string; at: number; status: BizConfigStatus }>()

  return async (key, { log }) => {
    const biz = source.get(key)
    if (!biz) return void written.delete(key)
    const { uid = '', annotations = {}, deletionTimestamp, finalizers = [], resourceVersion } = biz.metadata
    const expanded = source.expanded(key)
    const patch = (metadata: object) =>
      kube.patch(bizConfigs, parseKey(key), { metadata }).catch(error => {
        if (!isNotFound(error)) throw explain(`cannot patch the metadata of ${key}`, error)
      })

    if (deletionTimestamp && finalizers.includes(nodeConfigFinalizer) && expanded.entries.length === 0) {
      await patch({ finalizers: finalizers.filter(name => name !== nodeConfigFinalizer), resourceVersion })
      log.info('all nodes cleaned up, finalizer removed', { name: biz.metadata.name })
      return
    }
    const isTouched = ({ metadata }: NodeConfig) => metadata.finalizers?.includes(nodeConfigFinalizer)
    if (!deletionTimestamp && !finalizers.includes(nodeConfigFinalizer) && expanded.entries.some(isTouched))
      await patch({ finalizers: [...finalizers, nodeConfigFinalizer], resourceVersion })
    // The admission policy rejects changes of objects with this annotation.
    if (mode === 'biz-read-only' && annotations[bizConfigAnnotations.readOnly] === undefined && !deletionTimestamp)
      await patch({ annotations: { [bizConfigAnnotations.readOnly]: 'true' } })
    // Each entry has a copy by now, and loses it when its retry starts.
    if (annotations[nodeConfigAnnotations.retry] !== undefined)
      await patch({ annotations: { [nodeConfigAnnotations.retry]: null } })

    const last = written.get(key)
    const own = last?.uid === uid ? last : undefined
    const before = own?.status ?? biz.status ?? {}
    const pause = statusPauseMs(expanded.entries.length)
    const timeLeft = (own?.at ?? 0) + pause - now().getTime()
    // More than the pause: the clock was set back.
    if (timeLeft > 0 && timeLeft <= pause) return { after: timeLeft }
    const status = nextBizConfigStatus({
      ...expanded,
      ...{ biz, before, now: now(), ownerOf: source.ownerOf, readOnly: isReadOnly(biz, mode) },
    })
    if (!status) return
    try {
      await kube.patchStatus(bizConfigs, parseKey(key), mergePatch(before, status))
    } catch (error) {
      if (isNotFound(error)) return
      throw explain(`cannot write the status of ${key}`, error)
    }
    written.set(key, { uid, at: now().getTime(), status })
    log.info('BizConfig status written', { ...status.summary })
  }
}
