/**
 * Runs commands of the sandbox as processes, without a terminal.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { environment } from '../../src/runtime/env.ts'

const program = join(import.meta.dirname, '../../bin/multinic')

export interface CommandResult {
  code: number
  /** stdout and stderr. */
  out: string
}

/** Runs `multinic sandbox …` for the sandbox of a directory, with additional environment. */
export function commandRunner(
  dir: string,
  more: Record<string, string> = {},
): (...args: string[]) => Promise<CommandResult> {
  const env = { ...environment(), ...more, MULTINIC_SANDBOX_DIR: dir }
  return (...args) =>
    new Promise(resolve => {
      // stdin is a pipe: there is no terminal, and no command may wait for one.
      const child = execFile(program, ['sandbox', ...args], { env, timeout: 280_000 }, (_error, out, err) =>
        resolve({ code: child.exitCode ?? 1, out: `${out}${err}` }),
      )
    })
}

/** Texts of the tour are wrapped at the width of the terminal. */
export function inOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}
