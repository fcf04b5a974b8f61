/**
 * MultiNicBizConfig: the older cluster-wide document, one object for all nodes. It is served next to MultiNicNodeConfig.
 */
import { z } from 'zod'
import { interfaceSchema, nodeConfigGroup, states } from '../node-config.ts'
import type { KubeObject, Resource } from '../object.ts'
import { conditions, generation, opaqueId, timestamp } from '../text.ts'

/** Old samples carry this group. It is read by the migration and served nowhere. */
export const oldBizConfigGroup = 'multinic.okestro.io'

export const bizConfigAnnotations = {
  /** Changes of the spec are refused, or ignored where the server cannot refuse them. */
  readOnly: 'multinic.io/read-only',
} as const

const bizInterface = interfaceSchema
  .pick({ portId: true, macAddress: true, address: true, cidr: true, mtu: true })
  .meta({
    description: 'One interface of the node, found on it by its MAC address.',
    'x-kubernetes-validations': [
      { rule: '!has(self.address) || has(self.cidr)', message: 'cidr is needed beside address' },
    ],
  })

/** Five thousand nodes of ten interfaces are within the cost that a server allows; letter case is the controller's work. */
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
    providerId: opaqueId.optional().meta({ description: 'Id of the Biz cluster.' }),
    specHash: z.string().max(128).optional().meta({ description: 'Hash of the document: a hint for readers.' }),
    nodeConfigs: z
      .array(
        z
          .object({
            attachedNodeId: opaqueId.meta({ description: 'Id of the VM: the SystemUUID of the node.' }),
            attachedNodeName: z
              .string()
              .max(253)
              .optional()
              .meta({ description: 'Name of the node: a hint for people.' }),
            interfaces: bizInterfaces,
          })
          .meta({ description: 'What one node is to have.' }),
      )
      .max(5000)
      .meta({ 'x-kubernetes-list-type': 'atomic' }),
  })
  .meta({ description: 'What the nodes of the cluster are asked to have.' })

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
            .meta({ description: 'Why the node is not Configured, or who has it.' }),
          message: z.string().max(256).optional(),
          lastProcessed: timestamp.optional(),
          lastJobName: z.string().max(253).optional(),
          observedGeneration: generation
            .optional()
            .meta({ description: 'Generation of the document in which the part of this node last changed.' }),
          specHash: z.string().max(16).optional().meta({ description: 'Hash of the part of this node.' }),
          bootID: z.string().max(64).optional(),
          failedAttempts: z.int().min(0).max(1000000).optional(),
          numbers: z
            .array(z.string().max(20))
            .max(10)
            .optional()
            .meta({ description: 'Number and MAC address of each interface: a number stays with its MAC address.' }),
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
  .meta({ description: 'What the nodes have.' })

export const bizConfig = z.object({
  apiVersion: z.string(),
  kind: z.literal('MultiNicBizConfig'),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  spec: bizConfigSpec,
  status: bizConfigStatus.optional(),
})

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
