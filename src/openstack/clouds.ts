/**
 * The OpenStack clouds in use. Objects with the same provider, project and key share one cloud: its login, token and
 * caches. Each cloud has its own connections, so a slow cloud does not delay the others.
 */
import { createHash } from 'node:crypto'
import { createHttp, type Http, type Proxies, type Tls } from '../http-client/client.ts'
import { ServiceError } from '../http-client/errors.ts'
import type { Cloud } from '../operator/cloud.ts'
import type { BodyLimits } from '../runtime/bounded-body.ts'
import { createSharedValues } from '../runtime/shared-values.ts'
import type { StartCall } from '../telemetry/client-metrics.ts'
import { type Log, silent } from '../telemetry/log.ts'
import { createOpenStackCloud, type EndpointOwner, type OpenStackAccess, type ServiceClients } from './cloud.ts'
import { withoutAnswer } from './errors.ts'
import { createPageCache } from './page-cache.ts'

export interface OpenStackClouds {
  /** `user` is the object, as namespace/name. A cloud is dropped with the last object that uses it. */
  open(access: OpenStackAccess & { user: string }): Cloud
  forget(user: string): void
  close(): Promise<void>
}

export interface OpenStackCloudsOptions {
  contrabassCa?: string | undefined
  openstackCa?: string | undefined
  proxies?: Proxies | undefined
  startCall?: StartCall | undefined
  /** Hosts that objects of a namespace may name. Without a namespace: hosts that the operator's own Contrabass names. */
  isAllowedHost?: ((host: string, namespace?: string) => boolean) | undefined
  /** Whether the operator trusts objects of the namespace. Default: all. */
  isOwnNamespace?: ((namespace: string) => boolean) | undefined
  log?: Log | undefined
  /** Monotonic milliseconds. */
  now?: () => number
}

export function createOpenStackClouds(options: OpenStackCloudsOptions): OpenStackClouds {
  const { now = () => performance.now(), isOwnNamespace = () => true, log = silent } = options
  const pages = createPageCache({ now })
  const open = createSharedValues<{ cloud: Cloud; clients: Http[] }>()

  function shownError({ endpoints }: OpenStackAccess, error: unknown): unknown {
    if (!(error instanceof ServiceError)) return error
    const owner = endpoints[error.service as keyof ServiceClients]
    if (typeof owner === 'string' || isOwnNamespace(owner.namespace)) return error
    const visible = withoutAnswer(error)
    if (visible !== error) log.warn('call of a cloud failed', { ...owner, error: error.message })
    return visible
  }

  return {
    open({ user, ...access }) {
      const { cloud } = open.use(user, keyOf(access), () => {
        const clients = clientsFor(access, options)
        const shown = (error: unknown) => shownError(access, error)
        const cloud = createOpenStackCloud({ access, clients, pages, shown, now })
        return { cloud, clients: Object.values(clients) }
      })
      return cloud
    },
    forget: open.forget,
    async close() {
      await Promise.all(open.all().flatMap(({ clients }) => clients.map(client => client.close())))
    },
  }
}

/** A provider, or a token with its catalog, is a few KiB. */
const small = { bytes: 1024 * 1024, elements: 50_000 }

function clientsFor(
  { settings, account, endpoints }: OpenStackAccess,
  options: OpenStackCloudsOptions,
): ServiceClients {
  const { contrabassCa, openstackCa, proxies, startCall, isAllowedHost = () => true } = options
  /** Every request of a cloud goes through one of these clients, and so passes this rule. */
  const ruleFor = (owner: EndpointOwner) => (host: string) =>
    owner === 'operator' || isAllowedHost(host, owner === 'ownContrabass' ? undefined : owner.namespace)
  const make = (service: keyof ServiceClients, timeoutMs: number, tls: Tls, limits?: BodyLimits) =>
    createHttp({ service, timeoutMs, tls, proxies, startCall, limits, isAllowedHost: ruleFor(endpoints[service]) })
  const contrabass = { ca: contrabassCa, insecure: settings.contrabassInsecureTLS }
  const openstack = {
    ca: 'login' in account ? (account.ca ?? openstackCa) : openstackCa,
    insecure: settings.openstackInsecureTLS,
  }
  return {
    contrabass: make('contrabass', settings.contrabassTimeoutMs, contrabass, small),
    keystone: make('keystone', settings.openstackTimeoutMs, openstack, small),
    neutron: make('neutron', settings.openstackTimeoutMs, openstack),
    nova: make('nova', settings.openstackTimeoutMs, openstack),
  }
}

/** Everything that decides which services are called and with which account. Hashed, because it contains the key. */
function keyOf({ settings, account, endpoints }: OpenStackAccess): string {
  const parts = [
    settings.contrabassTimeoutMs,
    settings.contrabassInsecureTLS,
    settings.openstackTimeoutMs,
    settings.openstackInsecureTLS,
    settings.neutronEndpoint,
    settings.novaEndpoint,
    settings.endpointInterface,
    settings.endpointRegion,
    endpoints,
    account,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
