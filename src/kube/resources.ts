/**
 * The built-in kinds of Kubernetes that the components use.
 */
import type {
  EventObject,
  JobObject,
  KubeObject,
  LeaseObject,
  NodeObject,
  PodObject,
  Resource,
  SecretObject,
} from './types.ts'

export const nodes: Resource<NodeObject> = core('Node', 'nodes', false)
export const pods: Resource<PodObject> = core('Pod', 'pods')
export const secrets: Resource<SecretObject> = core('Secret', 'secrets')
export const events: Resource<EventObject> = core('Event', 'events')
export const namespaces: Resource = core('Namespace', 'namespaces', false)

export const jobs: Resource<JobObject> = {
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  plural: 'jobs',
  namespaced: true,
}

export const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

export const leases: Resource<LeaseObject> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}

/** Networks of Pods, of Multus. */
export const networkAttachments: Resource<KubeObject & { spec?: { config?: string } }> = {
  group: 'k8s.cni.cncf.io',
  version: 'v1',
  kind: 'NetworkAttachmentDefinition',
  plural: 'network-attachment-definitions',
  namespaced: true,
}

export const serviceCIDRs: Resource<KubeObject & { spec?: { cidrs?: string[] } }> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
}

export const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

function core<T extends KubeObject>(kind: string, plural: string, namespaced = true): Resource<T> {
  return { group: '', version: 'v1', kind, plural, namespaced }
}
