/**
 * `multinic migrate rollback`: returns the nodes to their MultiNicBizConfigs, without changing a NIC.
 *
 * A MultiNicNodeConfig is deleted only after the status of its MultiNicBizConfig shows that it would own the node.
 */
import { type BizConfig, bizConfigAnnotations, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../contract/node-config.ts'
import { isAlreadyExists } from '../../kube/errors.ts'
import { type Cluster, withCluster } from '../cluster.ts'
import type { Ending, Io } from '../io.ts'
import { waitFor } from '../wait.ts'
import { type MigrateFlags, oneByOne, type StepResult, setPolicy } from './migrate.ts'
import { readAll } from './migration-input.ts'
import { differences, isFrom, isReadOnly, type Migration, planMigration, recordFor } from './migration-plan.ts'

export async function rollback(io: Io, flags: MigrateFlags): Promise<Ending> {
  return withCluster(io, flags, async cluster => {
    await restore(io, cluster, flags)
    const found = await readAll(io, cluster, flags)
    const rows = planMigration(found).filter(({ nodeName }) => flags.node === undefined || nodeName === flags.node)
    const migrated = rows.filter(({ existing, from }) => existing && isFrom(existing, from))
    if (migrated.length === 0) io.note('nothing to roll back: no node was migrated from these MultiNicBizConfigs')
    const left = await oneByOne(io, migrated, row => returnNode(cluster, row, flags))
    return left > 0 ? 'no' : 'yes'
  })
}

/** Creates MultiNicBizConfigs that are only in the file, and makes all of them writable. */
async function restore(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<void> {
  const { kube, namespace } = cluster
  const { documents } = await readAll(io, cluster, flags)
  for (const { biz, inCluster } of documents) {
    const { apiVersion, kind, metadata, spec } = biz
    const { name } = metadata
    if (!inCluster) {
      const object = { apiVersion, kind, metadata: { name, namespace }, spec }
      await kube.create(bizConfigs, object).catch(error => {
        if (!isAlreadyExists(error)) throw error
      })
      io.note(`${name} is created again`)
    } else if (isReadOnly(biz)) {
      const annotations = { [bizConfigAnnotations.readOnly]: null }
      await kube.patch(bizConfigs, { namespace, name }, { metadata: { annotations } })
      io.note(`${name} is writable again`)
    }
  }
  if (documents.length) await setPolicy(cluster, false)
}

async function returnNode({ kube, namespace }: Cluster, row: Migration, flags: MigrateFlags): Promise<StepResult> {
  const { requested, existing, from, attachedNodeId } = row
  if (!requested || !existing) return { ok: false, text: `skipped: ${row.message}` }
  const found = differences(requested, existing)
  if (found.length && !flags.allowChanges)
    return { ok: false, text: `skipped: the MultiNicBizConfig has another request (${found.join('; ')})` }
  const biz = { namespace, name: from.slice(from.indexOf('/') + 1) }
  const key = { namespace, name: existing.metadata.name }
  const read = async () => kube.get(bizConfigs, biz)

  const ready = await waitFor(flags, async () => (isServed(await read(), attachedNodeId) ? true : undefined))
  if (!ready) return { ok: false, text: `skipped: no controller serves ${biz.name}; check BIZ_CONFIG_MODE` }
  // Whatever happens in between, nothing may be cleaned up on the node.
  const annotations = { [nodeConfigAnnotations.forceDelete]: 'rollback' }
  await kube.patch<NodeConfig>(nodeConfigs, key, { metadata: { annotations } })
  await kube.delete(nodeConfigs, key, { ...(existing.metadata.uid && { uid: existing.metadata.uid }) })
  const back = await waitFor(flags, async () => {
    const record = recordIn(await read(), attachedNodeId)
    return record && record.reason !== 'OwnedByNodeConfig' && record.state !== 'Pending' ? record : undefined
  })
  if (back?.state === 'Configured')
    return { ok: true, text: `returned to ${biz.name}, as requested (${back.lastJobName})` }
  if (back)
    return { ok: false, text: `returned to ${biz.name}, but differs from its request: ${back.reason}: ${back.message}` }
  return { ok: false, text: 'returned; its state was not reported in time' }
}

/** Reports whether the controller knows that this MultiNicBizConfig lists the node. */
function isServed(biz: BizConfig | undefined, nodeId: string): boolean {
  return recordIn(biz, nodeId)?.reason === 'OwnedByNodeConfig'
}

function recordIn(biz: BizConfig | undefined, nodeId: string) {
  return biz && recordFor(biz, nodeId)
}
