/**
 * The informers of the controller, with their indexes: configs, Nodes, agent Jobs and Pods, and its own namespace.
 */
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'
import { createInformer, type Informer } from '../kube/informer.ts'
import { jobs, namespaces, nodes, pods } from '../kube/resources.ts'
import type { JobObject, KubeObject, NodeObject, PodObject } from '../kube/types.ts'
import type { Log } from '../telemetry/log.ts'
import { agentSelector, jobAnnotations, jobLabels } from './job.ts'
import { instanceIdOf, ownAddressesOf, spellingsOf } from './machine.ts'
import { hasFailedChange } from './plan/config-status.ts'
import { isOnHold } from './plan/deletion-hold.ts'
import { trimConfig, trimJob, trimNamespace, trimNode, trimPod } from './trim.ts'

export interface Caches {
  configs: Informer<NodeConfig>
  nodes: Informer<NodeObject>
  jobs: Informer<JobObject>
  pods: Informer<PodObject>
  /** The namespace of the controller only. */
  namespaces: Informer<KubeObject>
}

export const configIndex: Record<string, (config: NodeConfig) => string[]> = {
  node: config => [config.spec.nodeName],
  machine: config => spellingsOf(instanceIdOf(config)),
  failed: config => (hasFailedChange(config) ? ['yes'] : []),
  deleted: config => (config.metadata.deletionTimestamp ? [isOnHold(config) ? 'onHold' : 'other'] : []),
}

export function createCaches(kube: Pick<Kube, 'list' | 'watch'>, namespace: string, log: Log): Caches {
  const agents = { namespace, labelSelector: agentSelector, log }
  return {
    configs: createInformer(kube, nodeConfigs, { namespace, log, keep: trimConfig, index: configIndex }),
    nodes: createInformer(kube, nodes, {
      log,
      keep: trimNode,
      index: {
        machine: node => spellingsOf(node.status?.nodeInfo?.systemUUID ?? ''),
        address: ownAddressesOf,
      },
    }),
    jobs: createInformer(kube, jobs, {
      ...agents,
      keep: trimJob,
      index: {
        node: job => [nodeOf(job)],
        // Jobs of the Go implementation name only the machine.
        instance: job => (nodeOf(job) ? [] : spellingsOf(job.metadata.labels?.[jobLabels.legacyInstance] ?? '')),
        config: job => [job.metadata.annotations?.[jobAnnotations.config] ?? ''],
        live: job => (finishOf(job) ? [] : ['yes']),
        rollout: job => [finishOf(job) ? undefined : rolloutKindOf(job)].filter(kind => kind !== undefined),
      },
    }),
    pods: createInformer(kube, pods, {
      ...agents,
      keep: trimPod,
      index: { job: pod => [jobUidOf(pod)], node: pod => [pod.spec.nodeName ?? ''] },
    }),
    namespaces: createInformer(kube, namespaces, {
      log,
      fieldSelector: `metadata.name=${namespace}`,
      keep: trimNamespace,
    }),
  }
}

/** Jobs of the Go implementation, which an upgrade may find, carry the node name only as a label. */
export function nodeOf(job: JobObject): string {
  return job.spec.template.spec.nodeName ?? job.metadata.labels?.[jobLabels.node] ?? ''
}

export type RolloutKind = 'change' | 'check'

/** How a live Job counts against the limits of the rollout; undefined for one that does not count. */
export function rolloutKindOf({ metadata: { annotations, labels } }: JobObject): RolloutKind | undefined {
  if (labels?.[jobLabels.action] === 'check') return 'check'
  return annotations?.[jobAnnotations.rollout] === 'change' ? 'change' : undefined
}

export function jobUidOf(pod: PodObject): string {
  const owner = pod.metadata.ownerReferences?.find(({ kind }) => kind === 'Job')
  const labels = pod.metadata.labels ?? {}
  return owner?.uid ?? labels['batch.kubernetes.io/controller-uid'] ?? labels['controller-uid'] ?? ''
}

export interface Finish {
  complete: boolean
  at?: string
  message: string
}

export function finishOf(job: JobObject): Finish | undefined {
  const found = job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  )
  if (!found) return undefined
  const at = job.status?.completionTime ?? found.lastTransitionTime
  return { complete: found.type === 'Complete', message: found.message ?? '', ...(at && { at }) }
}
