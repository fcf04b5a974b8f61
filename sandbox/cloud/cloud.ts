/**
 * The simulated cloud: Keystone, Neutron, Nova and Contrabass over one cloud state, each on its own TCP port.
 */
import type { Log } from '../../src/telemetry/log.ts'
import { contrabassInternalError, createContrabass } from './contrabass.ts'
import { type CloudServer, startHttpServer } from './http-server.ts'
import { createKeystone, keystoneInternalError } from './keystone.ts'
import { createNeutron, neutronInternalError } from './neutron.ts'
import { createNova, novaInternalError } from './nova.ts'
import type { CloudState, Port, Server, Service, Subnet } from './state.ts'

export interface Cloud {
  urls: Record<Service, string>
  /** Number of requests so far. */
  calls(): Record<Service, number>
  revokeTokens(): void | Promise<void>
  /** Only in a real cloud; in a simulated one the caller changes the cloud state. */
  attacher?: PortAttacher
  /** Only in a real cloud: a request of its administrator, which no fault affects. */
  administrator?: CloudAdministrator
  close(): Promise<void>
}

export type CloudAdministrator = (
  service: 'neutron' | 'nova',
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
) => Promise<unknown>

export interface PortAttacher {
  attach(server: Server, subnet: Subnet): Promise<Port>
  detach(port: Port): Promise<void>
}

/** `host` is an address of this machine; default is the loopback address. */
export async function startCloud(cloudState: CloudState, log: Log, host?: string): Promise<Cloud> {
  const urls: Partial<Record<Service, string>> = {}
  const at = (service: Service) => () => urls[service] ?? ''
  const keystone = createKeystone(cloudState, () => ({ network: at('neutron')(), compute: at('nova')() }))
  const services = {
    keystone: { handler: keystone.handler, internalError: keystoneInternalError },
    neutron: {
      handler: createNeutron(cloudState, keystone.tokens, at('keystone')),
      internalError: neutronInternalError,
    },
    nova: { handler: createNova(cloudState, keystone.tokens, at('keystone')), internalError: novaInternalError },
    contrabass: { handler: createContrabass(cloudState, at('keystone')), internalError: contrabassInternalError },
  }
  const started: Partial<Record<Service, CloudServer>> = {}
  for (const [service, options] of Object.entries(services) as [Service, (typeof services)[Service]][]) {
    const server = await startHttpServer({ service, cloudState, log, ...options, ...(host !== undefined && { host }) })
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
