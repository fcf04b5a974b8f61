/**
 * The steps of a plan, as requests. Each may be done twice without harm.
 */
import { type NodeConfig, nodeConfigAnnotations, nodeConfigFinalizer, nodeConfigs } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'
import { isAlreadyExists, isForbidden, isNotFound, kubeErrorIn } from '../kube/errors.ts'
import { keyText } from '../kube/keys.ts'
import { jobs } from '../kube/resources.ts'
import type { Key } from '../kube/types.ts'
import { explain } from '../runtime/errors.ts'
import type { AgentSettings } from './config.ts'
import { agentJob } from './job.ts'
import type { Memory } from './latest-state.ts'
import type { Observed } from './plan/observed.ts'
import { type Step, workOf } from './plan/work.ts'
import type { JobTrace } from './traces.ts'

export interface Hands {
  kube: Kube
  memory: Memory
  agent: AgentSettings
}

/** Returns the config as it is afterwards. The trace is that of a Job that is made. */
export async function apply(
  hands: Hands,
  seen: Observed,
  config: NodeConfig,
  step: Step,
  trace?: JobTrace,
): Promise<NodeConfig> {
  const { kube, memory } = hands
  const { metadata } = config
  switch (step.do) {
    case 'addFinalizer':
      return patchMetadata(hands, config, { finalizers: [...(metadata.finalizers ?? []), nodeConfigFinalizer] })
    case 'removeFinalizer':
      return patchMetadata(hands, config, {
        finalizers: (metadata.finalizers ?? []).filter(name => name !== nodeConfigFinalizer),
      })
    case 'clearRetry':
      return patchMetadata(hands, config, { annotations: { [nodeConfigAnnotations.retry]: null } })
    case 'createJob':
      await createJob(hands, seen, config, step, trace)
      return config
    case 'deleteJob': {
      const key = { ...namespaceOf(config), name: step.name }
      await kube.delete(jobs, key, { propagation: 'Background', uid: step.uid })
      memory.deletedJob(keyText(key), step.uid)
      return config
    }
  }
}

/** In a namespace that is being deleted nothing can be created: the cleanup would block the deletion for ever. */
export function isNamespaceEnding(error: unknown): boolean {
  if (!isForbidden(error)) return false
  const found = kubeErrorIn(error)
  const causes = found?.details?.causes ?? []
  return causes.some(({ reason }) => reason === 'NamespaceTerminating') || /being terminated/.test(found?.message ?? '')
}

/** Lists are replaced as a whole, so the version guards against somebody else's change. */
async function patchMetadata({ kube, memory }: Hands, config: NodeConfig, change: object): Promise<NodeConfig> {
  const { resourceVersion } = config.metadata
  try {
    const after = await kube.patch(nodeConfigs, keyFor(config), { metadata: { ...change, resourceVersion } })
    return memory.wroteConfig(config, after)
  } catch (error) {
    if (config.metadata.deletionTimestamp && isNotFound(error)) return config
    throw explain(`changing the metadata of ${config.metadata.name}`, error)
  }
}

async function createJob(
  { kube, memory, agent }: Hands,
  { node, now }: Observed,
  config: NodeConfig,
  { name, action, attempt, takesSlot }: Step & { do: 'createJob' },
  trace: JobTrace | undefined,
): Promise<void> {
  if (!node) throw new Error(`${name} has no node`)
  const { interfaces, specHash } = workOf(config)
  const traced = trace && { traceparent: trace.traceparent }
  const job = agentJob({ config, node, interfaces, specHash, action, attempt, takesSlot, ...traced }, agent)
  try {
    memory.createdJob(await kube.create(jobs, job))
    trace?.made(name, now)
  } catch (error) {
    if (!isAlreadyExists(error)) throw explain(`creating Job ${name}`, error)
    const found = await kube.get(jobs, { ...namespaceOf(config), name })
    if (found) memory.createdJob(found)
  }
}

export function keyFor(config: NodeConfig): Key {
  return { ...namespaceOf(config), name: config.metadata.name }
}

function namespaceOf({ metadata }: NodeConfig): { namespace?: string } {
  return metadata.namespace ? { namespace: metadata.namespace } : {}
}
