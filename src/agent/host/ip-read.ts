/**
 * Reads the kernel with `ip -j -batch`: one result per command. Fails closed: output that is missing, incomplete or
 * interrupted is an error, never an empty list.
 */
import type { Host } from './host.ts'

/** What one command printed, or why it failed. */
export type IpResult = { items: unknown[]; error?: undefined } | { items?: undefined; error: string }

/** The kernel's tables may change while it lists them. */
const maxAttempts = 5
/** Each listing that fails leaves a bracket before the next list. */
const listPattern = /^\[*(\[[\]{].*)/
const options = ['-N', '-j', '-d', '-force', '-batch', '-']

/** One result per command, in the same order. `family` is for commands that list one family only. */
export async function readIp(
  host: Host,
  commands: readonly string[],
  family: readonly string[] = [],
): Promise<IpResult[]> {
  for (let attempt = 1; ; attempt++) {
    const { code, stdout, stderr } = await host.ip([...family, ...options], commands)
    const interrupted = /Dump was interrupted/.test(stderr)
    if (interrupted && attempt < maxAttempts) continue
    const errors = errorsByLine(stderr)
    const lists = stdout.split('\n').flatMap(line => listPattern.exec(line)?.[1] ?? [])
    if (interrupted || (code !== 0) !== errors.size > 0 || lists.length !== commands.length - errors.size)
      throw new Error(`cannot read network state: ip: ${stderr.trim() || 'output is incomplete'}`)
    return commands.map((_, index) => {
      const error = errors.get(index + 1)
      return error === undefined ? { items: parseList(lists.shift() ?? '') } : { error }
    })
  }
}

/** The items of commands of which none may fail. */
export async function readIpLists(
  host: Host,
  commands: readonly string[],
  family?: readonly string[],
): Promise<unknown[][]> {
  const results = await readIp(host, commands, family)
  return results.map((result, index) => itemsOf(result, commands[index] ?? ''))
}

export function itemsOf(result: IpResult | undefined, command: string): unknown[] {
  if (!result?.items) throw new Error(`cannot read network state: ip ${command}: ${result?.error ?? 'no output'}`)
  return result.items
}

/** `ip -force -batch` prints the error of a command, and then its line. */
function errorsByLine(stderr: string): Map<number, string> {
  const errors = new Map<number, string>()
  let text: string[] = []
  for (const line of stderr.split('\n')) {
    const [, number] = /^Command failed -:(\d+)/.exec(line) ?? []
    if (number === undefined) text.push(line)
    else {
      errors.set(Number(number), text.join(' ').trim())
      text = []
    }
  }
  return errors
}

function parseList(text: string): unknown[] {
  try {
    return JSON.parse(text) as unknown[]
  } catch {
    throw new Error('cannot read network state: ip: output is not JSON')
  }
}
