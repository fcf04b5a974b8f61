/**
 * `multinic migrate`: from MultiNicBizConfigs to a MultiNicNodeConfig a node, and back, without touching a NIC.
 *
 * All that a migration knows is in the cluster: it may be stopped at any point and started again. A node is taken over by an
 * agent that only looks; one that is not as wanted is left as it is until a person says otherwise.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseDuration } from '../../contract/duration.ts'
import {
  admissionPolicies,
  admissionPolicyBindings,
  readOnlyPolicy,
  readOnlyPolicyBinding,
} from '../../contract/legacy/biz-admission.ts'
import { bizConfigAnnotations, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../contract/node-config.ts'
import { isNotFound } from '../../kube/errors.ts'
import { type Cluster, withCluster } from '../cluster.ts'
import { CliError, type Ending, type Io } from '../io.ts'
import { type Format, print } from '../output.ts'
import { harmless } from '../render/paint.ts'
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

const askEveryMs = 250
/** A person's, by its name: Viola takes over what people made. */
const fieldManager = 'kubectl-multinic'

export async function plan(io: Io, flags: MigrateFlags): Promise<Ending> {
  const rows = await withCluster(io, flags, cluster => planned(io, cluster, flags))
  await print(io, flags.output, { data: rows, lines: ({ paint }) => migrationLines(rows, paint, 'plan') })
  return rows.every(({ action }) => action !== 'blocked' && action !== 'differs') ? 'yes' : 'no'
}

export async function verify(io: Io, flags: MigrateFlags): Promise<Ending> {
  const rows = await withCluster(io, flags, cluster => planned(io, cluster, flags))
  await print(io, flags.output, { data: rows, lines: ({ paint }) => migrationLines(rows, paint, 'verify') })
  return allDone(rows) ? 'yes' : 'no'
}

export async function apply(io: Io, flags: MigrateFlags): Promise<Ending> {
  const { phase = '1' } = flags
  return withCluster(io, flags, async cluster => {
    if (phase === '2') return makeReadOnly(io, cluster, flags)
    if (phase === '3') return complete(io, cluster, flags)
    return takeOver(io, cluster, flags)
  })
}

