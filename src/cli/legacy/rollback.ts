/**
 * `multinic migrate rollback`: the nodes go back to their MultiNicBizConfigs, again without touching a NIC.
 *
 * A MultiNicNodeConfig is deleted only after its BizConfig has said that it would have the node otherwise.
 */
import { type BizConfig, bizConfigAnnotations, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../contract/node-config.ts'
import { isAlreadyExists } from '../../kube/errors.ts'
import { type Cluster, withCluster } from '../cluster.ts'
import type { Ending, Io } from '../io.ts'
import { harmless } from '../render/paint.ts'
import { hasPolicy, type MigrateFlags, waitFor } from './migrate.ts'
import { readAll } from './migration-input.ts'
import { differences, isFrom, isReadOnly, type Migration, planMigration, recordFor } from './migration-plan.ts'

interface Told {
  ok: boolean
  words: string
}

export async function rollback(io: Io, flags: MigrateFlags): Promise<Ending> {
  return withCluster(io, flags, async cluster => {
    await bringBack(io, cluster, flags)
    const found = await readAll(io, cluster, flags)
    const rows = planMigration(found).filter(({ nodeName }) => flags.node === undefined || nodeName === flags.node)
    const begun = rows.filter(({ existing, from }) => existing && isFrom(existing, from))
    if (begun.length === 0) io.note('no node was migrated from these documents: there is nothing to give back')
    let left = 0
    for (const [index, row] of begun.entries()) {
      const said = await giveBack(cluster, row, flags)
      if (!said.ok) left++
      io.note(harmless(`[${index + 1}/${begun.length}] ${row.nodeName}: ${said.words}`))
    }
    return left > 0 ? 'no' : 'yes'
  })
}

/** Documents that are only in the file are made again, and all of them may be changed again. */
async function bringBack(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<void> {
  const { kube, namespace } = cluster
  const { documents } = await readAll(io, cluster, flags)
  for (const { biz, inCluster } of documents) {
    const { apiVersion, kind, metadata, spec } = biz
    const { name } = metadata
    if (!inCluster) {
      const made = { apiVersion, kind, metadata: { name, namespace }, spec }
      await kube.create(bizConfigs, made).catch(error => {
        if (!isAlreadyExists(error)) throw error
      })
      io.note(`${name} is there again`)
    } else if (isReadOnly(biz)) {
      const annotations = { [bizConfigAnnotations.readOnly]: null }
      await kube.patch(bizConfigs, { namespace, name }, { metadata: { annotations } })
      io.note(`${name} may be changed again`)
    }
  }
  if (documents.length) await hasPolicy(cluster, false)
}

async function giveBack({ kube, namespace }: Cluster, row: Migration, flags: MigrateFlags): Promise<Told> {
  const { wanted, existing, from, attachedNodeId } = row
  if (!wanted || !existing) return { ok: false, words: `left alone: ${row.message}` }
  const found = differences(wanted, existing)
  if (found.length && !flags.allowChanges)
    return { ok: false, words: `left alone: the document asks for something else (${found.join('; ')})` }
  const biz = { namespace, name: from.slice(from.indexOf('/') + 1) }
  const key = { namespace, name: existing.metadata.name }
  const read = async () => kube.get(bizConfigs, biz)

  const ready = await waitFor(flags, async () => (isServed(await read(), attachedNodeId) ? true : undefined))
  if (!ready) return { ok: false, words: `left alone: no controller serves ${biz.name}; is BIZ_CONFIG_MODE node-only?` }
  // Whatever comes in between: nothing may be cleaned up on the node.
  const annotations = { [nodeConfigAnnotations.forceDelete]: 'rollback' }
  await kube.patch<NodeConfig>(nodeConfigs, key, { metadata: { annotations } })
  await kube.delete(nodeConfigs, key, { ...(existing.metadata.uid && { uid: existing.metadata.uid }) })
  const back = await waitFor(flags, async () => {
    const record = recordIn(await read(), attachedNodeId)
    return record && record.reason !== 'OwnedByNodeConfig' && record.state !== 'Pending' ? record : undefined
  })
  if (back?.state === 'Configured') return { ok: true, words: `back at ${biz.name}, as wanted (${back.lastJobName})` }
  if (back) return { ok: false, words: `back at ${biz.name}, and not as wanted: ${back.reason}: ${back.message}` }
  return { ok: false, words: `given back; nothing was heard of it in time` }
}

/** The controller has said that it knows the node by this document too. */
function isServed(biz: BizConfig | undefined, nodeId: string): boolean {
  return recordIn(biz, nodeId)?.reason === 'OwnedByNodeConfig'
}

function recordIn(biz: BizConfig | undefined, nodeId: string) {
  return biz && recordFor(biz, nodeId)
}
