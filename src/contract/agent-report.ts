/**
 * The report of the agent, in at most 4,096 bytes (the termination message of its Pod).
 *
 * Only a complete report of the same run counts as success. A truncated, missing or foreign one never does.
 */
import * as z from 'zod'
import { agentModes } from './agent-input.ts'
import { interfaceStatus, observedInterface } from './node-config.ts'

export const maxReportBytes = 4096

/**
 * Configured: the kernel shows everything that was requested. Pending: only NICs that are not in the guest yet are missing.
 * Failed: at least one interface failed or was refused. Removed: a cleanup removed everything that MultiNIC manages. Drifted and
 * InSync: results of a check. Planned: a dry run.
 */
const verdicts = ['Configured', 'Pending', 'Failed', 'Removed', 'InSync', 'Drifted', 'Planned'] as const

export const agentReport = z.object({
  version: z.literal(1),
  node: z.string(),
  mode: z.enum(agentModes),
  generation: z.int().min(0),
  specHash: z.string(),
  verdict: z.enum(verdicts),
  reason: z.string(),
  message: z.string(),
  interfaces: z.array(
    z.object({
      id: z.int().min(0).max(9),
      name: z.string(),
      macAddress: z.string(),
      portId: z.string().optional(),
      status: interfaceStatus.shape.status.unwrap(),
      reason: z.string(),
      message: z.string().optional(),
      observed: observedInterface.optional(),
      /** Number of changes to this interface. Absent from a check. */
      changed: z.int().min(0).optional(),
    }),
  ),
  /** Number of changes to kernel and disk. Zero when nothing differed. */
  changed: z.int().min(0),
  /** Names of removed interfaces or files. */
  removed: z.array(z.string()),
  /** Names of interfaces that were rolled back. */
  undone: z.array(z.string()),
  /** The network manager of this host, and the evidence for it. */
  backend: z.object({ kind: z.string(), because: z.array(z.string()) }).optional(),
  bootID: z.string().optional(),
  /** Milliseconds per phase. `startedAt` and `applyAt` are times in milliseconds since 1970. */
  timings: z.record(z.string(), z.number()),
  /** Trace ID of the run. */
  traceId: z.string().optional(),
})

export type AgentReport = z.infer<typeof agentReport>
export type InterfaceReport = AgentReport['interfaces'][number]
export type Verdict = (typeof verdicts)[number]
