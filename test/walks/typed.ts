/**
 * What people type: the commands of the sandbox as processes of their own, without a terminal.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../../src/env.ts'
import { partMark } from '../../src/sandbox/state.ts'

const program = join(import.meta.dirname, '../../bin/multinic')

export interface Typed {
  code: number
  /** All that it wrote. */
  out: string
}

/** `multinic sandbox …` on the sandbox of a directory. */
export function typing(dir: string): (...args: string[]) => Promise<Typed> {
  const env = { ...environment(), MULTINIC_SANDBOX_DIR: dir }
  return (...args) =>
    new Promise(resolve => {
      // Its standard input is a pipe: there is no terminal, and nothing may wait for one.
      const child = execFile(program, ['sandbox', ...args], { env, timeout: 280_000 }, (_error, out, err) =>
        resolve({ code: child.exitCode ?? 1, out: `${out}${err}` }),
      )
    })
}

/** Processes of the sandbox of a directory, with their command lines. */
export function processesOf(dir: string): string[] {
  const textOf = (file: string) => {
    try {
      return readFileSync(file, 'utf8')
    } catch {
      return ''
    }
  }
  return readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid) && textOf(`/proc/${pid}/environ`).split('\0').includes(`${partMark}=${dir}`))
    .map(pid => textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' '))
}
