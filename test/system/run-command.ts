/**
 * What people type: the commands of the sandbox as processes of their own, without a terminal.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { environment } from '../../src/runtime/env.ts'

const program = join(import.meta.dirname, '../../bin/multinic')

export interface Typed {
  code: number
  /** All that it wrote. */
  out: string
}

/** `multinic sandbox …` on the sandbox of a directory, with variables besides. */
export function typing(dir: string, more: Record<string, string> = {}): (...args: string[]) => Promise<Typed> {
  const env = { ...environment(), ...more, MULTINIC_SANDBOX_DIR: dir }
  return (...args) =>
    new Promise(resolve => {
      // Its standard input is a pipe: there is no terminal, and nothing may wait for one.
      const child = execFile(program, ['sandbox', ...args], { env, timeout: 280_000 }, (_error, out, err) =>
        resolve({ code: child.exitCode ?? 1, out: `${out}${err}` }),
      )
    })
}
