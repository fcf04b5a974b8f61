/**
 * Errors as every room uses them: what was being done, then the cause.
 */

/** Wraps a cause in the words of what was being done, so that the message reads as a sentence from the outside in. */
export function explain(doing: string, cause: unknown): Error {
  return new Error(`${doing}: ${messageOf(cause)}`, { cause })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A failure that trying again cannot mend: a person, or a new spec, has to change something first. */
export class TerminalError extends Error {
  readonly reason: string

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TerminalError'
    this.reason = reason
  }
}
