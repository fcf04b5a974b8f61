/**
 * The audit: who asked for what. Entries name people and objects, never values of a request, so no secret can be in one.
 */
import * as z from 'zod'
import { opaqueId, timestamp } from './text.ts'

export const auditPath = '/v1/inventory/audit'

/** On an object, beside an annotation that asks for something: who the CLI says it acts for. */
export const requestedByAnnotation = 'multinic.io/requested-by'

export const auditActions = [
  'config.create',
  'config.change',
  'config.delete',
  'removals.approve',
  'renumber.request',
  'node-config.edit',
  'records.write',
] as const

/**
 * How the name of a caller is known. `authenticated`: the server of the request checked the caller's credential. `claimed`: the
 * CLI wrote the name, and whoever may write the annotation may write any name. `fieldManager`: the program that wrote the
 * field, as the API server recorded it; the program chooses its name. `unknown`: nobody recorded one.
 */
const auditProofs = ['authenticated', 'claimed', 'fieldManager', 'unknown'] as const
export type AuditProof = (typeof auditProofs)[number]

/** One line, of printable characters. */
const name = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[\P{C}]*$/u)

export const auditWrite = z
  .object({
    at: timestamp,
    action: z.enum(auditActions),
    object: name(507).meta({
      description: 'namespace/name of an OpenstackConfig, the name of a node, or the ID of a provider.',
    }),
    providerId: opaqueId,
    caller: name(253).meta({ description: 'Empty if nobody recorded one.' }),
    proof: z.enum(auditProofs).meta({
      description:
        'How the name is known: authenticated by the server of the request; claimed by the CLI; fieldManager, the program that the API server recorded.',
    }),
    source: z.enum(['object', 'annotation', 'node-config', 'inventory-api']).meta({
      description: 'Where the request was made.',
    }),
    outcome: name(64).meta({ description: 'What became of it.' }),
  })
  .meta({ description: 'A request, and who made it.' })

export const auditEntry = auditWrite
  .extend({
    id: z.int().min(0),
    recordedBy: z.string().meta({ description: 'The component, or the caller of the inventory, that recorded it.' }),
  })
  .meta({ description: 'A recorded request.' })

export type AuditWrite = z.infer<typeof auditWrite>
export type AuditEntry = z.infer<typeof auditEntry>

export const auditColumns = [
  'id',
  'at',
  'action',
  'object',
  'providerId',
  'caller',
  'proof',
  'source',
  'outcome',
  'recordedBy',
] as const satisfies (keyof AuditEntry)[]

export function auditRow(entry: AuditEntry): string[] {
  return auditColumns.map(column => String(entry[column]))
}

/** Fits a field of an entry: what is not printable is left out. */
export function auditName(text: string, max = 253): string {
  return text.replaceAll(/\p{C}/gu, '').slice(0, max)
}
