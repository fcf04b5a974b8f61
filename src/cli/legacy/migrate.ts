/**
 * `multinic migrate`: from MultiNicBizConfigs to one MultiNicNodeConfig per node, and back, without changing a NIC.
 *
 * The whole state is in the cluster, so you can stop a migration at any point and start it again. An agent that only checks takes
 * over a node. A node that differs from its request stays as it is until you allow changes.
 */
import { admissionPolicies, admissionPolicyBindings } from '../../contract/admission.ts'
import { readOnlyPolicy, readOnlyPolicyBinding } from '../../contract/legacy/biz-admission.ts'
import { bizConfigAnnotations, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../contract/node-config.ts'
import { isNotFound } from '../../kube/errors.ts'
import { type Cluster, withCluster } from '../cluster.ts'
import { CliError, type Ending, type Io } from '../io.ts'
import { type Format, print } from '../output.ts'
import { printable } from '../render/paint.ts'
import { waitFor } from '../wait.ts'
import { type MigrateSourceFlags, readAll } from './migration-input.ts'
import { isSettled, type Migration, planMigration } from './migration-plan.ts'
import { migrationLines } from './migration-text.ts'

export interface MigrateFlags extends MigrateSourceFlags {
  output?: Format
  node?: string
  phase?: string
  timeout?: string
  allowChanges?: boolean
}

/** Viola takes over objects of this field manager, like those of kubectl. */
const fieldManager = 'kubectl-multinic'

export async function plan(io: Io, flags: MigrateFlags): Promise<Ending> {
  const rows = await shown(io, flags, 'plan')
  return rows.every(({ action }) => action !== 'blocked' && action !== 'differs') ? 'yes' : 'no'
}

export async function verify(io: Io, flags: MigrateFlags): Promise<Ending> {
  return allDone(await shown(io, flags, 'verify')) ? 'yes' : 'no'
}

async function shown(io: Io, flags: MigrateFlags, mode: 'plan' | 'verify'): Promise<Migration[]> {
  const rows = await withCluster(io, flags, cluster => planned(io, cluster, flags))
  await print(io, flags.output, { data: rows, lines: ({ paint }) => migrationLines(rows, paint, mode) })
  return rows
}

export async function apply(io: Io, flags: MigrateFlags): Promise<Ending> {
  const { phase = '1' } = flags
  return withCluster(io, flags, async cluster => {
    if (phase === '2') return makeReadOnly(io, cluster, flags)
    if (phase === '3') return complete(io, cluster, flags)
    return takeOver(io, cluster, flags)
  })
}

async function planned(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<Migration[]> {
  const rows = planMigration(await readAll(io, cluster, flags))
  const chosen = rows.filter(({ nodeName }) => flags.node === undefined || nodeName === flags.node)
  if (flags.node !== undefined && chosen.length === 0)
    throw new CliError(`no MultiNicBizConfig lists a node ${flags.node}`)
  return chosen
}

const allDone = (rows: readonly Migration[]) => rows.every(({ action }) => action === 'done')

async function takeOver(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<Ending> {
  const rows = await planned(io, cluster, flags)
  if (rows.length === 0) io.note(`nothing to migrate: namespace ${cluster.namespace} has no MultiNicBizConfig`)
  const left = await oneByOne(io, rows, row => takeOverOne(cluster, row, flags))
  if (left > 0) io.note(`${left} of ${rows.length} nodes are not taken over. Fix them and run the command again.`)
  return left > 0 ? 'no' : 'yes'
}

export interface StepResult {
  ok: boolean
  text: string
}

/** Prints the result of each node, and returns how many failed. */
export async function oneByOne(
  io: Io,
  rows: readonly Migration[],
  step: (row: Migration) => Promise<StepResult>,
): Promise<number> {
  let failed = 0
  for (const [index, row] of rows.entries()) {
    const result = await step(row)
    if (!result.ok) failed++
    io.note(printable(`[${index + 1}/${rows.length}] ${row.nodeName}: ${result.text}`))
  }
  return failed
}

async function takeOverOne({ kube }: Cluster, row: Migration, flags: MigrateFlags): Promise<StepResult> {
  const { action, message, requested } = row
  if (action === 'done') return { ok: true, text: 'already taken over' }
  if (action === 'blocked' || !requested) return { ok: false, text: `skipped: ${message}` }
  if (action === 'differs')
    return {
      ok: false,
      text: `skipped: its MultiNicNodeConfig has another request, which takes precedence (${message})`,
    }
  const key = {
    namespace: requested.metadata.namespace ?? '',
    name: row.existing?.metadata.name ?? requested.metadata.name,
  }
  if (action === 'create') await kube.apply(nodeConfigs, requested, { fieldManager })
  let allowed = false
  const ended = await waitFor(flags, async () => {
    const config = await kube.get(nodeConfigs, key)
    if (!config) return { ok: false, text: 'its MultiNicNodeConfig was deleted meanwhile' }
    if (isSettled(config)) return { ok: true, text: takenOverText(config) }
    const ready = config.status?.conditions?.find(({ type }) => type === 'Ready')
    if (config.status?.state !== 'Failed') return undefined
    if (flags.allowChanges && !allowed) {
      allowed = true
      const annotations = { [nodeConfigAnnotations.retry]: 'migrate' }
      await kube.patch(nodeConfigs, key, { metadata: { annotations } })
    }
    if (allowed && ready?.reason === 'Drifted') return undefined
    const advice =
      ready?.reason === 'Drifted' ? '; nothing was changed. Use --allow-changes to let the agent change it' : ''
    return { ok: false, text: `differs from its request: ${ready?.reason}: ${ready?.message}${advice}` }
  })
  return ended ?? { ok: false, text: 'timeout; the takeover continues, and the next run shows its result' }
}

function takenOverText({ status }: NodeConfig): string {
  return `taken over: ${status?.nics} interfaces as requested (${status?.lastJobName})`
}

/** Phases 2 and 3 require that every node is taken over. */
async function requireAllDone(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<void> {
  const { node: _, ...every } = flags
  const rows = await planned(io, cluster, every)
  const missing = rows.filter(({ action }) => action !== 'done')
  if (missing.length === 0) return
  const some = missing.slice(0, 5).map(({ nodeName, message }) => `${nodeName}: ${message}`)
  throw new CliError(`${missing.length} of ${rows.length} nodes are not taken over yet: ${some.join('; ')}`)
}

async function makeReadOnly(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<Ending> {
  await requireAllDone(io, cluster, flags)
  const { kube } = cluster
  const { documents } = await readAll(io, cluster, flags)
  const served = await setPolicy(cluster, true)
  for (const { biz } of documents.filter(({ inCluster }) => inCluster)) {
    const { name } = biz.metadata
    const annotations = { [bizConfigAnnotations.readOnly]: 'true' }
    await kube.patch(bizConfigs, { namespace: cluster.namespace, name }, { metadata: { annotations } })
    io.note(`${name} is read-only`)
  }
  io.note(
    served
      ? 'the API server refuses changes of them'
      : 'this API server has no ValidatingAdmissionPolicy: the controller ignores changes of them and sets the condition ReadOnly',
  )
  return 'yes'
}

/** Creates or deletes the admission policy. False if the API server does not support it. */
export async function setPolicy({ kube }: Cluster, present: boolean): Promise<boolean> {
  const options = { fieldManager, force: true }
  try {
    if (present) {
      await kube.apply(admissionPolicies, readOnlyPolicy, options)
      await kube.apply(admissionPolicyBindings, readOnlyPolicyBinding, options)
    } else {
      await kube.delete(admissionPolicyBindings, { name: readOnlyPolicyBinding.metadata.name })
      await kube.delete(admissionPolicies, { name: readOnlyPolicy.metadata.name })
    }
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Prints the MultiNicBizConfigs, which a rollback needs, and deletes them. */
async function complete(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<Ending> {
  await requireAllDone(io, cluster, flags)
  const { kube, namespace } = cluster
  const documents = (await readAll(io, cluster, flags)).documents.filter(({ inCluster }) => inCluster)
  const { stringify } = await import('yaml')
  const texts = documents.map(({ biz: { apiVersion, kind, metadata, spec } }) =>
    stringify({ apiVersion, kind, metadata: { name: metadata.name, namespace }, spec }, { lineWidth: 0 }),
  )
  if (texts.length) io.out(texts.join('---\n'))
  for (const { biz } of documents) {
    const key = { namespace, name: biz.metadata.name }
    await kube.delete(bizConfigs, key)
    const gone = await waitFor(flags, async () => ((await kube.get(bizConfigs, key)) ? undefined : true))
    if (!gone) throw new CliError(`${biz.metadata.name} still exists; check its finalizers and the controller`)
    io.note(`${biz.metadata.name} is deleted; its nodes keep their MultiNicNodeConfigs`)
  }
  await setPolicy(cluster, false)
  io.note('now set BIZ_CONFIG_MODE=node-only; kubectl delete crd multinicbizconfigs.multinic.io removes the CRD')
  return 'yes'
}
