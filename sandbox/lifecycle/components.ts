/**
 * Our own parts in the sandbox: the same program as in production, with the settings that it would have there.
 */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { stringify } from 'yaml'
import { environment } from '../../src/runtime/env.ts'
import { checkout } from '../checkout.ts'
import type { Built } from './bundles.ts'
import { partMark, type StateDir } from './state-dir.ts'
import type { Part } from './supervisor.ts'

export const sandboxNamespace = 'multinic-system'
export const agentImage = 'multinic-agent:sandbox'

/**
 * For processes that mostly wait: V8 looks for garbage before it grows its heap, and does not optimise the WebAssembly of
 * undici's parser.
 */
const smallHeap = [
  ...['--max-semi-space-size=1', '--semi-space-growth-factor=1', '--heap-growing-percent=20'],
  '--liftoff-only',
]

/** Runs one command of the program. What Node compiles is kept, which halves the start of the next process. */
export function ownProgram(program: string, ...args: string[]): Pick<Part, 'command' | 'env'> {
  const cache = environment()['NODE_COMPILE_CACHE'] ?? join(checkout, 'node_modules/.cache/compiled')
  return {
    command: [process.execPath, '--disable-warning=ExperimentalWarning', ...smallHeap, program, ...args],
    // The C library would keep a heap of its own for each thread.
    env: { NODE_COMPILE_CACHE: cache, MALLOC_ARENA_MAX: '1' },
  }
}

export interface PartsOptions {
  state: StateDir
  kubeconfigs: { management: string; biz: string }
  contrabass: string
  /** Under which Viola knows the Biz cluster. */
  clusterId: string
  built: Pick<Built, 'program' | 'webDir'>
  /** What every part is told besides; it wins. */
  env?: Record<string, string> | undefined
}

export interface PartAddresses {
  inventory: string
  operator: string
  viola: string
  controller: string
}

export interface Parts {
  parts: Part[]
  addresses: PartAddresses
  /** Holds the bearer token of a caller who may request plans. */
  tokenFile: string
}

export async function partsOf(options: PartsOptions): Promise<Parts> {
  const { state, kubeconfigs } = options
  const [inventory, operator, viola, controller] = await freeAddresses(4)
  if (!inventory || !operator || !viola || !controller) throw new Error('this machine has no free port')
  const routing = state.path('viola-routing.yaml')
  const target = { providerId: options.clusterId, namespace: sandboxNamespace, kubeconfig: kubeconfigs.biz }
  await writeFile(routing, stringify({ strict: true, targets: [target] }), { mode: 0o600 })
  const tokens = await writeTokens(state)

  const part = (name: string, env: Record<string, string>): Part => {
    const own = ownProgram(options.built.program, name)
    const given = { ...own.env, ...tracing(), [partMark]: state.dir, ...env, ...options.env }
    return { name, command: own.command, env: given }
  }
  const parts = [
    part('viola', { LISTEN_ADDR: viola, ROUTING_CONFIG: routing, KUBECONFIG: kubeconfigs.management }),
    part('operator', {
      KUBECONFIG: kubeconfigs.management,
      POD_NAMESPACE: sandboxNamespace,
      OPERATOR_ADDR: operator,
      OPERATOR_TOKENS_FILE: tokens.callers,
      INVENTORY_ADDR: inventory,
      INVENTORY_DB_PATH: state.path('inventory.db'),
      INVENTORY_WEB_DIR: options.built.webDir,
      CONTRABASS_ENDPOINT: options.contrabass,
      VIOLA_ENDPOINT: `http://${viola}`,
    }),
    part('controller', {
      KUBECONFIG: kubeconfigs.biz,
      CONTROLLER_NAMESPACE: sandboxNamespace,
      AGENT_IMAGE: agentImage,
      AGENT_IMAGE_PULL_POLICY: 'Never',
      HEALTH_ADDR: controller,
    }),
  ]
  return { parts, addresses: { inventory, operator, viola, controller }, tokenFile: tokens.token }
}

/** The operator answers plans only to a caller with a token. */
async function writeTokens(state: StateDir): Promise<{ callers: string; token: string }> {
  const [callers, file] = [state.path('operator-tokens.yaml'), state.path('operator-token')]
  const token = randomBytes(24).toString('hex')
  await writeFile(callers, stringify({ tokens: [{ name: 'sandbox', token, providers: ['*'] }] }), { mode: 0o600 })
  await writeFile(file, token, { mode: 0o600 })
  return { callers, token: file }
}

/** Whoever starts a sandbox with a collector sees the traces of its parts there. */
function tracing(): Record<string, string> {
  const named = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS']
  const given = environment()
  return Object.fromEntries(named.flatMap(name => (given[name] ? [[name, given[name]]] : [])))
}

/** Resolves when all of them answer. One that does not is named with its last words. */
export async function whenUp(addresses: PartAddresses, logs: string, withinMs = 60_000): Promise<void> {
  const until = performance.now() + withinMs
  for (const [name, address] of Object.entries(addresses)) {
    while (!(await answers(address))) {
      if (performance.now() > until) {
        const file = join(logs, `${name === 'inventory' ? 'operator' : name}.log`)
        const said = (await readFile(file, 'utf8').catch(() => '')).trimEnd().split('\n').at(-1)
        throw new Error(`${name} does not start; its log ends with: ${said}`)
      }
      await sleep(25)
    }
  }
}

async function answers(address: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`http://${address}/healthz`)
    await body.dump()
    return statusCode < 500
  } catch {
    return false
  }
}

/** Chosen before the parts start, because they must know each other. Held together, so that no two are the same. */
export async function freeAddresses(count: number): Promise<string[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(0, '127.0.0.1', resolve)
      })
      return server
    }),
  )
  const addresses = servers.map(server => {
    const address = server.address()
    return typeof address === 'object' && address ? `127.0.0.1:${address.port}` : ''
  })
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return addresses
}
