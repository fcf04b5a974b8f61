/**
 * A component of the bundled program in its own process, started like in its image.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { recipes } from '../../scripts/image.ts'
import type { MemoryLimit } from '../rigs/memory-limit.ts'

const { entrypoint, environment } = recipes.services
/** The Node options and the environment of the image of the components. */
export const asDeployed = { flags: entrypoint.slice(1, -1), environment }

export interface RunningComponent extends AsyncDisposable {
  url: string
  pid: number
  /** Aborted when the process has ended; the reason has its exit and the last line that is not of its log. */
  ended: AbortSignal
}

/** The log message with the URL. The operator contains an inventory, which listens too. */
const listeningMessage = {
  operator: 'listening',
  viola: 'listening',
  inventory: 'inventory listening',
  controller: 'listening',
}

/** Resolves when the component listens. */
export async function startComponent(
  component: keyof typeof listeningMessage,
  program: string,
  env: Record<string, string>,
  limit: Pick<MemoryLimit, 'command'> = { command: command => [...command] },
): Promise<RunningComponent> {
  const [file = '', ...args] = limit.command([process.execPath, ...asDeployed.flags, program, component])
  const child = spawn(file, args, { env: { ...environment, ...env }, stdio: ['ignore', 'ignore', 'pipe'] })
  const end = new AbortController()
  let lastLine = ''
  const ended = new Promise<void>(resolve =>
    child.once('exit', (code, signal) => {
      end.abort(`${signal ?? `exit code ${code}`}${lastLine && `: ${lastLine}`}`)
      resolve()
    }),
  )
  const url = Promise.withResolvers<string>()
  child.once('exit', code => url.reject(new Error(`the ${component} exited with code ${code}`)))
  createInterface({ input: child.stderr }).on('line', line => {
    // A program that runs out of memory prints other lines.
    if (!line.startsWith('{')) {
      lastLine = line || lastLine
      return
    }
    const { message, url: address } = JSON.parse(line) as Record<string, string>
    if (message === listeningMessage[component] && address) url.resolve(address)
  })
  setTimeout(() => url.reject(new Error(`the ${component} did not listen within 60 s`)), 60_000).unref()
  return {
    url: await url.promise,
    pid: child.pid ?? 0,
    ended: end.signal,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
