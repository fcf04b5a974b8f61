/**
 * The manifest of an agent Job. Every line of it was tested on a real kubelet and Job controller.
 *
 * It has no owner reference: foreground deletion of the config would kill the Jobs that must clean up after it. Its TTL or
 * the controller deletes it.
 */

import {
  type AgentInput,
  agentInputVariable,
  agentTraceVariable,
  maxNodeNetworks,
  type NodeAddress,
} from '../contract/agent-input.ts'
import { type Backend, type BackendMounts, backendDirectories, backendNames } from '../contract/backend.ts'
import { hashOf } from '../contract/hash.ts'
import { inputInterface } from '../contract/interface-hash.ts'
import type { Interface } from '../contract/interfaces.ts'
import { type NodeConfig, nodeConfigAnnotations } from '../contract/node-config.ts'
import type { JobObject, PodSpec } from '../kube/types.ts'
import type { AgentSettings } from './config.ts'
import { firstAddresses, instanceIdOf } from './machine.ts'
import type { Action, NodeFacts } from './plan/observed.ts'

export const agentName = 'multinic-agent'
export const agentSelector = `app.kubernetes.io/name=${agentName}`

export const jobLabels = {
  name: 'app.kubernetes.io/name',
  managedBy: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  node: 'multinic.io/node-name',
  action: 'multinic.io/action',
  instanceId: 'multinic.io/instance-id',
  /** The label of the Go implementation, whose Jobs name only the machine. */
  legacyInstance: 'instance',
  configUid: 'multinic.io/config-uid',
} as const

export const jobAnnotations = {
  config: 'multinic.io/config',
  generation: 'multinic.io/generation',
  specHash: 'multinic.io/spec-hash',
  bootID: 'multinic.io/boot-id',
  attempt: 'multinic.io/attempt',
  agentHash: 'multinic.io/agent-hash',
  /** `change` takes a rollout slot; `first` and `cleanup` do not. */
  rollout: 'multinic.io/rollout',
  agentRollout: nodeConfigAnnotations.rolloutAgent,
  traceparent: nodeConfigAnnotations.traceparent,
} as const

export interface JobIdentity {
  nodeName: string
  generation: number
  configUid: string
  specHash: string
  action: Action
  bootID: string
  attempt: number
}

export interface JobRequest {
  config: NodeConfig
  node: NodeFacts
  interfaces: Interface[]
  specHash: string
  action: Action
  attempt: number
  takesSlot: boolean
  agentHash?: string | undefined
  agentRollout?: string | undefined
  /** Networks of the cluster's Services. */
  serviceCIDRs?: readonly string[]
  /** Requested addresses that are those of other Nodes. The hashes leave them out: no Job starts because of them. */
  addressesOfNodes?: readonly NodeAddress[]
  /** The trace that the Job belongs to. Neither its name nor its work depends on it. */
  traceparent?: string
}

const maxNameLength = 63
export const jobDeadlineSeconds = 600

/** The same work has the same name, so the API server rejects a duplicate. Each attempt has a name of its own. */
export function agentJobName(identity: JobIdentity): string {
  const { nodeName, generation, configUid, specHash, action, bootID, attempt } = identity
  const suffix = hashOf([configUid, specHash, action, bootID, attempt]).slice(0, 8)
  const tail = `-g${generation}-${suffix}`
  const maxNodeLength = maxNameLength - agentName.length - 1 - tail.length
  return `${agentName}-${nodeName.slice(0, maxNodeLength).replace(/[^a-z0-9]+$/, '')}${tail}`
}

export function identityOf({
  config,
  node,
  specHash,
  action,
  attempt,
}: Pick<JobRequest, 'config' | 'node' | 'specHash' | 'action' | 'attempt'>) {
  return {
    nodeName: node.name,
    generation: config.metadata.generation ?? 0,
    configUid: config.metadata.uid ?? '',
    specHash,
    action,
    bootID: node.bootID,
    attempt,
  } satisfies JobIdentity
}

/** Of everything that decides how an agent runs, except what it is asked to do. `security` are labels of the namespace. */
export function agentHashOf(settings: AgentSettings, node: NodeFacts | undefined, security: object): string {
  const { jobTtlSeconds: _, ...rest } = settings
  const { backend, takeover, addresses, podCIDRs } = node ?? {}
  return hashOf([rest, { backend, takeover, addresses, podCIDRs }, security]).slice(0, 16)
}

