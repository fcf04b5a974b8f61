/**
 * Input of a migration: the cluster, and MultiNicBizConfigs from it or from files. A file may use the older API group, and may be
 * the output of `kubectl get multinicclusterconfigs -o yaml`.
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
    throw new CliError(`namespace ${namespace} has no MultiNicBizConfig ${flags.config}`)
  const [machines, configs] = await Promise.all([kube.list(nodes), kube.list(nodeConfigs, { namespace })])
  return { documents, nodes: machines.items, configs: configs.items, namespace }
}

/** Empty if the CRD is already deleted. */
async function listed(kube: KubeClient, namespace: string): Promise<BizConfig[]> {
  try {
    return (await kube.list(bizConfigs, { namespace })).items
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

const kinds = ['MultiNicBizConfig', 'MultiNicClusterConfig']

/** As in the cluster: with the served API group, in the namespace of the controller. */
async function documentsIn(io: Io, filename: string, namespace: string): Promise<BizConfig[]> {
  const { objects, origin } = await readObjects(io, filename)
  const found = objects.filter(({ kind }) => kinds.includes(String(kind)))
  if (found.length === 0) throw new CliError(`${origin} contains no MultiNicBizConfig; check kind`)
  return found.map(object => documentFrom(object, origin, namespace))
}

function documentFrom({ apiVersion, metadata, spec, status }: Source, origin: string, namespace: string): BizConfig {
  const name = metadata?.name
  if (typeof name !== 'string' || !name) throw new CliError(`${origin}: an object has no metadata.name`)
  const group = String(apiVersion).split('/')[0]
  if (group !== nodeConfigGroup && group !== oldBizConfigGroup)
    throw new CliError(
      `${origin}: the API group of ${name} is ${group}, not ${nodeConfigGroup} or ${oldBizConfigGroup}`,
    )
  const parsedSpec = bizConfigSpec.safeParse(spec)
  if (!parsedSpec.success) {
    const mistakes = parsedSpec.error.issues.map(issue => `spec.${issue.path.join('.')}: ${issue.message}`)
    throw new CliError(`${origin}: ${name} is invalid: ${mistakes.slice(0, 10).join('; ')}`)
  }
  // An unreadable status only loses the recorded indexes.
  const parsedStatus = bizConfigStatus.safeParse(status)
  return {
    apiVersion: `${nodeConfigGroup}/v1`,
    kind: bizConfigs.kind,
    metadata: { name, namespace },
    spec: parsedSpec.data,
    ...(parsedStatus.success && { status: parsedStatus.data }),
  }
}
