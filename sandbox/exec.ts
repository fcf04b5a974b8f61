/**
 * Runs the system's own tools, and says what they said when they fail.
 */
import { spawn } from 'node:child_process'
import { explain } from '../src/runtime/errors.ts'

export interface RunOptions {
  input?: string
  /** The only variables that the program sees besides PATH. */
  env?: Record<string, string>
}

/** Directories such as /usr/sbin are not in everybody's PATH. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function run(file: string, args: string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: systemPath, LC_ALL: 'C', ...options.env },
    })
    let out = ''
    let said = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      said += text
    })
    child.once('error', error => reject(explain(file, error)))
    child.once('close', (code, signal) => {
      if (code === 0) resolve(out)
      else
        reject(new Error(`${file} ${args.join(' ')}: ${said.trim() || out.trim() || `ended with ${code ?? signal}`}`))
    })
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
  })
}

/** One `ip` process for many changes in a namespace: it stops at the first that fails. */
export async function ipBatch(namespace: string, lines: string[]): Promise<void> {
  if (lines.length === 0) return
  try {
    await run('ip', ['-n', namespace, '-batch', '-'], { input: `${lines.join('\n')}\n` })
  } catch (error) {
    const line = /Command failed -:(\d+)/.exec(String(error))?.[1]
    throw line ? explain(`ip ${lines[Number(line) - 1]}`, error) : error
  }
}

export async function ipJson<T>(namespace: string, args: string[]): Promise<T[]> {
  const text = await run('ip', ['-n', namespace, '-j', ...args])
  return text.trim() ? (JSON.parse(text) as T[]) : []
}