export async function planned(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<Migration[]> {
  const rows = planMigration(await readAll(io, cluster, flags))
  const chosen = rows.filter(({ nodeName }) => flags.node === undefined || nodeName === flags.node)
  if (flags.node !== undefined && chosen.length === 0)
    throw new CliError(`no MultiNicBizConfig names a node ${flags.node}`)
  return chosen
}

const allDone = (rows: readonly Migration[]) => rows.every(({ action }) => action === 'done')

async function takeOver(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<Ending> {
  const rows = await planned(io, cluster, flags)
  if (rows.length === 0) io.note(`namespace ${cluster.namespace} has no MultiNicBizConfig: there is nothing to migrate`)
  let left = 0
  for (const [index, row] of rows.entries()) {
    const said = await takeOverOne(cluster, row, flags)
    if (!said.ok) left++
    io.note(harmless(`[${index + 1}/${rows.length}] ${row.nodeName}: ${said.words}`))
  }
  if (left > 0)
    io.note(`${left} of ${rows.length} nodes are not taken over; the others are. Run it again when they are fine`)
  return left > 0 ? 'no' : 'yes'
}

interface Told {
  ok: boolean
  words: string
}

async function takeOverOne({ kube }: Cluster, row: Migration, flags: MigrateFlags): Promise<Told> {
  const { action, message, wanted } = row
  if (action === 'done') return { ok: true, words: 'taken over before' }
  if (action === 'blocked' || !wanted) return { ok: false, words: `left alone: ${message}` }
  if (action === 'differs')
    return { ok: false, words: `left alone: its MultiNicNodeConfig asks for something else and wins (${message})` }
  const key = { namespace: wanted.metadata.namespace ?? '', name: row.existing?.metadata.name ?? wanted.metadata.name }
  if (action === 'create') await kube.apply(nodeConfigs, wanted, { fieldManager })
  let allowed = false
  const ended = await waitFor(flags, async () => {
    const config = await kube.get(nodeConfigs, key)
    if (!config) return { ok: false, words: 'its MultiNicNodeConfig was deleted meanwhile' }
    if (isSettled(config)) return { ok: true, words: wordsFor(config) }
    const ready = config.status?.conditions?.find(({ type }) => type === 'Ready')
    if (config.status?.state !== 'Failed') return undefined
    if (flags.allowChanges && !allowed) {
      allowed = true
      const annotations = { [nodeConfigAnnotations.retry]: 'migrate' }
      await kube.patch(nodeConfigs, key, { metadata: { annotations } })
    }
    if (allowed && ready?.reason === 'Drifted') return undefined
    const advice = ready?.reason === 'Drifted' ? '; nothing was changed. --allow-changes lets its agent make it so' : ''
    return { ok: false, words: `not as wanted: ${ready?.reason}: ${ready?.message}${advice}` }
  })
  return ended ?? { ok: false, words: `nothing was heard in time; it goes on by itself, and the next run looks again` }
}

function wordsFor({ status }: NodeConfig): string {
  return `taken over: ${status?.nics} interfaces as wanted (${status?.lastJobName})`
}

/** What it finds, or undefined when the time is over. */
export async function waitFor<T>(flags: MigrateFlags, look: () => Promise<T | undefined>): Promise<T | undefined> {
  const ms = parseDuration(flags.timeout ?? '5m')
  if (ms === undefined) throw new CliError(`--timeout: "${flags.timeout}" is no duration; write 90s or 5m`)
  for (const until = performance.now() + ms; ; ) {
    const found = await look()
    if (found !== undefined || performance.now() > until) return found
    await sleep(askEveryMs)
  }
}

/** A step that must not be taken halfway: every node first. */
async function demandAll(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<void> {
  const { node: _, ...every } = flags
  const rows = await planned(io, cluster, every)
  const missing = rows.filter(({ action }) => action !== 'done')
  if (missing.length === 0) return
  const some = missing.slice(0, 5).map(({ nodeName, message }) => `${nodeName}: ${message}`)
  throw new CliError(`${missing.length} of ${rows.length} nodes are not taken over yet: ${some.join('; ')}`)
}

async function makeReadOnly(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<Ending> {
  await demandAll(io, cluster, flags)
  const { kube } = cluster
  const { documents } = await readAll(io, cluster, flags)
  const served = await hasPolicy(cluster, true)
  for (const { biz } of documents.filter(({ inCluster }) => inCluster)) {
    const { name } = biz.metadata
    const annotations = { [bizConfigAnnotations.readOnly]: 'true' }
    await kube.patch(bizConfigs, { namespace: cluster.namespace, name }, { metadata: { annotations } })
    io.note(`${name} is read-only`)
  }
  io.note(
    served
      ? 'the server refuses changes of them'
      : 'this server has no ValidatingAdmissionPolicy: changes of them are ignored, and the condition ReadOnly says so',
  )
  return 'yes'
}

/** Puts the policy there, or takes it away. False where the server does not know such a thing. */
export async function hasPolicy({ kube }: Cluster, wanted: boolean): Promise<boolean> {
  const options = { fieldManager, force: true }
  try {
    if (wanted) {
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

/** The documents go; as they were, they are written out: they are the way back. */
async function complete(io: Io, cluster: Cluster, flags: MigrateFlags): Promise<Ending> {
  await demandAll(io, cluster, flags)
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
    if (!gone) throw new CliError(`${biz.metadata.name} is still there; look at its finalizers and at the controller`)
    io.note(`${biz.metadata.name} is gone; its nodes stay with their MultiNicNodeConfigs`)
  }
  await hasPolicy(cluster, false)
  io.note('now set BIZ_CONFIG_MODE=node-only; kubectl delete crd multinicbizconfigs.multinic.io removes the definition')
  return 'yes'
}
