/**
 * Kubernetes objects, with the fields that the components read and write.
 */
import type { KubeObject, ObjectMeta } from '../contract/object.ts'

export type { KubeObject, ObjectMeta, OwnerReference, Resource } from '../contract/object.ts'

/** Cluster-scoped objects have no namespace. */
export interface Key {
  namespace?: string
  name: string
}

export type WatchEvent<T extends KubeObject> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; resourceVersion: string }

export interface NodeCondition {
  type: string
  status: string
  reason?: string
  message?: string
  lastHeartbeatTime?: string
  lastTransitionTime?: string
}

export interface NodeObject extends KubeObject {
  spec?: {
    podCIDRs?: string[]
    unschedulable?: boolean
    taints?: { key: string; effect: string; value?: string }[]
  }
  status?: {
    addresses?: { type: string; address: string }[]
    conditions?: NodeCondition[]
    nodeInfo?: {
      systemUUID?: string
      bootID?: string
      osImage?: string
      kernelVersion?: string
      machineID?: string
      architecture?: string
    }
  }
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string }
  running?: { startedAt?: string }
  terminated?: {
    exitCode: number
    reason?: string
    message?: string
    startedAt?: string
    finishedAt?: string
  }
}

export interface ContainerStatus {
  name: string
  restartCount?: number
  ready?: boolean
  image?: string
  imageID?: string
  state?: ContainerState
  lastState?: ContainerState
}

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: { fieldRef?: { fieldPath: string } }
}

export interface Container {
  name: string
  image: string
  imagePullPolicy?: string
  command?: string[]
  args?: string[]
  env?: EnvVar[]
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> }
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[]
  securityContext?: Record<string, unknown>
  terminationMessagePath?: string
  terminationMessagePolicy?: string
}

export interface PodSpec {
  nodeName?: string
  hostNetwork?: boolean
  dnsPolicy?: string
  restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  terminationGracePeriodSeconds?: number
  automountServiceAccountToken?: boolean
  enableServiceLinks?: boolean
  serviceAccountName?: string
  priorityClassName?: string
  imagePullSecrets?: { name: string }[]
  tolerations?: { operator?: string; key?: string; value?: string; effect?: string }[]
  securityContext?: Record<string, unknown>
  volumes?: { name: string; hostPath?: { path: string; type?: string } }[]
  containers: Container[]
}

export interface PodObject extends KubeObject {
  spec: PodSpec
  status?: {
    phase?: string
    reason?: string
    message?: string
    startTime?: string
    hostIP?: string
    podIP?: string
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[]
    containerStatuses?: ContainerStatus[]
  }
}

export interface JobObject extends KubeObject {
  spec: {
    completions?: number
    parallelism?: number
    backoffLimit?: number
    podReplacementPolicy?: string
    activeDeadlineSeconds?: number
    ttlSecondsAfterFinished?: number
    suspend?: boolean
    template: { metadata?: Partial<ObjectMeta>; spec: PodSpec }
  }
  status?: {
    active?: number
    succeeded?: number
    failed?: number
    ready?: number
    startTime?: string
    completionTime?: string
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[]
  }
}

export interface SecretObject extends KubeObject {
  type?: string
  data?: Record<string, string>
}

export interface LeaseObject extends KubeObject {
  spec?: {
    holderIdentity?: string
    leaseDurationSeconds?: number
    acquireTime?: string
    renewTime?: string
    leaseTransitions?: number
  }
}

export interface EventObject extends KubeObject {
  involvedObject: { apiVersion?: string; kind: string; name: string; namespace?: string; uid?: string }
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  count?: number
  firstTimestamp?: string
  lastTimestamp?: string
  source?: { component: string }
  reportingComponent?: string
}
