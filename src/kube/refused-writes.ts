/**
 * Whether the API server refuses what the controller writes. Its caches do not show that: without its rights to write, a
 * controller reads everything and does nothing.
 */

import { messageOf } from '../runtime/errors.ts'
import { isForbidden } from './errors.ts'

export interface RefusedWrites {
  /** After a reconcile that wrote something. */
  succeeded(): void
  failed(error: unknown): void
  /** Undefined after a write that succeeded. */
  problem(): string | undefined
}

export function createRefusedWrites(): RefusedWrites {
  let refused: string | undefined
  return {
    succeeded() {
      refused = undefined
    },
    failed(error) {
      if (isForbidden(error)) refused = messageOf(error)
    },
    problem: () => refused && `writes are refused: ${refused}`,
  }
}
