/**
 * The cloud of the sandbox: Keystone, Neutron, Nova and Contrabass over the world, each on a port of its own.
 */
import type { Log } from '../../src/telemetry/log.ts'
import { contrabassBroken, createContrabass } from './contrabass.ts'
import { type CloudServer, serve } from './http-server.ts'
import { createKeystone, keystoneBroken } from './keystone.ts'
import { createNeutron, neutronBroken } from './neutron.ts'
import { createNova, novaBroken } from './nova.ts'
import type { Port, Server, Service, Subnet, World } from './state.ts'

export interface Cloud {
  urls: Record<Service, string>
  /** Requests so far. */
  calls(): Record<Service, number>
  revokeTokens(): void
  /** Of a real cloud: who attaches and detaches there. Without it the world itself is changed. */
  hands?: CloudHands
  close(): Promise<void>
}

export interface CloudHands {
  attach(server: Server, subnet: Subnet): Promise<Port>
  detach(port: Port): Promise<void>
}

/** With `host`, at that address of this machine instead of its loopback. */
export async function startCloud(world: World, log: Log, host?: string): Promise<Cloud> {
  const urls: Partial<Record<Service, string>> = {}
  const at = (service: Service) => () => urls[service] ?? ''
  const keystone = createKeystone(world, () => ({ network: at('neutron')(), compute: at('nova')() }))
  const parts = {
    keystone: { handler: keystone.handler, broken: keystoneBroken },
    neutron: { handler: createNeutron(world, keystone.tokens, at('keystone')), broken: neutronBroken },
    nova: { handler: createNova(world, keystone.tokens, at('keystone')), broken: novaBroken },
    contrabass: { handler: createContrabass(world, at('keystone')), broken: contrabassBroken },
  }
  const started: Partial<Record<Service, CloudServer>> = {}
  for (const [service, part] of Object.entries(parts) as [Service, (typeof parts)[Service]][]) {
    const server = await serve({ service, world, log, ...part, ...(host !== undefined && { host }) })
    started[service] = server
    urls[service] = server.url
  }
  const servers = started as Record<Service, CloudServer>
  return {
    urls: urls as Record<Service, string>,
    calls: () => ({
      keystone: servers.keystone.calls(),
      neutron: servers.neutron.calls(),
      nova: servers.nova.calls(),
      contrabass: servers.contrabass.calls(),
    }),
    revokeTokens: () => keystone.tokens.revokeAll(),
    close: async () => {
      await Promise.all(Object.values(servers).map(server => server.close()))
    },
  }
}
