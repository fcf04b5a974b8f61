/**
 * Runs programs of the system; an error contains their output.
 */
import { spawn } from 'node:child_process'
import { explain } from '../src/runtime/errors.ts'

export interface RunOptions {
  input?: string
  /** The only environment variables besides PATH and LC_ALL. */
  env?: Record<string, string>
}

/** The PATH of a normal user often lacks /usr/sbin. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function run(file: string, args: string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: systemPath, LC_ALL: 'C', ...options.env },
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text
    })
    child.once('error', error => reject(explain(file, error)))
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(stdout)
      const reason = stderr.trim() || stdout.trim() || `exit ${code ?? signal}`
      reject(new Error(`${file} ${args.join(' ')}: ${reason}`))
    })
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
  })
}

/** Runs `ip -batch` in a namespace; stops at the first line that fails. */
export async function ipBatch(namespace: string, lines: string[], options: readonly string[] = []): Promise<void> {
  if (lines.length === 0) return
  try {
    await run('ip', ['-n', namespace, ...options, '-batch', '-'], { input: `${lines.join('\n')}\n` })
  } catch (error) {
    const line = /Command failed -:(\d+)/.exec(String(error))?.[1]
    throw line ? explain(`ip ${lines[Number(line) - 1]}`, error) : error
  }
}

export async function ipJson<T>(namespace: string, args: string[]): Promise<T[]> {
  const text = await run('ip', ['-n', namespace, '-j', ...args])
  return text.trim() ? (JSON.parse(text) as T[]) : []
}
