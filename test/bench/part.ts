/**
 * One part of the bundled program in a process of its own, started as its image starts it.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { entrypointOf, recipes } from '../../scripts/image.ts'

const images = {
  operator: 'multinic-operator',
  viola: 'multinic-viola-test-api',
  inventory: 'multinic-inventory',
  controller: 'multinic-controller',
}

/** What a part is started with besides its own settings: the flags of Node, and the environment. */
export function asDeployed(part: keyof typeof images): {
  flags: readonly string[]
  environment: Record<string, string>
} {
  return { flags: entrypointOf('services', images[part]).slice(1, -1), environment: recipes.services.environment }
}

export interface RunningPart extends AsyncDisposable {
  url: string
  pid: number
}

/** The operator has an inventory inside, which listens too. */
const said = { operator: 'listening', viola: 'listening', inventory: 'inventory listening' }

/** Once it listens. */
export async function startPart(
  part: keyof typeof said,
  program: string,
  env: Record<string, string>,
): Promise<RunningPart> {
  const { flags, environment } = asDeployed(part)
  const child = spawn(process.execPath, [...flags, program, part], {
    env: { ...environment, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const url = Promise.withResolvers<string>()
  child.once('exit', code => url.reject(new Error(`the ${part} ended with ${code}`)))
  createInterface({ input: child.stderr }).on('line', line => {
    const { message, url: at } = JSON.parse(line) as Record<string, string>
    if (message === said[part] && at) url.resolve(at)
  })
  setTimeout(() => url.reject(new Error(`the ${part} does not listen`)), 60_000).unref()
  return {
    url: await url.promise,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
