/**
 * A person's request to renumber interfaces: an annotation of an OpenstackConfig.
 */
import * as z from 'zod'
import { hashOf } from './hash.ts'
import { opaqueId } from './text.ts'

/** An annotation has at most 256 KiB. */
export const maxMoves = 500

export const nodeName = z.string().min(1).max(253)
export const interfaceName = z
  .string()
  .max(9)
  .regex(/^multinic[0-9]$/)

const renumberRequest = z.object({
  /** Makes the same moves a new request. */
  requestedAt: z.string().max(64),
  moves: z
    .array(z.object({ nodeName, portId: opaqueId, to: interfaceName }))
    .min(1)
    .max(maxMoves),
})
export type RenumberRequest = z.infer<typeof renumberRequest>

/** The same annotation is the same request. */
export function renumberRequestId(annotation: string): string {
  return hashOf(annotation).slice(0, 16)
}

/** Undefined if the annotation is not a request. */
export function parseRenumberRequest(annotation: string): RenumberRequest | undefined {
  try {
    return renumberRequest.safeParse(JSON.parse(annotation)).data
  } catch {
    // Not JSON.
  }
}
