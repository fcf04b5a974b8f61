/**
 * The Viola API: requests of the operator and responses.
 */
import * as z from 'zod'
import { interfaceSchema, nodeConfigStatus } from './node-config.ts'
import { problem } from './problem.ts'
import { cidr, generation, ipAddress, opaqueId, tenantName } from './text.ts'

export const violaPath = '/v1/k8s/multinic/node-configs'
/** The Nodes of the cluster. */
export const violaNodesPath = '/v1/k8s/multinic/nodes'
export const providerHeader = 'x-provider-id'
export const maxPostBytes = 4 * 1024 * 1024
/** What Viola accepts in one POST. The Go operator sends all changed nodes at once. */
export const maxPostNodes = 2000
/** What our operator sends in one POST. */
export const maxNodesPerPost = 200

/** The Go operator omits `id` 0 and sends empty strings for unknown values. Unknown keys are ignored. */
const empty = z.literal('').transform(() => undefined)
export const violaInterface = interfaceSchema.extend({
  portId: opaqueId.or(empty).optional(),
  address: ipAddress.or(empty).optional(),
  cidr: cidr.or(empty).optional(),
})

export const violaNodeConfig = z
  .object({
    nodeName: z.string().trim().min(1).max(253),
    instanceId: z.string().max(253).optional(),
    instanceName: tenantName.optional().meta({ description: 'Name of the VM, for people.' }),
    interfaces: z.array(violaInterface).max(10),
    expectedSpecHash: z.string().max(128).optional().meta({
      description: 'Expected hash of the object in the cluster. Empty: the object must not exist. A mismatch is a 409.',
    }),
  })
  .meta({ description: 'Requested interfaces of one node.' })

export const violaPost = z
  .array(violaNodeConfig)
  .min(1)
  .max(maxPostNodes)
  .meta({ description: 'Node configs to apply.' })

const violaAction = z.enum(['created', 'updated', 'unchanged', 'failed', 'conflict'])

export const violaPostAnswer = z.object({
  applied: z.int32(),
  output: z.string(),
  results: z.array(
    z.object({
      nodeName: z.string(),
      action: violaAction,
      message: z.string().optional(),
      specHash: z.string().optional().meta({ description: 'Hash of the object in the cluster now.' }),
    }),
  ),
})

export const violaNode = z
  .object({
    nodeName: z.string(),
    instanceId: z.string().optional(),
    instanceName: z.string().optional(),
    providerId: z.string().optional(),
    providerName: z
      .string()
      .optional()
      .meta({ description: 'Name of the provider in the routing of Viola, if it has one.' }),
    specHash: z.string(),
    generation,
    interfaces: z.array(interfaceSchema),
    status: nodeConfigStatus.optional(),
    editedBy: z.string().max(128).optional().meta({
      description: 'Field manager that edited the spec by hand since Viola applied it.',
    }),
  })
  .meta({ description: 'A node config in the cluster.' })

export const violaListAnswer = z.object({
  items: z.array(violaNode),
  resourceVersion: z.string(),
})

const violaClusterNode = z
  .object({
    name: z.string().max(253),
    systemUUID: z.string().max(100).meta({
      description: 'Machine of the Node (status.nodeInfo.systemUUID): on OpenStack, the server ID. May be empty.',
    }),
  })
  .meta({ description: 'A Node of the cluster.' })

export const violaNodesAnswer = z.object({
  items: z.array(violaClusterNode),
  resourceVersion: z.string().max(128).meta({ description: 'Changes with the names and machines of the Nodes.' }),
})

/** The answer to a provider ID without a cluster. */
export const violaProviderUnknown = problem
  .extend({
    knownProviders: z
      .array(opaqueId)
      .max(100)
      .meta({ description: 'Providers with a cluster that the caller may read, the first 100.' }),
  })
  .meta({ description: 'No cluster is configured for the provider.' })

export type ViolaNodeConfig = z.input<typeof violaNodeConfig>
export type ViolaPostAnswer = z.infer<typeof violaPostAnswer>
export type ViolaResult = ViolaPostAnswer['results'][number]
export type ViolaNode = z.infer<typeof violaNode>
export type ViolaClusterNode = z.infer<typeof violaClusterNode>
