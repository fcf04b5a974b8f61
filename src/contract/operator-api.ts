/**
 * The operator's verdict on every port and VM, which the inventory stores, and its API for dry runs of an OpenstackConfig.
 */
import * as z from 'zod'
import { interfaceSchema } from './node-config.ts'
import { choiceParameter, integerParameter } from './openapi.ts'
import { opaqueId, tenantName } from './text.ts'

export { type VerdictKind, verdictKind } from './verdict-kind.ts'

export const verdictsPath = '/v1/operator/verdicts'
export const maxVerdictsPerPage = 5_000
export const verdictsQuery = {
  config: 'namespace/name of an OpenstackConfig.',
  port: 'Port id.',
  vm: 'VM id or entry of vmNames.',
  providerId: 'Only objects that deliver to this Biz cluster.',
  selected: choiceParameter(
    'true: only selected ports. false: only ignored ports and VMs, without ports outside the selected subnets.',
    ['true', 'false'],
  ),
  limit: integerParameter(
    `Page size; the Link header points to the next page. Default: ${maxVerdictsPerPage}.`,
    1,
    maxVerdictsPerPage,
  ),
  cursor: 'Start of the next page, from the Link header.',
} as const

/** A dry run. */
export const planPath = '/v1/operator/plan'
/** What the last syncs planned. */
export const storedPlansPath = '/v1/operator/plans'

const verdict = z
  .object({
    config: z.string().meta({ description: 'namespace/name of the OpenstackConfig.' }),
    providerId: z.string().optional().meta({ description: 'Provider ID of the Biz cluster.' }),
    vm: z.string(),
    vmName: z.string().optional().meta({ description: 'Name of the VM, if it is known.' }),
    portId: z.string().optional().meta({ description: 'Absent for a verdict on the VM itself.' }),
    reason: z.string(),
    message: z.string(),
    remedy: z.string().optional(),
    name: z.string().optional().meta({ description: 'Name of the interface of the port.' }),
    portSecurity: z
      .object({
        enabled: z.boolean(),
        allowedAddressPairs: z.array(
          z.object({ ipAddress: z.string().meta({ description: 'Address or CIDR.' }), macAddress: z.string() }),
        ),
      })
      .optional()
      .meta({
        description:
          'Port security of a selected port, and what it lets through besides the addresses of the port. Absent if the cloud does not report it.',
      }),
  })
  .meta({ description: 'Verdict on a port or VM, with its reason.' })

export const verdictsAnswer = z.object({ verdicts: z.array(verdict) })

const plannedNode = z
  .object({
    nodeName: z.string(),
    instanceId: z.string(),
    instanceName: z.string().optional(),
    action: z.enum(['send', 'remove', 'keep']),
    interfaces: z.array(interfaceSchema),
    why: z.array(z.string()),
  })
  .meta({ description: 'Planned configuration of one node.' })

export const planAnswer = z.object({
  nodes: z.array(plannedNode),
  verdicts: z.array(verdict),
  heldRemovals: z.array(z.string()).meta({
    description: 'Removals that would be on hold until you approve them, because too many ports disappeared at once.',
  }),
  moves: z
    .array(
      z.object({
        nodeName: z.string(),
        portId: z.string(),
        from: z.string(),
        to: z.string(),
        subnetName: z.string().optional(),
        exchange: z
          .object({ portId: z.string(), from: z.string(), to: z.string() })
          .optional()
          .meta({ description: 'The interface that has the index now, and the index that it would get.' }),
        blocked: z.string().optional().meta({ description: 'Why it cannot move.' }),
      }),
    )
    .optional()
    .meta({ description: 'Interfaces that keep another index than spec.subnets gives their subnet.' }),
  error: z.object({ reason: z.string(), message: z.string(), remedy: z.string().optional() }).optional(),
})

/** Nodes, moves and held removals of a stored plan, each. */
export const maxStoredPlanEntries = 100

export const storedPlan = z
  .object({
    nodes: z.array(plannedNode).max(maxStoredPlanEntries),
    unchanged: z.int().min(0).meta({ description: 'Number of nodes that need no change.' }),
    heldRemovals: z.array(z.string()).max(maxStoredPlanEntries),
    moves: planAnswer.shape.moves.unwrap().max(maxStoredPlanEntries),
    omitted: z
      .int()
      .min(0)
      .meta({ description: `Number of entries after the first ${maxStoredPlanEntries} of a list.` }),
  })
  .meta({
    description: 'What the last sync of an OpenstackConfig planned: the nodes to change, moves and held removals.',
  })

export const storedPlansAnswer = z.object({
  plans: z.array(
    z.object({
      config: z.string().meta({ description: 'namespace/name of the OpenstackConfig.' }),
      providerId: z.string(),
      plannedAt: z.string().meta({ description: 'When the inventory stored it. Later syncs planned the same.' }),
      plan: storedPlan,
    }),
  ),
})

/** A database cannot store the character NUL. */
const storedText = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[^\0]*$/)

/** Verdicts that the operator writes at once. */
export const maxVerdictsPerWrite = 1_500

export const verdictWrite = z
  .object({
    providerId: opaqueId.regex(/^[^\0]*$/),
    config: storedText(317).meta({ description: 'namespace/name of the OpenstackConfig.' }),
    after: storedText(255)
      .optional()
      .meta({ description: 'The VMs after this one, in byte order. Absent: from the first.' }),
    upTo: storedText(255).optional().meta({ description: 'The VMs up to this one. Absent: to the last.' }),
    removed: z
      .boolean()
      .optional()
      .meta({ description: 'The OpenstackConfig was deleted: all its verdicts are deleted.' }),
    verdicts: z
      .array(
        verdict.omit({ config: true, providerId: true, remedy: true }).extend({
          vm: storedText(255),
          vmName: tenantName.regex(/^[^\0]*$/).optional(),
          portId: storedText(255).optional(),
          reason: storedText(128),
          message: storedText(1_024),
          name: storedText(64).optional(),
        }),
      )
      .max(maxVerdictsPerWrite),
    plan: storedPlan.optional().meta({ description: 'The last plan. Absent: the stored one stays.' }),
  })
  .meta({
    description: 'All verdicts of an OpenstackConfig on a range of VMs. They replace the stored ones on these VMs.',
  })

export type VerdictWrite = z.infer<typeof verdictWrite>
export type OperatorVerdict = z.infer<typeof verdict>
export type PlanAnswer = z.infer<typeof planAnswer>
export type StoredPlan = z.infer<typeof storedPlan>
export type StoredPlans = z.infer<typeof storedPlansAnswer>['plans']
