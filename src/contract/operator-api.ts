/**
 * The operator's own API: the verdict on every port and VM, and what an OpenstackConfig would do.
 */
import { z } from 'zod'
import { interfaceSchema } from './node-config.ts'

export const verdictsPath = '/v1/operator/verdicts'
export const planPath = '/v1/operator/plan'

export const verdict = z
  .object({
    config: z.string().meta({ description: 'namespace/name of the OpenstackConfig.' }),
    providerId: z.string().optional().meta({ description: 'The Biz cluster that the object delivers to.' }),
    vm: z.string(),
    portId: z.string().optional().meta({ description: 'Absent for a verdict on the VM itself.' }),
    reason: z.string(),
    message: z.string(),
    remedy: z.string().optional(),
    name: z.string().optional().meta({ description: 'The interface that the port became.' }),
  })
  .meta({ description: 'What became of a port or VM, and why.' })

export const verdictsAnswer = z.object({ verdicts: z.array(verdict) })

export const plannedNode = z
  .object({
    nodeName: z.string(),
    instanceId: z.string(),
    action: z.enum(['send', 'remove', 'keep']),
    interfaces: z.array(interfaceSchema),
    why: z.array(z.string()),
  })
  .meta({ description: 'What one node would get.' })

export const planAnswer = z.object({
  nodes: z.array(plannedNode),
  verdicts: z.array(verdict),
  heldRemovals: z
    .array(z.string())
    .meta({ description: 'Removals that would wait for a person, because too many ports vanished at once.' }),
  error: z.object({ reason: z.string(), message: z.string(), remedy: z.string().optional() }).optional(),
})

export type OperatorVerdict = z.infer<typeof verdict>
export type PlanAnswer = z.infer<typeof planAnswer>
