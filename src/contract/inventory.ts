/**
 * The inventory API: what every node has, why, since when, and what it had before.
 */
import * as z from 'zod'
import { auditWrite } from './audit.ts'
import { agentRollout, interfaceSchema, interfaceStatus, nodeConfigStatus, states } from './node-config.ts'
import { verdictWrite } from './operator-api.ts'
import { stages } from './stages.ts'
import { opaqueId, tenantName, timestamp } from './text.ts'

export { type Stage, stages } from './stages.ts'

const inventoryConfig = z
  .object({
    nodeName: z.string(),
    instanceId: z.string().optional(),
    interfaces: z.array(interfaceSchema),
    requested: z
      .array(interfaceSchema)
      .optional()
      .meta({ description: 'What is requested, while it differs because the delivery failed.' }),
  })
  .meta({ description: 'Configuration that was delivered to the node.' })

/** State of an interface beside its configuration, with the time of each stage. */
const interfaceRecord = interfaceStatus.extend({
  pending: interfaceStatus.shape.pending
    .unwrap()
    .extend({ remedy: z.string().optional() })
    .optional()
    .meta({ description: interfaceStatus.shape.pending.meta()?.description }),
  stages: z.partialRecord(z.enum(stages), timestamp).optional().meta({
    description: 'When the newest request of the interface passed each stage. Each time is stored once.',
  }),
  clamped: z.array(z.enum(stages)).max(stages.length).optional().meta({
    description:
      'Stages whose reported time was impossible, because clocks differ. Their time is the nearest possible one, and no figure uses it.',
  }),
  checkIntervalSeconds: nodeConfigStatus.shape.checkIntervalSeconds,
  remedy: z.string().optional().meta({ description: 'Remedy for the reason, from the catalogue.' }),
})

export const inventoryRecord = z
  .object({
    providerId: z.string(),
    providerName: z.string().optional().meta({ description: 'Name of the provider in Viola, if it has one.' }),
    nodeName: z.string(),
    instanceId: z.string(),
    instanceName: z.string().optional().meta({ description: 'Name of the VM, if it is known.' }),
    config: inventoryConfig,
    lastConfigHash: z.string(),
    updatedAt: timestamp,
    state: z.enum(states).optional(),
    reason: z.string().optional(),
    message: z.string().optional(),
    remedy: z.string().optional().meta({ description: 'Remedy for the reason, from the catalogue.' }),
    agentRollout: agentRollout.optional(),
    interfaces: z.array(interfaceRecord).optional(),
  })
  .meta({ description: 'Delivered and observed state of one node.' })

/** A write of the operator: the latest state of one node. Only a difference becomes history. */
export const inventoryWrite = z
  .object({
    providerId: opaqueId,
    providerName: tenantName.optional(),
    nodeName: z.string().min(1).max(253),
    instanceId: z.string().max(253),
    instanceName: tenantName.optional(),
    config: inventoryConfig,
    lastConfigHash: z.string().max(128),
    state: z.enum(states).optional(),
    reason: z.string().max(128).optional(),
    message: z.string().max(4096).optional(),
    agentRollout: agentRollout.optional(),
    interfaces: z.array(interfaceRecord).max(32).optional(),
    onlyNode: z.boolean().optional().meta({
      description:
        'The cluster has no other node config of this VM. Records of its earlier nodes are deleted, and their history is kept.',
    }),
    removed: z.boolean().optional().meta({
      description: 'The node has no managed interfaces any more. The record is deleted, its history is kept.',
    }),
    why: z.string().max(1024).meta({ description: 'Cause of the write, for the history.' }),
  })
  .meta({ description: 'The latest state of one node.' })

/** Maximum number of records in one request. */
export const maxWrites = 200
/** Twice as long as that many records with ten interfaces each. */
export const maxRecordsBytes = 16 * 1024 * 1024
export const inventoryWrites = z.object({
  records: z.array(inventoryWrite).max(maxWrites),
  verdicts: z
    .array(verdictWrite)
    .max(maxWrites)
    .optional()
    .meta({ description: 'Verdicts of the operator. Stored in the same transaction as the records.' }),
  audit: z.array(auditWrite).max(maxWrites).optional().meta({
    description: 'Requests that the operator saw. Stored with the name of the caller.',
  }),
})
export const inventoryWritten = z
  .object({ verdicts: z.int32().meta({ description: 'Number of ranges of verdicts that are stored.' }) })
  .meta({ description: 'Answer to a write with verdicts.' })
