/**
 * What a migration works on: the cluster, and MultiNicBizConfigs from it or from files. Files may be of the older group, and may be
 * what `kubectl get multinicclusterconfigs -o yaml` wrote.
 */
import {
  type BizConfig,
  bizConfigSpec,
  bizConfigStatus,
  bizConfigs,
  oldBizConfigGroup,
} from '../../contract/legacy/biz-config.ts'
import { nodeConfigGroup, nodeConfigs } from '../../contract/node-config.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import { nodes } from '../../kube/resources.ts'
import type { Cluster, ClusterFlags } from '../cluster.ts'
import { readObjects, type Source } from '../dry-run.ts'
import { CliError, type Io } from '../io.ts'
import type { Document, Found } from './migration-plan.ts'

export interface MigrateSourceFlags extends ClusterFlags {
  filename?: string
  config?: string
}

export async function readAll(io: Io, { kube, namespace }: Cluster, flags: MigrateSourceFlags): Promise<Found> {
  const served = await listed(kube, namespace)
  const files = flags.filename === undefined ? [] : await documentsIn(io, flags.filename, namespace)
  const known = new Set(served.map(({ metadata }) => metadata.name))
  const documents: Document[] = [
    ...served.map(biz => ({ biz, inCluster: true })),
    ...files.filter(({ metadata }) => !known.has(metadata.name)).map(biz => ({ biz, inCluster: false })),
  ].filter(({ biz }) => flags.config === undefined || biz.metadata.name === flags.config)
  if (flags.config !== undefined && documents.length === 0)
    throw new CliError(`there is no MultiNicBizConfig ${flags.config} in namespace ${namespace}`)
  const [machines, configs] = await Promise.all([kube.list(nodes), kube.list(nodeConfigs, { namespace })])
  return { documents, nodes: machines.items, configs: configs.items, namespace }
}

/** None where the definition is gone already. */
export async function listed(kube: KubeClient, namespace: string): Promise<BizConfig[]> {
  try {
    return (await kube.list(bizConfigs, { namespace })).items
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

const kinds = ['MultiNicBizConfig', 'MultiNicClusterConfig']

/** As the cluster would hold them: in the group that is served, in the namespace of the controller. */
export async function documentsIn(io: Io, filename: string, namespace: string): Promise<BizConfig[]> {
  const { objects, said } = await readObjects(io, filename)
  const found = objects.filter(({ kind }) => kinds.includes(String(kind)))
  if (found.length === 0) throw new CliError(`${said} holds no MultiNicBizConfig; its kind must be said`)
  return found.map(object => documentFrom(object, said, namespace))
}

function documentFrom({ apiVersion, metadata, spec, status }: Source, said: string, namespace: string): BizConfig {
  const name = metadata?.name
  if (typeof name !== 'string' || !name) throw new CliError(`${said}: an object has no metadata.name`)
  const group = String(apiVersion).split('/')[0]
  if (group !== nodeConfigGroup && group !== oldBizConfigGroup)
    throw new CliError(`${said}: ${name} is of group ${group}, not of ${nodeConfigGroup} or ${oldBizConfigGroup}`)
  const wanted = bizConfigSpec.safeParse(spec)
  if (!wanted.success) {
    const wrong = wanted.error.issues.map(issue => `spec.${issue.path.join('.')}: ${issue.message}`)
    throw new CliError(`${said}: ${name} cannot be used: ${wrong.slice(0, 10).join('; ')}`)
  }
  // A status that nobody can read tells no numbers; the document counts.
  const told = bizConfigStatus.safeParse(status)
  return {
    apiVersion: `${nodeConfigGroup}/v1`,
    kind: bizConfigs.kind,
    metadata: { name, namespace },
    spec: wanted.data,
    ...(told.success && { status: told.data }),
  }
}