export function agentJob(request: JobRequest, settings: AgentSettings): JobObject {
  const { config, node, action, attempt, specHash, agentHash, agentRollout, traceparent } = request
  const labels = labelsFor(request)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: agentJobName(identityOf(request)),
      ...(config.metadata.namespace && { namespace: config.metadata.namespace }),
      labels,
      annotations: {
        [jobAnnotations.config]: config.metadata.name,
        [jobAnnotations.generation]: `${config.metadata.generation ?? 0}`,
        [jobAnnotations.specHash]: specHash,
        [jobAnnotations.bootID]: node.bootID,
        [jobAnnotations.attempt]: `${attempt}`,
        [jobAnnotations.rollout]: request.takesSlot ? 'change' : action === 'cleanup' ? 'cleanup' : 'first',
        ...(agentHash && { [jobAnnotations.agentHash]: agentHash }),
        ...(agentRollout && { [jobAnnotations.agentRollout]: agentRollout }),
        ...(traceparent && { [jobAnnotations.traceparent]: traceparent }),
      },
    },
    spec: {
      completions: 1,
      parallelism: 1,
      // With backoffLimit L the Job controller kills restart number L as it starts.
      backoffLimit: 6,
      // Otherwise a terminating Pod and its replacement run at the same time.
      podReplacementPolicy: 'Failed',
      activeDeadlineSeconds: jobDeadlineSeconds,
      ttlSecondsAfterFinished: settings.jobTtlSeconds,
      template: { metadata: { labels }, spec: podSpec(request, settings) },
    },
  }
}

function labelsFor({ config, node, action }: JobRequest): Record<string, string> {
  const instanceId = instanceIdOf(config)
  return {
    [jobLabels.name]: agentName,
    [jobLabels.managedBy]: 'multinic-controller',
    [jobLabels.component]: 'agent',
    [jobLabels.node]: labelValue(node.name),
    [jobLabels.action]: action,
    [jobLabels.configUid]: config.metadata.uid ?? '',
    ...(instanceId && {
      [jobLabels.instanceId]: labelValue(instanceId),
      [jobLabels.legacyInstance]: labelValue(instanceId),
    }),
  }
}

/** A text that is too long or has invalid characters becomes its start and a hash. */
export function labelValue(text: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(text)) return text
  const start = text
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, 54)
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return [start, hashOf(text).slice(0, 8)].filter(Boolean).join('-')
}

function podSpec(request: JobRequest, settings: AgentSettings): PodSpec {
  const mounts = mountsFor(request.node.backend)
  return {
    nodeName: request.node.name,
    hostNetwork: true,
    dnsPolicy: 'Default',
    restartPolicy: 'OnFailure',
    terminationGracePeriodSeconds: 30,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    serviceAccountName: settings.serviceAccount,
    ...(settings.priorityClass && { priorityClassName: settings.priorityClass }),
    ...(settings.pullSecrets.length && { imagePullSecrets: settings.pullSecrets.map(name => ({ name })) }),
    tolerations: [{ operator: 'Exists' }],
    securityContext: {
      seccompProfile: { type: 'RuntimeDefault' },
      seLinuxOptions: { type: 'spc_t' },
      ...(settings.appArmorProfile && { appArmorProfile: { type: settings.appArmorProfile } }),
    },
    volumes: mounts.map(({ name, path, type }) => ({ name, hostPath: { path, type } })),
    containers: [
      {
        name: 'agent',
        image: settings.image,
        imagePullPolicy: settings.pullPolicy,
        terminationMessagePolicy: 'FallbackToLogsOnError',
        env: [
          { name: agentInputVariable, value: JSON.stringify(inputFor(request)) },
          ...(request.traceparent ? [{ name: agentTraceVariable, value: request.traceparent }] : []),
          ...Object.entries(environmentFor(request, settings)).map(([name, value]) => ({ name, value })),
        ],
        resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '192Mi' } },
        securityContext: {
          runAsUser: 0,
          runAsGroup: 0,
          privileged: false,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
        },
        volumeMounts: mounts.map(({ name, at, readOnly }) => ({ name, mountPath: at, ...(readOnly && { readOnly }) })),
      },
    ],
  }
}

