/**
 * MultiNicBizConfig: the older cluster-wide document, one object for all nodes. It is served next to MultiNicNodeConfig.
 */
import { z } from 'zod'
import { interfaceSchema, states } from './node-config.ts'
import { conditions, generation, opaqueId, timestamp } from './text.ts'

/** Old samples carry this group. It is read by the migration and served nowhere. */
export const oldBizConfigGroup = 'multinic.okestro.io'

const bizInterface = interfaceSchema
  .pick({ portId: true, macAddress: true, address: true, cidr: true, mtu: true })
  .meta({ description: 'One interface of the node, found on it by its MAC address.' })

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
            interfaces: z.array(bizInterface).max(10).meta({ 'x-kubernetes-list-type': 'atomic' }),
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
          lastProcessed: timestamp.optional(),
          lastJobName: z.string().max(253).optional(),
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
