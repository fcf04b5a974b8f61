/**
 * MultiNicNodeConfig: what one node is asked to have, and what it has. One object a node, named like the node.
 */
import { z } from 'zod'
import { maxInterfaces } from './interfaces.ts'
import type { KubeObject, Resource } from './object.ts'
import { cidr, conditions, generation, ipAddress, macAddress, opaqueId, timestamp } from './text.ts'

export const nodeConfigGroup = 'multinic.io'

export const nodeConfigLabels = {
  nodeName: 'multinic.io/node-name',
  instanceId: 'multinic.io/instance-id',
  providerId: 'multinic.io/provider-id',
} as const

export const nodeConfigAnnotations = {
  paused: 'multinic.io/paused',
  retry: 'multinic.io/retry',
  forceDelete: 'multinic.io/force-delete',
  /** The node is said to be as wanted already: it is looked at first, and an agent that changes it waits for a person. */
  adopt: 'multinic.io/adopt',
  /** namespace/name of the MultiNicBizConfig that the node came from. */
  migratedFrom: 'multinic.io/migrated-from',
  /** Of the write that last changed the spec; a change of it alone means nothing. */
  traceparent: 'multinic.io/traceparent',
} as const

export const nodeConfigFinalizer = 'multinic.io/node-cleanup'

export const states = ['Pending', 'InProgress', 'Configured', 'Failed'] as const
export type State = (typeof states)[number]

export const route = z
  .object({
    destination: cidr.meta({ description: 'Network that is reached by this route, in CIDR form.' }),
    nexthop: ipAddress.meta({ description: 'Router towards it.' }),
  })
  .meta({ description: 'A route of the subnet.' })

export const interfaceSchema = z
  .object({
    portId: opaqueId
      .optional()
      .meta({ description: 'Neutron port id. The number of an interface belongs to it for life.' }),
    id: z.int().min(0).max(9).optional().meta({
      description: 'Number of the interface, 0 to 9. Taken from the name, then from the position, when absent.',
    }),
    name: z
      .string()
      .max(9)
      .regex(/^multinic[0-9]$/)
      .optional()
      .meta({ description: 'Name on the node: multinic followed by the id.' }),
    macAddress,
    address: ipAddress.optional().meta({ description: 'First address of the interface; its prefix comes from cidr.' }),
    cidr: cidr.optional().meta({
      description: 'Network of the address (192.168.1.0/24), or the address with its prefix (192.168.1.10/24).',
    }),
    mtu: z.int().min(68).max(9216).optional().meta({ description: 'MTU; absent leaves the device as it is.' }),
    addresses: z
      .array(cidr)
      .max(32)
      .optional()
      .meta({ description: 'All addresses, IPv4 and IPv6, each with its prefix.' }),
    gateway: ipAddress
      .optional()
      .meta({ description: 'Gateway of the subnet, used in the routing table of this interface only.' }),
    routes: z
      .array(route)
      .max(64)
      .optional()
      .meta({ description: 'Further routes of the subnet, in the routing table of this interface.' }),
    networkId: opaqueId.optional().meta({ description: 'Neutron network id.' }),
    subnetId: opaqueId.optional().meta({ description: 'Neutron subnet id of the first address.' }),
    source: z
      .string()
      .max(507)
      .optional()
      .meta({ description: 'namespace/name of the OpenstackConfig that this interface comes from.' }),
  })
  .meta({
    description: 'One interface of the node, found on it by its MAC address.',
    'x-kubernetes-validations': [
      {
        rule: '!has(self.id) || !has(self.name) || int(self.name.substring(8)) == self.id',
        message: 'name must be multinic followed by the id',
      },
      { rule: '!has(self.address) || has(self.cidr)', message: 'cidr is needed beside address' },
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
    description: 'Interfaces that the node is to have. An empty list takes ours away.',
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
    providerId: opaqueId.optional().meta({ description: 'Id of the Biz cluster, as Viola knows it.' }),
    nodeName: z
      .string()
      .min(1)
      .max(253)
      .meta({
        description: 'Name of the Kubernetes node. It cannot be changed.',
        'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'nodeName cannot be changed' }],
      }),
    instanceId: z.string().max(253).optional().meta({
      description: 'Id of the VM. When set, the node must have it as its SystemUUID, or nothing is applied.',
    }),
    specHash: z
      .string()
      .max(128)
      .optional()
      .meta({ description: 'Hash of the wanted interfaces: a hint for readers. The generation decides.' }),
    interfaces: interfaceList,
  })
  .meta({ description: 'What the node is asked to have.' })

export const observedInterface = z
  .object({
    name: z.string().max(15).optional(),
    ifindex: z.int().min(0).max(2147483647).optional(),
    mtu: z.int().min(0).max(2147483647).optional(),
    addresses: z.array(z.string().max(49)).max(32).optional(),
    link: z.enum(['up', 'down', 'no-carrier']).optional(),
  })
  .meta({ description: 'What was read back from the kernel.' })

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
    lastChecked: timestamp.optional(),
    observed: observedInterface.optional(),
  })
  .meta({ description: 'State of one interface.' })

export const nodeConfigStatus = z
  .object({
    observedGeneration: generation.optional(),
    observedSpecHash: z.string().max(128).optional(),
    lastProcessed: timestamp.optional(),
    lastJobName: z.string().max(253).optional(),
    state: z.enum(states).optional(),
    nics: z.string().max(16).optional().meta({ description: 'Configured and wanted interfaces, such as 2/2.' }),
    conditions: conditions.optional(),
    interfaceStatuses: z.array(interfaceStatus).max(32).optional().meta({ 'x-kubernetes-list-type': 'atomic' }),
    failedAttempts: z.int().min(0).max(1000000).optional().meta({ description: 'Failed runs of this generation.' }),
    bootID: z.string().max(64).optional().meta({ description: 'Boot of the node that the state was read in.' }),
  })
  .meta({ description: 'What the node has, as its agent reported it.' })

export const nodeConfig = z.object({
  apiVersion: z.string(),
  kind: z.literal('MultiNicNodeConfig'),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  spec: nodeConfigSpec,
  status: nodeConfigStatus.optional(),
})

export type NodeConfigSpec = z.infer<typeof nodeConfigSpec>
export type NodeConfigStatus = z.infer<typeof nodeConfigStatus>
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
