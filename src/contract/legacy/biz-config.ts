/**
 * MultiNicBizConfig: the legacy cluster-wide object for all nodes, served beside MultiNicNodeConfig. Support ends with 1.0.
 */
import * as z from 'zod'
import { interfaceSchema, nodeConfigGroup, states } from '../node-config.ts'
import type { KubeObject, Resource } from '../object.ts'
import { conditions, generation, opaqueId, timestamp } from '../text.ts'

/** API group of older samples. Only the migration reads it; no CRD serves it. */
export const oldBizConfigGroup = 'multinic.okestro.io'

export const bizConfigAnnotations = {
  /** The API server refuses changes of the spec. Where it cannot, the controller ignores them. */
  readOnly: 'multinic.io/read-only',
} as const

const bizInterface = interfaceSchema
  .pick({ portId: true, macAddress: true, address: true, cidr: true, mtu: true })
  .meta({
    description: 'One interface of the node, identified by its MAC address.',
    'x-kubernetes-validations': [
      { rule: '!has(self.address) || has(self.cidr)', message: 'cidr is required with address' },
    ],
  })

/** 5,000 nodes with ten interfaces stay within the CEL cost limit of the API server. The controller compares case-insensitively. */
const bizInterfaces = z
  .array(bizInterface)
  .max(10)
  .meta({
    'x-kubernetes-list-type': 'atomic',
    'x-kubernetes-validations': [
      {
        rule: 'self.all(a, self.exists_one(b, b.macAddress == a.macAddress))',
        message: 'macAddress must be unique among the interfaces',
      },
    ],
  })

export const bizConfigSpec = z
  .object({
    providerId: opaqueId.optional().meta({ description: 'Provider ID of the Biz cluster.' }),
    specHash: z.string().max(128).optional().meta({ description: 'Hash of the object. Informational.' }),
    nodeConfigs: z
      .array(
        z
          .object({
            attachedNodeId: opaqueId.meta({ description: 'ID of the VM: the SystemUUID of the node.' }),
            attachedNodeName: z.string().max(253).optional().meta({ description: 'Name of the node. Informational.' }),
            interfaces: bizInterfaces,
          })
          .meta({ description: 'Requested interfaces of one node.' }),
      )
      .max(5000)
      .meta({ 'x-kubernetes-list-type': 'atomic' }),
  })
  .meta({ description: 'Requested interfaces of the nodes of the cluster.' })

export const bizConfigStatus = z
  .object({
    observedGeneration: generation.optional(),
    observedSpecHash: z.string().max(128).optional(),
    conditions: conditions.optional(),
    nodeStatuses: z
      .array(
        z.object({
          attachedNodeId: z.string().max(253),
          attachedNodeName: z.string().max(253).optional(),
          state: z.enum(states).optional(),
          reason: z
            .string()
            .max(128)
            .optional()
            .meta({ description: 'Why the node is not Configured, or which object owns it.' }),
          message: z.string().max(256).optional(),
          lastProcessed: timestamp.optional(),
          lastJobName: z.string().max(253).optional(),
          observedGeneration: generation
            .optional()
            .meta({ description: 'Generation in which the entry of this node last changed.' }),
          specHash: z.string().max(16).optional().meta({ description: 'Hash of the entry of this node.' }),
          bootID: z.string().max(64).optional(),
          failedAttempts: z.int().min(0).max(1000000).optional(),
          indexes: z
            .array(z.string().max(20))
            .max(10)
            .optional()
            .meta({ description: 'Index and MAC address of each interface. The index stays with its MAC address.' }),
        }),
      )
      .max(5000)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' }),
    summary: z
      .object({
        totalNodes: z.int32().optional(),
        configuredNodes: z.int32().optional(),
        failedNodes: z.int32().optional(),
        pendingNodes: z.int32().optional(),
      })
      .optional(),
  })
  .meta({ description: 'Observed state of the nodes.' })

export type BizConfigSpec = z.infer<typeof bizConfigSpec>
export type BizConfigStatus = z.infer<typeof bizConfigStatus>
export type BizNode = BizConfigSpec['nodeConfigs'][number]
export type BizNodeStatus = NonNullable<BizConfigStatus['nodeStatuses']>[number]

export interface BizConfig extends KubeObject {
  spec: BizConfigSpec
  status?: BizConfigStatus
}

export const bizConfigs: Resource<BizConfig> = {
  group: nodeConfigGroup,
  version: 'v1',
  kind: 'MultiNicBizConfig',
  plural: 'multinicbizconfigs',
  namespaced: true,
}
