/**
 * A person's request to renumber interfaces: an annotation of an OpenstackConfig, and its progress in the status.
 */
import * as z from 'zod'
import { hashOf } from './hash.ts'
import { opaqueId } from './text.ts'

/** An annotation has at most 256 KiB. */
export const maxMoves = 500

const nodeName = z.string().min(1).max(253)
const name = z
  .string()
  .max(9)
  .regex(/^multinic[0-9]$/)

export const renumberRequest = z.object({
  /** Makes the same moves a new request. */
  requestedAt: z.string().max(64),
  moves: z
    .array(z.object({ nodeName, portId: opaqueId, to: name }))
    .min(1)
    .max(maxMoves),
})
export type RenumberRequest = z.infer<typeof renumberRequest>

const renumberedPort = z.object({ portId: opaqueId, from: name, to: name })

export const renumberStatus = z
  .object({
    request: z.string().max(64).meta({ description: 'Hash of the annotation multinic.io/renumber.' }),
    state: z.enum(['InProgress', 'Done', 'Stopped']),
    total: z.int32().min(0),
    done: z.int32().min(0),
    message: z.string().max(1024).optional(),
    current: renumberedPort
      .extend({
        nodeName,
        exchange: renumberedPort
          .optional()
          .meta({ description: 'The interface that had the number, and the number that it gets.' }),
        phase: z.enum(['Moving', 'RollingBack']),
        message: z.string().max(1024).optional().meta({ description: 'Why it is rolled back.' }),
      })
      .optional()
      .meta({ description: 'The interface that gets its number now. One at a time.' }),
  })
  .meta({ description: 'Progress of the last request to renumber interfaces.' })
export type RenumberStatus = z.infer<typeof renumberStatus>
export type MoveInProgress = NonNullable<RenumberStatus['current']>

/** The same annotation is the same request. */
export function renumberRequestId(annotation: string): string {
  return hashOf(annotation).slice(0, 16)
}

/** Undefined if the annotation is not a request. */
export function parseRenumberRequest(annotation: string): RenumberRequest | undefined {
  try {
    return renumberRequest.safeParse(JSON.parse(annotation)).data
  } catch {
    return undefined
  }
}
