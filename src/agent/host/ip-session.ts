/**
 * `ip -force -batch -` as a process that answers one query after the other: starting a process for each takes 3 ms of
 * processor time. It remembers the names of links, so it must not live longer than one list of links is of use.
 *
 * A query ends with a command that does not exist. Its error says that `ip` has run all commands before it.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'

/** What `ip` printed for the commands of one query. Errors name their lines: the first command is in line 1. */
export interface IpAnswer {
  stdout: string
  stderr: string
}

export interface IpSession {
  /** The answer ends early if the process does. The next query starts another. */
  query(commands: readonly string[]): Promise<IpAnswer>
  close(): void
}

/** The command that does not exist. */
export const endOfQuery = 'end-of-query'
const endPattern = new RegExp(`^.*"${endOfQuery}".*\nCommand failed -:\\d+\n`, 'm')

/** The timeout of a query is in milliseconds. */
export function ipSession(start: () => ChildProcessWithoutNullStreams, timeout: number): IpSession {
  let running: RunningIp | undefined
  return {
    query(commands) {
      if (!running?.isOpen()) running = runningIp(start())
      return running.query(commands, timeout)
    },
    close: () => running?.close(),
  }
}

interface RunningIp {
  isOpen(): boolean
  query(commands: readonly string[], timeout: number): Promise<IpAnswer>
  close(): void
}

function runningIp(child: ChildProcessWithoutNullStreams): RunningIp {
  let [stdout, stderr]: [Buffer[], string] = [[], '']
  let [lines, open] = [0, true]
  let failure: Error | undefined
  let changed = () => {}
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
    changed()
  })
  child.on('error', error => {
    failure = error
    changed()
  })
  child.on('close', () => {
    open = false
    changed()
  })
  // A process that has ended reads nothing.
  child.stdin.on('error', () => {})

  async function query(commands: readonly string[], timeout: number): Promise<IpAnswer> {
    const first = lines
    lines += commands.length + 1
    const end = `Command failed -:${lines}\n`
    child.stdin.write(`${[...commands, endOfQuery].join('\n')}\n`)
    await new Promise<void>(resolve => {
      const timer = setTimeout(() => {
        failure = new Error(`no answer within ${timeout / 1_000} seconds`)
        child.kill('SIGKILL')
        changed()
      }, timeout)
      changed = () => {
        if (open && !failure && !stderr.includes(end)) return
        clearTimeout(timer)
        resolve()
      }
      changed()
    })
    if (failure) throw new Error(`ip: ${failure.message}`)
    // The lists were printed before the error, and the next turn of the event loop reads them.
    await nextTurn()
    await nextTurn()
    const relative = (_: string, line: string) => `Command failed -:${Number(line) - first}`
    const answer = {
      stdout: Buffer.concat(stdout).toString(),
      stderr: stderr.replace(endPattern, '').replace(/Command failed -:(\d+)/g, relative),
    }
    stdout = []
    stderr = ''
    return answer
  }

  return { isOpen: () => open && !failure, query, close: () => child.stdin.end() }
}

/**
 * Called in the callback of an event, the first immediate still runs in the same turn. That of src/runtime uses
 * `performance`, whose first use would load node:perf_hooks.
 */
function nextTurn(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve)
  })
}
