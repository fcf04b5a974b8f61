/**
 * What the people's commands touch of the world: a few functions, so that a test can be the terminal.
 */
import type { Environment } from '../runtime/env.ts'

export interface Io {
  env: Environment
  /** Writes as it is: the text brings its own line ends. */
  out(text: string): void
  /** One line for the person, not for a program that reads the output. */
  note(line: string): void
  /** The whole text of a file; `-` is the standard input. */
  read(path: string): Promise<string>
  /** Reports whether a person looks at the output. */
  terminal: boolean
  now(): Date
}

/** How a command ended: the answer is fine, or the answer is no. No answer at all is a `CliError`. */
export type Ending = 'yes' | 'no'

/** No answer: the command, its address or its token is wrong, or nobody answers. Ends with code 2. */
export class CliError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CliError'
  }
}
