/**
 * Which message bus an OpenstackConfig uses, and with which account: credentials follow endpoints (G9).
 *
 * In this order: the Secret that the object names, the data of Contrabass, the operator's own settings. An address that an
 * object names gets only an account of that object's namespace.
 */
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { hostNotAllowed, isLinkLocal } from '../../contract/url.ts'
import type { BusAccess, BusAddresses, MessageBus, MessageBuses } from '../cloud.ts'
import type { CredentialSources } from '../clouds/credentials.ts'
import type { SyncSettings } from '../config.ts'

/** The operator's own account. */
export interface OwnBus {
  user?: string | undefined
  password: () => Promise<string | undefined>
  ca?: string | undefined
  queue?: string | undefined
}

export interface AccessDeps {
  buses: Pick<MessageBuses, 'parseAddresses'>
  own: OwnBus
  /** Hosts that an object of the namespace may name. Without a namespace: hosts of the operator's own Contrabass. */
  isAllowedHost: (host: string, namespace?: string) => boolean
  /** Whether the operator trusts objects of the namespace. Default: all. */
  isOwnNamespace?: ((namespace: string) => boolean) | undefined
}

/** `problem` says why the bus cannot be used. Undefined: no bus is configured. */
export type BusChoice = { access: BusAccess } | { problem: string } | undefined

export async function busFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  bus: MessageBus | undefined,
  secret: CredentialSources['secret'],
  { buses, own, isAllowedHost, isOwnNamespace = () => true }: AccessDeps,
): Promise<BusChoice> {
  const configured = settings.rabbitmqUrls
  const { namespace = '' } = config.metadata
  const inNamespace = (host: string) => isAllowedHost(host, namespace)
  const named = { isAllowedHost: inNamespace, isOfTenant: !isOwnNamespace(namespace) }
  const ref = config.spec.secrets?.rabbitmqSecretRef
  if (ref) {
    const read = (key: string) => secret(namespace, ref.name, key)
    const urls = (await read('RABBITMQ_URLS'))?.trim()
    const addresses = urls ? [urls] : settings.origins.rabbitmqUrls === 'object' ? configured : []
    if (addresses.length === 0)
      return { problem: `Secret ${ref.name}: RABBITMQ_URLS is missing; add it, or set spec.settings.rabbitmqUrls` }
    const account = { user: (await read('RABBITMQ_USER'))?.trim(), password: (await read('RABBITMQ_PASSWORD'))?.trim() }
    const ca = (await read('RABBITMQ_CA')) ?? own.ca
    return accessFor(`Secret ${ref.name}`, addresses, account, { buses, own, ca, ...named })
  }
  if (settings.origins.rabbitmqUrls === 'object')
    return {
      problem:
        'spec.settings.rabbitmqUrls: needs an account of this namespace; name its Secret in spec.secrets.rabbitmqSecretRef',
    }
  const { ca } = own
  if (bus) {
    if (bus.password === undefined) return { problem: 'rabbitMQPw of Contrabass: cannot decrypt it with the key' }
    const rule = settings.origins.contrabassEndpoint === 'object' ? named : { isAllowedHost }
    return accessFor('rabbitMQUrls of Contrabass', bus.urls, bus, { buses, own, ca, ...rule })
  }
  if (configured.length === 0) return undefined
  const account = { user: own.user, password: await own.password() }
  return accessFor('RABBITMQ_URLS of the operator', configured, account, { buses, own, ca, isAllowedHost: () => true })
}

interface AccessOptions extends Pick<AccessDeps, 'buses' | 'own'> {
  ca: string | undefined
  isAllowedHost: (host: string) => boolean
  isOfTenant?: boolean
}

function accessFor(
  origin: string,
  urls: readonly string[],
  account: { user?: string | undefined; password?: string | undefined },
  { buses, own, ca, isAllowedHost, isOfTenant = false }: AccessOptions,
): BusChoice {
  const addresses = buses.parseAddresses(urls)
  if ('error' in addresses) return { problem: `${origin}: ${addresses.error}` }
  const refused = addresses.hosts.find(({ hostname }) => !isAllowedHost(hostname) || isLinkLocal(hostname))
  if (refused) return { problem: `${origin}: ${refused.hostname} ${hostNotAllowed}` }
  const login = loginOf(account, addresses)
  if (!login) return { problem: `${origin}: the user or the password is missing` }
  const { hosts, vhost, label } = addresses
  return {
    access: {
      hosts,
      vhost,
      label,
      ...login,
      ca,
      queue: own.queue,
      ...(isOfTenant && { isOfTenant }),
    },
  }
}

/** User and password from the same source: parts of two accounts never fit. */
function loginOf(
  { user, password }: { user?: string | undefined; password?: string | undefined },
  addresses: BusAddresses,
): { user: string; password: string } | undefined {
  if (user && password !== undefined) return { user, password }
  return addresses.user !== undefined && addresses.password !== undefined
    ? { user: addresses.user, password: addresses.password }
    : undefined
}
