/**
 * Applies the steps of a plan. Every step is idempotent.
 */
import { requestedByAnnotation } from '../contract/audit.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigFinalizer } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'
import { isAlreadyExists, isForbidden, isNotFound, kubeErrorIn } from '../kube/errors.ts'
import { keyText } from '../kube/keys.ts'
import { jobs } from '../kube/resources.ts'
import { explain } from '../runtime/errors.ts'
import type { Caches } from './caches.ts'
import type { AgentSettings } from './config.ts'
import type { ConfigWriter, MetadataPatch } from './config-writer.ts'
import { agentJob } from './job.ts'
import type { LatestState } from './latest-state.ts'
import { addressesOfOthers } from './node-claims.ts'
import type { Observed } from './plan/observed.ts'
import { requestedOf } from './plan/requested.ts'
import type { Step } from './plan/step.ts'
import type { ServiceNetworks } from './service-networks.ts'
import type { JobTrace } from './traces.ts'

export interface ApplyDeps {
  kube: Pick<Kube, 'get' | 'create' | 'delete'>
  configs: ConfigWriter
  latest: LatestState
  agent: AgentSettings
  serviceNetworks: ServiceNetworks
  caches: Pick<Caches, 'nodes'>
}

/** Returns the config after the step. The trace is for a Job that the step creates. */
export async function apply(
  deps: ApplyDeps,
  observed: Observed,
  config: NodeConfig,
  step: Step,
  trace?: JobTrace,
): Promise<NodeConfig> {
  const { kube, latest } = deps
  const { metadata } = config
  switch (step.do) {
    case 'addFinalizer':
      return patchMetadata(deps, config, { finalizers: [...(metadata.finalizers ?? []), nodeConfigFinalizer] })
    case 'removeFinalizer':
      return patchMetadata(deps, config, {
        finalizers: (metadata.finalizers ?? []).filter(name => name !== nodeConfigFinalizer),
      })
    case 'clearRequests': {
      const { retry, check } = nodeConfigAnnotations
      const given = [retry, check, requestedByAnnotation].filter(name => metadata.annotations?.[name] !== undefined)
      return patchMetadata(deps, config, { annotations: Object.fromEntries(given.map(name => [name, null])) })
    }
    case 'createJob':
      await createJob(deps, observed, config, step, trace)
      return config
    case 'deleteJob': {
      const key = { ...namespaceOf(config), name: step.name }
      await kube.delete(jobs, key, { propagation: 'Background', uid: step.uid })
      latest.deletedJob(keyText(key), step.uid)
      return config
    }
  }
}

/** The API server rejects every create in a namespace that is being deleted, so no cleanup Job can start. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (!isForbidden(error)) return false
  const found = kubeErrorIn(error)
  const causes = found?.details?.causes ?? []
  return causes.some(({ reason }) => reason === 'NamespaceTerminating') || /being terminated/.test(found?.message ?? '')
}

async function patchMetadata(
  { configs, latest }: ApplyDeps,
  config: NodeConfig,
  patch: MetadataPatch,
): Promise<NodeConfig> {
  try {
    return latest.wroteConfig(config, await configs.patchMetadata(config, patch))
  } catch (error) {
    if (config.metadata.deletionTimestamp && isNotFound(error)) return config
    throw explain(`cannot patch the metadata of ${config.metadata.name}`, error)
  }
}

async function createJob(
  { kube, latest, agent, serviceNetworks, caches }: ApplyDeps,
  { node, now, agentHash, agentRollout }: Observed,
  config: NodeConfig,
  { name, action, attempt, takesSlot }: Step & { do: 'createJob' },
  trace: JobTrace | undefined,
): Promise<void> {
  if (!node) throw new Error(`cannot create Job ${name}: no node`)
  const { interfaces, specHash } = requestedOf(config)
  const traced = trace && { traceparent: trace.traceparent }
  const work = { config, node, interfaces, specHash, action, attempt, takesSlot, agentHash, agentRollout, ...traced }
  const addressesOfNodes = addressesOfOthers(caches, node, interfaces)
  const job = agentJob({ ...work, addressesOfNodes, serviceCIDRs: await serviceNetworks() }, agent)
  try {
    latest.createdJob(await kube.create(jobs, job))
    trace?.created(name, now)
  } catch (error) {
    if (!isAlreadyExists(error)) throw explain(`cannot create Job ${name}`, error)
    const found = await kube.get(jobs, { ...namespaceOf(config), name })
    if (found) latest.createdJob(found)
  }
}

function namespaceOf({ metadata }: NodeConfig): { namespace?: string } {
  return metadata.namespace ? { namespace: metadata.namespace } : {}
}
