/**
 * MultiNicNodeConfig: requested and observed interfaces of one node. One object per node, named after the node.
 */
import * as z from 'zod'
import { maxAddressPairs, maxInterfaces, type WireField } from './interfaces.ts'
import type { KubeObject, Resource } from './object.ts'
import {
  cidr,
  conditions,
  dnsLabel,
  generation,
  ipAddress,
  macAddress,
  network,
  opaqueId,
  tenantName,
  timestamp,
} from './text.ts'

export const nodeConfigGroup = 'multinic.io'

export const nodeConfigLabels = {
  nodeName: 'multinic.io/node-name',
  instanceId: 'multinic.io/instance-id',
  providerId: 'multinic.io/provider-id',
} as const

export const nodeConfigAnnotations = {
  paused: 'multinic.io/paused',
  retry: 'multinic.io/retry',
  /** Start a check of the node now. */
  check: 'multinic.io/check',
  forceDelete: 'multinic.io/force-delete',
  /**
   * Seconds since 1970. On the namespace: clean up every node whose config is deleted until ten minutes after that time, also
   * many at once or with their CRD. On a config: the same for it alone; Viola sets it before it deletes one.
   */
  approveDeletions: 'multinic.io/approve-deletions',
  /** On the namespace: run the agent again on every configured node. Each new value is a new request. */
  rolloutAgent: 'multinic.io/rollout-agent',
  /** The node is expected to match its spec already: the controller checks it first, and changes it only after approval. */
  adopt: 'multinic.io/adopt',
  /** namespace/name of the MultiNicBizConfig that the node came from. */
  migratedFrom: 'multinic.io/migrated-from',
  /** Trace of the last write of the spec. A change of this annotation alone triggers nothing. */
  traceparent: 'multinic.io/traceparent',
} as const

/** The request on the namespace to run the agent again; each new value is a new one. */
export function agentRolloutOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  return metadata.annotations?.[nodeConfigAnnotations.rolloutAgent]?.slice(0, 64) || undefined
}

export const nodeConfigFinalizer = 'multinic.io/node-cleanup'

export const states = ['Pending', 'InProgress', 'Configured', 'Failed'] as const
export type State = (typeof states)[number]

const route = z
  .object({
    destination: cidr.meta({ description: 'Destination network in CIDR form.' }),
    nexthop: ipAddress.meta({ description: 'Next hop router.' }),
  })
  .meta({ description: 'A route of the subnet.' })

export const interfaceSchema = z
  .object({
    portId: opaqueId.optional().meta({ description: 'Neutron port ID. The port keeps its interface index for life.' }),
    id: z.int().min(0).max(9).optional().meta({
      description:
        'Index of the interface, 0 to 9. Defaults to the digit of the name, then to the position in the list.',
    }),
    name: z
      .string()
      .max(9)
      .regex(/^multinic[0-9]$/)
      .optional()
      .meta({ description: 'Name on the node: multinic followed by the index.' }),
    macAddress,
    address: ipAddress
      .optional()
      .meta({ description: 'First address of the interface. Its prefix length comes from cidr.' }),
    cidr: cidr.optional().meta({
      description: 'Network of the address (192.168.1.0/24), or the address with its prefix length (192.168.1.10/24).',
    }),
    mtu: z.int().min(68).max(9216).optional().meta({ description: 'MTU. If absent, the device keeps its MTU.' }),
    addresses: z
      .array(cidr)
      .max(32)
      .optional()
      .meta({ description: 'All addresses, IPv4 and IPv6, each with its prefix length.' }),
    gateway: ipAddress
      .optional()
      .meta({ description: 'Gateway of the subnet. Used only in the routing table of this interface.' }),
    routes: z
      .array(route)
      .max(64)
      .optional()
      .meta({ description: 'Additional routes of the subnet, in the routing table of this interface.' }),
    allowedAddressPairs: z.array(network).max(maxAddressPairs).optional().meta({
      description:
        'Addresses and networks beyond those of the interface that port security of the port lets through, in CIDR form.',
    }),
    networkId: opaqueId.optional().meta({ description: 'Neutron network ID.' }),
    subnetId: opaqueId.optional().meta({ description: 'Neutron subnet ID of the first address.' }),
    source: z
      .string()
      .max(507)
      .optional()
      .meta({ description: 'namespace/name of the OpenstackConfig that requested this interface.' }),
    subnetName: tenantName.optional().meta({
      description: 'Name of the subnet when the interface was delivered. Informational, like the other names.',
    }),
    networkName: tenantName.optional().meta({ description: 'Name of the network.' }),
    alias: dnsLabel
      .optional()
      .meta({ description: 'Name of the network on every node of the cluster, if its subnet has an index.' }),
  } satisfies Record<Exclude<WireField, 'index'>, z.ZodType>)
  .meta({
    description: 'One interface of the node, identified by its MAC address.',
    'x-kubernetes-validations': [
      {
        rule: '!has(self.id) || !has(self.name) || int(self.name.substring(8)) == self.id',
        message: 'name must be multinic followed by the id',
      },
      { rule: '!has(self.address) || has(self.cidr)', message: 'cidr is required with address' },
    ],
  })

const unique = (field: string) => ({
  rule: `self.all(a, !has(a.${field}) || self.exists_one(b, has(b.${field}) && b.${field} == a.${field}))`,
  message: `${field} must be unique among the interfaces`,
})

