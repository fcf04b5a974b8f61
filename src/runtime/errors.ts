/**
 * Errors of all components: the failed operation, then the cause.
 */

/** Adds the failed operation to an error: `read /etc/x: permission denied`. */
export function explain(operation: string, cause: unknown): Error {
  return new Error(`${operation}: ${messageOf(cause)}`, { cause })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A failure that a retry cannot fix. The user must change something first. */
export class TerminalError extends Error {
  readonly reason: string

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TerminalError'
    this.reason = reason
  }
}
