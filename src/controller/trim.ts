/**
 * Trims objects to the fields that the controller reads, so that the caches of 5,000 nodes stay small. Pure.
 */
import { backendLabel } from '../contract/backend.ts'
import type { ContainerStatus, JobObject, KubeObject, NodeObject, ObjectMeta, PodObject } from '../kube/types.ts'
import { jobAnnotations, jobLabels } from './job.ts'
import { providedAddresses, takeoverLabel } from './machine.ts'
import { isNetworkLabel, isNotReadyTaint } from './networks/node-labels.ts'
import { nodeCondition } from './node-condition.ts'

const ownLabels = [backendLabel, takeoverLabel]

/** Nothing reads managedFields, and they are often as long as the rest. */
function withoutManagedFields({ managedFields: _, ...metadata }: ObjectMeta & { managedFields?: unknown }): ObjectMeta {
  return metadata
}

export function trimConfig<T extends KubeObject>(config: T): T {
  const { annotations = {}, ...metadata } = withoutManagedFields(config.metadata)
  // A copy of the whole spec, which only kubectl reads.
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...kept } = annotations
  return { ...config, metadata: { ...metadata, ...(Object.keys(kept).length && { annotations: kept }) } }
}

export function trimNode({ apiVersion, kind, metadata, spec = {}, status = {} }: NodeObject): NodeObject {
  const { podCIDRs, taints } = spec
  const { systemUUID = '', bootID = '', osImage = '' } = status.nodeInfo ?? {}
  return {
    apiVersion,
    kind,
    metadata: identityOf(metadata, {
      labels: pick(metadata.labels, [...ownLabels, ...Object.keys(metadata.labels ?? {}).filter(isNetworkLabel)]),
      annotations: pick(metadata.annotations, [providedAddresses]),
    }),
    spec: {
      ...(podCIDRs && { podCIDRs }),
      // The whole list: a patch that removes the taint names its position.
      ...(taints?.some(isNotReadyTaint) && { taints }),
    },
    status: {
      addresses: (status.addresses ?? []).filter(({ type }) => /IP$/.test(type)),
      conditions: (status.conditions ?? []).filter(({ type }) => type === 'Ready' || type === nodeCondition),
      nodeInfo: { systemUUID, bootID, osImage },
    },
  }
}

export function trimNamespace({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { annotations = {}, labels = {} } = metadata
  const security = Object.keys(labels).filter(name => name.startsWith('pod-security.kubernetes.io/enforce'))
  return { apiVersion, kind, metadata: identityOf(metadata, { annotations, labels: pick(labels, security) }) }
}

export function trimJob({ apiVersion, kind, metadata, spec, status }: JobObject): JobObject {
  const { nodeName } = spec.template.spec
  return {
    apiVersion,
    kind,
    metadata: identityOf(metadata, {
      labels: pick(metadata.labels, Object.values(jobLabels)),
      annotations: pick(metadata.annotations, Object.values(jobAnnotations)),
    }),
    spec: { template: { spec: { ...(nodeName && { nodeName }), containers: [] } } },
    ...(status && { status }),
  }
}

export function trimPod({ apiVersion, kind, metadata, spec, status }: PodObject): PodObject {
  const { phase, reason, message, containerStatuses } = status ?? {}
  const owner = metadata.ownerReferences
  return {
    apiVersion,
    kind,
    metadata: identityOf(metadata, {
      labels: pick(metadata.labels, ['job-name', 'batch.kubernetes.io/controller-uid', 'controller-uid']),
      ...(owner && { ownerReferences: owner }),
    }),
    spec: { ...(spec.nodeName && { nodeName: spec.nodeName }), containers: [] },
    status: {
      ...(phase && { phase }),
      ...(reason && { reason }),
      ...(message && { message }),
      ...(containerStatuses && { containerStatuses: containerStatuses.map(trimContainer) }),
    },
  }
}

function trimContainer({ name, restartCount = 0, state, lastState }: ContainerStatus): ContainerStatus {
  return { name, restartCount, ...(state && { state }), ...(lastState && { lastState }) }
}

function identityOf(metadata: ObjectMeta, more: Partial<ObjectMeta>): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata
  return {
    name,
    ...(namespace && { namespace }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
    ...(creationTimestamp && { creationTimestamp }),
    ...(deletionTimestamp && { deletionTimestamp }),
    ...more,
  }
}

function pick(all: Record<string, string> | undefined, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap(name => (all?.[name] === undefined ? [] : [[name, all[name]]])))
}
