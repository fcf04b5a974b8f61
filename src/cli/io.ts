/**
 * What the user commands use of their surroundings: a few functions, so that a test can replace the terminal.
 */
import type { Language } from '../contract/reasons/catalogue.ts'
import type { Environment } from '../runtime/env.ts'

export interface Io {
  env: Environment
  language: Language
  /** Writes the text as it is, without adding a line end. */
  out(text: string): void
  /** Writes one line to standard error, for the user and not for programs that read the output. */
  note(line: string): void
  /** The text of a file; `-` is standard input. */
  read(path: string): Promise<string>
  /** True if the output goes to a terminal. */
  terminal: boolean
  /** Width of the terminal. */
  columns?: number | undefined
  /** Height of the terminal. */
  rows?: number | undefined
  now(): Date
  /** Asks a person at the terminal. Absent without one. */
  confirm?: ((question: string) => Promise<boolean>) | undefined
}

/** Result of a command: yes or no. A command without an answer throws a `CliError`. */
export type Ending = 'yes' | 'no'

/** No answer: wrong use, wrong URL or token, or nothing responds. Exit code 2. */
export class CliError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CliError'
  }
}
