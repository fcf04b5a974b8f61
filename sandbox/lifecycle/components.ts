/**
 * The operator, Viola and the controller in the sandbox: the same program as in production, with production settings.
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
import type { Bundles } from './bundles.ts'
import { processMarker, type StateDir } from './state-dir.ts'
import type { Component } from './supervisor.ts'

export const sandboxNamespace = 'multinic-system'
export const sandboxProviderName = 'Sandbox'
export const agentImage = 'multinic-agent:sandbox'

/** Runs one command of the program. The compile cache halves the start time of the next process. */
export function programCommand(program: string, ...args: string[]): Pick<Component, 'command' | 'env'> {
  const cache = environment()['NODE_COMPILE_CACHE'] ?? join(checkout, 'node_modules/.cache/compiled')
  return {
    command: [process.execPath, '--disable-warning=ExperimentalWarning', '--max-semi-space-size=4', program, ...args],
    // By default glibc keeps a heap per thread.
    env: { NODE_COMPILE_CACHE: cache, MALLOC_ARENA_MAX: '1' },
  }
}

export interface ComponentsOptions {
  state: StateDir
  kubeconfigs: { management: string; biz: string }
  contrabass: string
  /** Provider id of the Biz cluster in Viola. */
  clusterId: string
  bundles: Pick<Bundles, 'program'>
  /** Settings for every component; they take precedence. */
  env?: Record<string, string> | undefined
}

export interface ComponentAddresses {
  inventory: string
  operator: string
  viola: string
  controller: string
}

export interface Components {
  components: Component[]
  addresses: ComponentAddresses
  /** Contains the bearer token of a caller with all rights. */
  tokenFile: string
}

export async function componentsFor(options: ComponentsOptions): Promise<Components> {
  const { state, kubeconfigs } = options
  const [inventory, operator, viola, controller] = await freeAddresses(4)
  if (!inventory || !operator || !viola || !controller) throw new Error('no free TCP port on this machine')
  const routing = state.path('viola-routing.yaml')
  const target = {
    ...{ providerId: options.clusterId, name: sandboxProviderName },
    ...{ namespace: sandboxNamespace, kubeconfig: kubeconfigs.biz },
  }
  await writeFile(routing, stringify({ strict: true, targets: [target] }), { mode: 0o600 })
  const tokens = await writeTokens(state)

  const component = (name: string, env: Record<string, string>): Component => {
    const program = programCommand(options.bundles.program, name)
    return {
      name,
      command: program.command,
      env: { ...program.env, ...tracing(), [processMarker]: state.dir, ...env, ...options.env },
    }
  }
  const components = [
    component('viola', {
      LISTEN_ADDR: viola,
      ROUTING_CONFIG: routing,
      KUBECONFIG: kubeconfigs.management,
      VIOLA_TOKENS_FILE: tokens.callers,
    }),
    component('operator', {
      KUBECONFIG: kubeconfigs.management,
      POD_NAMESPACE: sandboxNamespace,
      OPERATOR_ADDR: operator,
      OPERATOR_TOKENS_FILE: tokens.callers,
      INVENTORY_TOKENS_FILE: tokens.callers,
      INVENTORY_ADDR: inventory,
      INVENTORY_DB_PATH: state.path('inventory.db'),
      CONTRABASS_ENDPOINT: options.contrabass,
      VIOLA_ENDPOINT: `http://${viola}`,
      VIOLA_TOKEN_FILE: tokens.token,
    }),
    component('controller', {
      KUBECONFIG: kubeconfigs.biz,
      CONTROLLER_NAMESPACE: sandboxNamespace,
      AGENT_IMAGE: agentImage,
      AGENT_IMAGE_PULL_POLICY: 'Never',
      HEALTH_ADDR: controller,
    }),
  ]
  return { components, addresses: { inventory, operator, viola, controller }, tokenFile: tokens.token }
}

/** One caller with all rights: the user of the sandbox, and the operator at Viola. */
async function writeTokens(state: StateDir): Promise<{ callers: string; token: string }> {
  const [callers, file] = [state.path('operator-tokens.yaml'), state.path('operator-token')]
  const token = randomBytes(24).toString('hex')
  await writeFile(callers, stringify({ tokens: [{ user: 'sandbox', groups: ['system:masters'], token }] }), {
    mode: 0o600,
  })
  await writeFile(file, token, { mode: 0o600 })
  return { callers, token: file }
}

/** Passes the OpenTelemetry collector of the caller on to the components. */
function tracing(): Record<string, string> {
  const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS']
  const env = environment()
  return Object.fromEntries(names.flatMap(name => (env[name] ? [[name, env[name]]] : [])))
}

/** Resolves when all components answer; throws with the last log line of one that does not. */
export async function waitUntilHealthy(addresses: ComponentAddresses, logs: string, withinMs = 60_000): Promise<void> {
  const until = performance.now() + withinMs
  for (const [name, address] of Object.entries(addresses)) {
    while (!(await isHealthy(address))) {
      if (performance.now() > until) {
        const file = join(logs, `${name === 'inventory' ? 'operator' : name}.log`)
        const lastLine = (await readFile(file, 'utf8').catch(() => '')).trimEnd().split('\n').at(-1)
        throw new Error(`${name} does not start; its log ends with: ${lastLine}`)
      }
      await sleep(25)
    }
  }
}

async function isHealthy(address: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`http://${address}/healthz`)
    await body.dump()
    return statusCode < 500
  } catch {
    return false
  }
}

/** Chosen before the components start, because they need each other's address. All are bound at once, so no two are equal. */
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
