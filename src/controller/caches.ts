/**
 * What the controller follows: configs, Nodes, and its own Jobs and Pods, each with the ways it is looked up.
 */
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'
import { createInformer, type Informer } from '../kube/informer.ts'
import { jobs, namespaces, nodes, pods } from '../kube/resources.ts'
import type { JobObject, KubeObject, NodeObject, PodObject } from '../kube/types.ts'
import type { Log } from '../telemetry/log.ts'
import { agentSelector, jobAnnotations, jobLabels } from './job.ts'
import { instanceIdOf, spellingsOf } from './machine.ts'
import { hasFailedChange } from './plan/work.ts'
import { keptConfig, keptJob, keptNamespace, keptNode, keptPod } from './trim.ts'

export interface Caches {
  configs: Informer<NodeConfig>
  nodes: Informer<NodeObject>
  jobs: Informer<JobObject>
  pods: Informer<PodObject>
  /** Our own one. */
  namespaces: Informer<KubeObject>
}

export const configIndex: Record<string, (config: NodeConfig) => string[]> = {
  node: config => [config.spec.nodeName],
  machine: config => spellingsOf(instanceIdOf(config)),
  failed: config => (hasFailedChange(config) ? ['yes'] : []),
}

export function createCaches(kube: Pick<Kube, 'list' | 'watch'>, namespace: string, log: Log): Caches {
  const agents = { namespace, labelSelector: agentSelector, log }
  return {
    configs: createInformer(kube, nodeConfigs, { namespace, log, keep: keptConfig, index: configIndex }),
    nodes: createInformer(kube, nodes, {
      log,
      keep: keptNode,
      index: { machine: node => spellingsOf(node.status?.nodeInfo?.systemUUID ?? '') },
    }),
    jobs: createInformer(kube, jobs, {
      ...agents,
      keep: keptJob,
      index: {
        node: job => [nodeOf(job)],
        // Jobs of the cluster-wide version name the machine alone.
        instance: job => (nodeOf(job) ? [] : spellingsOf(job.metadata.labels?.[jobLabels.legacyInstance] ?? '')),
        config: job => [job.metadata.annotations?.[jobAnnotations.config] ?? ''],
        live: job => (finishOf(job) ? [] : ['yes']),
        // What counts in a rollout, so that nobody goes through all Jobs to count a few.
        counted: job => (finishOf(job) ? [] : countedAs(job)),
      },
    }),
    pods: createInformer(kube, pods, {
      ...agents,
      keep: keptPod,
      index: { job: pod => [jobUidOf(pod)], node: pod => [pod.spec.nodeName ?? ''] },
    }),
    namespaces: createInformer(kube, namespaces, {
      log,
      fieldSelector: `metadata.name=${namespace}`,
      keep: keptNamespace,
    }),
  }
}

/** Jobs of the Go implementation, which an upgrade may meet, have the node's name as a label only. */
export function nodeOf(job: JobObject): string {
  return job.spec.template.spec.nodeName ?? job.metadata.labels?.[jobLabels.node] ?? ''
}

/** A live Job that changes a node, or checks one. */
export function countedAs({ metadata: { annotations, labels } }: JobObject): ('change' | 'check')[] {
  if (labels?.[jobLabels.action] === 'check') return ['check']
  return annotations?.[jobAnnotations.rollout] === 'change' ? ['change'] : []
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