export const recordsPath = '/v1/inventory/records'
/** How long the operator waits for the answer to a write. It may send a newer record afterwards. */
export const writeTimeoutMs = 30_000
/** The records of one provider. */
export const providerRecordsPath = '/v1/interfaces/node-configs'
/** Sign-in of the dashboard. */
export const sessionPath = '/v1/session'

export const historyEntry = z
  .object({
    id: z.int().min(0),
    at: timestamp,
    what: z.enum(['created', 'config', 'status', 'removed']),
    why: z
      .string()
      .meta({ description: 'Cause of the write: what was requested, or the state of the node and its reason.' }),
    before: inventoryRecord.optional(),
    after: inventoryRecord.optional(),
  })
  .meta({ description: 'One change of one node.' })

export const providerCatalog = z.object({
  providers: z.array(
    z.object({
      providerId: z.string(),
      providerName: z.string().optional(),
      nodeCount: z.int32(),
      updatedAt: timestamp,
      nodes: z.array(
        z.object({
          providerId: z.string(),
          nodeName: z.string(),
          instanceId: z.string(),
          interfaceCount: z.int32(),
          updatedAt: timestamp,
        }),
      ),
    }),
  ),
})

export const searchHit = z
  .object({
    kind: z.enum(['address', 'mac', 'port', 'vm', 'node', 'subnet', 'network', 'provider']),
    value: z.string().meta({ description: 'A VM is found by ID and by name, a subnet, network or provider by name.' }),
    providerId: z.string(),
    nodeName: z.string(),
    interface: z.string().optional().meta({ description: 'Name of the interface, if the value belongs to one.' }),
  })
  .meta({ description: 'A match of a search, and where it is.' })

const holder = z
  .object({
    kind: z.enum(['address', 'mac', 'port']),
    value: z.string(),
    providerId: z.string(),
    providerName: z.string().optional().meta({ description: 'Name of the provider now.' }),
    nodeName: z.string(),
    interface: z.string(),
    from: timestamp,
    to: timestamp.optional().meta({ description: 'Absent if the interface still has it.' }),
  })
  .meta({ description: 'An interface that has or had a value, and when.' })

export const holdersAnswer = z
  .object({
    holders: z.array(holder).meta({ description: 'Current holders first, then those that ended last.' }),
    never: z
      .boolean()
      .meta({ description: 'No interface ever had it: nothing was found, and no history was deleted.' }),
    keptSince: timestamp.optional().meta({ description: 'Holders that ended before this time were deleted.' }),
    more: z.boolean().optional().meta({
      description: 'There are older holders: only the current ones and the latest are listed, 1,000 in all.',
    }),
  })
  .meta({ description: 'Every interface that has or had a value.' })

export const deviation = z
  .object({
    providerId: z.string(),
    providerName: z.string().optional(),
    nodeName: z.string(),
    interface: z.string(),
    portId: z.string().optional(),
    status: interfaceStatus.shape.status,
    reason: z.string().optional(),
    remedy: z.string().optional(),
    differences: z.array(
      z.object({
        field: z.string(),
        wanted: z.string(),
        delivered: z.string().optional().meta({ description: 'Absent if it equals the request.' }),
        observed: z.string(),
      }),
    ),
    pending: interfaceStatus.shape.pending,
    lastChecked: interfaceStatus.shape.lastChecked,
    lastConfigured: interfaceStatus.shape.lastConfigured,
    checkIntervalSeconds: nodeConfigStatus.shape.checkIntervalSeconds,
  })
  .meta({ description: 'An interface whose observed state differs from the request.' })

export type SearchHit = z.infer<typeof searchHit>
export type Holder = z.infer<typeof holder>
export type HoldersAnswer = z.infer<typeof holdersAnswer>
export type Deviation = z.infer<typeof deviation>
export type InventoryRecord = z.infer<typeof inventoryRecord>
export type InventoryWrite = z.infer<typeof inventoryWrite>
export type HistoryEntry = z.infer<typeof historyEntry>
export type ProviderCatalog = z.infer<typeof providerCatalog>