export const interfaceList = z
  .array(interfaceSchema)
  .max(maxInterfaces)
  .meta({
    description: 'Requested interfaces. An empty list removes all interfaces that MultiNIC manages.',
    'x-kubernetes-list-type': 'atomic',
    'x-kubernetes-validations': [
      unique('id'),
      unique('name'),
      unique('portId'),
      {
        rule: 'self.all(a, self.exists_one(b, b.macAddress.lowerAscii() == a.macAddress.lowerAscii()))',
        message: 'macAddress must be unique among the interfaces',
      },
    ],
  })

export const nodeConfigSpec = z
  .object({
    providerId: opaqueId.optional().meta({ description: 'Provider ID of the Biz cluster in Viola.' }),
    providerName: tenantName
      .optional()
      .meta({ description: 'Name of the provider when Viola wrote the config. Informational.' }),
    nodeName: z
      .string()
      .min(1)
      .max(253)
      .meta({
        description: 'Name of the Kubernetes node. Immutable.',
        'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'nodeName cannot be changed' }],
      }),
    instanceId: z.string().max(253).optional().meta({
      description: 'ID of the VM. If set, it must match the SystemUUID of the node, or nothing is applied.',
    }),
    instanceName: tenantName.optional().meta({ description: 'Name of the VM. Informational.' }),
    specHash: z
      .string()
      .max(128)
      .optional()
      .meta({ description: 'Hash of the requested interfaces. Informational: the generation decides.' }),
    interfaces: interfaceList,
  })
  .meta({ description: 'Requested state of the node.' })

export const observedInterface = z
  .object({
    name: z.string().max(15).optional(),
    ifindex: z.int().min(0).max(2147483647).optional(),
    mtu: z.int().min(0).max(2147483647).optional(),
    addresses: z.array(z.string().max(49)).max(32).optional(),
    link: z.enum(['up', 'down', 'no-carrier']).optional(),
  })
  .meta({ description: 'State observed in the kernel.' })

export const interfaceStatus = z
  .object({
    id: z.int().min(0).max(9).optional(),
    name: z.string().max(15).optional(),
    portId: z.string().max(253).optional(),
    macAddress: z.string().max(17).optional(),
    status: z.enum([...states, 'Removed']).optional(),
    reason: z.string().max(128).optional(),
    message: z.string().max(1024).optional(),
    lastConfigured: timestamp.optional(),
    lastChecked: timestamp.optional().meta({ description: 'When an agent last observed the interface.' }),
    specHash: z.string().max(16).optional().meta({ description: 'Hash of the request that the state is about.' }),
    pending: z
      .object({ reason: z.string().max(128), message: z.string().max(1024) })
      .optional()
      .meta({
        description:
          'Present while the newest request is not applied: what it waits for. The other fields describe the last observation.',
      }),
    observed: observedInterface.optional(),
  })
  .meta({ description: 'State of one interface.' })

export const agentRollout = z
  .object({
    request: z.string().max(64).meta({ description: 'Value of the annotation multinic.io/rollout-agent.' }),
    state: z.enum(['Waiting', 'Updated']).meta({
      description: 'Updated: the node needs no run, or the agent ran on it. The state of the config is its result.',
    }),
    reason: z.string().max(128).optional().meta({ description: 'What the node waits for.' }),
    message: z.string().max(1024).optional(),
  })
  .meta({ description: 'The last request to run the agent again, and how far this node is.' })

export const nodeConfigStatus = z
  .object({
    observedGeneration: generation.optional(),
    observedSpecHash: z.string().max(128).optional(),
    lastProcessed: timestamp.optional(),
    lastJobName: z.string().max(253).optional(),
    state: z.enum(states).optional(),
    nics: z
      .string()
      .max(16)
      .optional()
      .meta({ description: 'Interfaces that are as requested, and requested interfaces, such as 2/2.' }),
    conditions: conditions.optional(),
    interfaceStatuses: z.array(interfaceStatus).max(32).optional().meta({ 'x-kubernetes-list-type': 'atomic' }),
    failedAttempts: z.int().min(0).max(1000000).optional().meta({ description: 'Failed runs of this generation.' }),
    bootID: z.string().max(64).optional().meta({ description: 'Boot ID of the node when the state was observed.' }),
    nextAttempt: timestamp
      .optional()
      .meta({ description: 'When the controller retries. Absent if it waits for a change.' }),
    nodeAddresses: z.array(z.string().max(45)).max(2).optional().meta({
      description: 'The own addresses of the Node, one of each family. The port that has one is its primary port.',
    }),
    agentHash: z.string().max(16).optional().meta({
      description:
        'Hash of what the last agent that configured the node ran with: image, settings and facts of the Node.',
    }),
    agentRollout: agentRollout.optional(),
    checkIntervalSeconds: z
      .int()
      .min(1)
      .max(2147483647)
      .optional()
      .meta({ description: 'Interval of the checks for drift. Absent if they are off.' }),
  })
  .meta({ description: 'Observed state, as reported by the agent.' })

export type NodeConfigSpec = z.infer<typeof nodeConfigSpec>
export type NodeConfigStatus = z.infer<typeof nodeConfigStatus>
export type AgentRollout = z.infer<typeof agentRollout>
export type InterfaceStatus = z.infer<typeof interfaceStatus>
export type ObservedInterface = z.infer<typeof observedInterface>
export type ConditionStatus = z.infer<typeof conditions>[number]

export interface NodeConfig extends KubeObject {
  spec: NodeConfigSpec
  status?: NodeConfigStatus
}

export const nodeConfigs: Resource<NodeConfig> = {
  group: nodeConfigGroup,
  version: 'v1',
  kind: 'MultiNicNodeConfig',
  plural: 'multinicnodeconfigs',
  namespaced: true,
}