/** The label on the Node wins over the setting of the fleet. */
function environmentFor({ node }: JobRequest, { environment }: AgentSettings): Record<string, string> {
  return { ...environment, ...(node.takeover && { NETWORK_TAKEOVER: node.takeover }) }
}

/** The Job contains the whole input: the Pod needs no credentials, and the input cannot change later. */
function inputFor({
  config,
  node,
  action,
  specHash,
  interfaces,
  serviceCIDRs = [],
  addressesOfNodes = [],
}: JobRequest): AgentInput {
  const instanceId = instanceIdOf(config)
  return {
    version: 1,
    mode: action,
    nodeName: node.name,
    ...(instanceId && { instanceId }),
    ...(node.bootID && { bootID: node.bootID }),
    generation: config.metadata.generation ?? 0,
    specHash,
    ...(node.addresses.length && { nodeAddresses: nodeAddressesFor(node) }),
    ...(node.podCIDRs.length && { podCIDRs: node.podCIDRs.slice(0, maxNodeNetworks) }),
    ...(serviceCIDRs.length && { serviceCIDRs: serviceCIDRs.slice(0, maxNodeNetworks) }),
    ...(addressesOfNodes.length && { addressesOfNodes: addressesOfNodes.slice(0, maxNodeNetworks) }),
    interfaces: interfaces.map(inputInterface),
  }
}

/** The first address of each family counts for the agent: it is never cut off. */
function nodeAddressesFor({ addresses }: NodeFacts): string[] {
  return [...new Set([...firstAddresses(addresses), ...addresses])].slice(0, maxNodeNetworks)
}

export interface Mount {
  name: string
  path: string
  at: string
  type: 'Directory' | 'DirectoryOrCreate' | 'File'
  readOnly?: true
}

/**
 * The directories by which the agent recognizes the backend have type Directory: it must not find them on another host. All
 * others exist everywhere or are created, because a missing one would keep the Pod from starting.
 */
function mountsFor(backend: Backend): Mount[] {
  return [
    ...directoriesOf(backend),
    directory('networkd', '/etc/systemd/network'),
    directory('sysctld', '/etc/sysctl.d'),
    created('udev', '/etc/udev/rules.d'),
    // What all NICs share, and the units that restore it at boot.
    created('boot', '/etc/multinic'),
    created('units', '/etc/systemd/system'),
    // The bus of the host; empty on a host without one.
    { ...created('dbus', '/run/dbus'), readOnly: true },
    // Files that could win over ours at boot.
    ...['/run/systemd/network', '/run/udev/rules.d', '/lib', '/usr/local/lib'].map(searched),
    { name: 'state', path: '/var/lib/multinic', at: '/var/lib/multinic', type: 'DirectoryOrCreate' },
    // Mounted elsewhere, because /proc/sys of the Pod is read-only. A kernel without IPv6 has no directory of its own for it.
    { name: 'sysctls', path: '/proc/sys/net', at: '/host/proc/sys/net', type: 'Directory' },
    { name: 'bootid', path: '/proc/sys/kernel/random/boot_id', at: '/host/boot_id', type: 'File', readOnly: true },
  ]
}

function directoriesOf(backend: Backend): Mount[] {
  const { instead, ...own }: BackendMounts = backendDirectories[backend]
  const others = [...(own.searched ?? []), ...(instead?.searched ?? [])]
  return [
    directory(own.volume, own.path),
    ...(instead ? [created(instead.volume, instead.path)] : []),
    ...others.map(searched),
  ]
}

/** The mounts of every backend. */
export function allMounts(): Mount[] {
  return backendNames.flatMap(mountsFor)
}

/**
 * Those in /run may be created, in memory. Below /usr the directories themselves may be missing, and /usr may be read-only:
 * the Job mounts parents that every distribution has. /lib is a link to /usr/lib, or a directory of its own.
 */
function searched(path: string): Mount {
  const parts = path.split('/').slice(1, path.startsWith('/run') ? 3 : undefined)
  return {
    name: parts.join('-').toLowerCase(),
    path,
    at: `/host${path}`,
    type: 'DirectoryOrCreate',
    readOnly: true,
  }
}

function directory(name: string, path: string): Mount {
  return { name, path, at: path, type: 'Directory' }
}

/** An empty directory does no harm on a host that does not use it. */
function created(name: string, path: string): Mount {
  return { name, path, at: path, type: 'DirectoryOrCreate' }
}
