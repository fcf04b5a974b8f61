/**
 * Which message bus an OpenstackConfig listens to, and as whom: credentials follow endpoints (G9).
 *
 * In order: the Secret that the object names, what Contrabass tells, the operator's own. An address that an object names
 * gets only an account of that object's namespace.
 */
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { isLinkLocal } from '../../contract/url.ts'
import type { BusAccess } from '../../openstack/bus.ts'
import { type BusAddresses, busAddresses } from '../../openstack/bus-address.ts'
import type { Bus } from '../../openstack/cloud.ts'
import type { SyncSettings } from '../config.ts'
import type { CredentialSources } from '../credentials.ts'

/** The operator's own. */
export interface OwnBus {
  user?: string | undefined
  password: () => Promise<string | undefined>
  ca?: string | undefined
  queue?: string | undefined
}

export interface AccessDeps {
  own: OwnBus
  /** Hosts that objects and Contrabass may name. */
  mayVisit: (host: string) => boolean
}

/** `trouble` says in words for people why the bus cannot be used; undefined: none is known. */
export type BusChoice = { access: BusAccess } | { trouble: string } | undefined

export async function busFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  bus: Bus | undefined,
  secret: CredentialSources['secret'],
  { own, mayVisit }: AccessDeps,
): Promise<BusChoice> {
  const named = settings.rabbitmqUrls
  const ref = config.spec.secrets?.rabbitmqSecretRef
  if (ref) {
    const read = (key: string) => secret(config.metadata.namespace ?? '', ref.name, key)
    const urls = (await read('RABBITMQ_URLS'))?.trim()
    const addresses = urls ? [urls] : settings.origins.rabbitmqUrls === 'object' ? named : []
    if (addresses.length === 0)
      return { trouble: `Secret ${ref.name}: has no RABBITMQ_URLS; add it, or set spec.settings.rabbitmqUrls` }
    const account = { user: (await read('RABBITMQ_USER'))?.trim(), password: (await read('RABBITMQ_PASSWORD'))?.trim() }
    const ca = (await read('RABBITMQ_CA')) ?? own.ca
    return opened(`Secret ${ref.name}`, addresses, account, { settings, own, ca, mayVisit })
  }
  if (settings.origins.rabbitmqUrls === 'object')
    return {
      trouble:
        'spec.settings.rabbitmqUrls: only an account of this namespace goes there; name its Secret in spec.secrets.rabbitmqSecretRef',
    }
  const { ca } = own
  if (bus) {
    if (bus.password === undefined) return { trouble: 'rabbitMQPw of Contrabass does not open' }
    return opened('rabbitMQUrls of Contrabass', bus.urls, bus, { settings, own, ca, mayVisit })
  }
  if (named.length === 0) return undefined
  const account = { user: own.user, password: await own.password() }
  // An object must not open the operator's own account to whoever stands in between.
  const rabbitmqInsecureTLS = settings.origins.rabbitmqInsecureTLS !== 'object' && settings.rabbitmqInsecureTLS
  const strict = { settings: { ...settings, rabbitmqInsecureTLS }, own, ca, mayVisit: () => true }
  return opened('RABBITMQ_URLS of the operator', named, account, strict)
}

interface Opening {
  settings: SyncSettings
  own: OwnBus
  ca: string | undefined
  mayVisit: (host: string) => boolean
}

function opened(
  origin: string,
  urls: readonly string[],
  account: { user?: string | undefined; password?: string | undefined },
  { settings, own, ca, mayVisit }: Opening,
): BusChoice {
  const addresses = busAddresses(urls)
  if ('mistake' in addresses) return { trouble: `${origin}: ${addresses.mistake}` }
  const foreign = addresses.hosts.find(({ hostname }) => !mayVisit(hostname) || isLinkLocal(hostname))
  if (foreign) return { trouble: `${origin}: ${foreign.hostname} is not in ENDPOINT_ALLOWED_HOSTS of the operator` }
  const who = accountOf(account, addresses)
  if (!who) return { trouble: `${origin}: the user or the password is missing` }
  const { hosts, vhost } = addresses
  return {
    access: {
      hosts,
      vhost,
      ...who,
      ca,
      insecureTls: settings.rabbitmqInsecureTLS,
      exchanges: settings.rabbitmqExchanges,
      topics: settings.rabbitmqTopics,
      queue: own.queue,
    },
  }
}

/** Both from the same place: half of one account with half of another opens nothing. */
function accountOf(
  { user, password }: { user?: string | undefined; password?: string | undefined },
  addresses: BusAddresses,
): { user: string; password: string } | undefined {
  if (user && password !== undefined) return { user, password }
  const { user: named, password: said } = addresses
  return named !== undefined && said !== undefined ? { user: named, password: said } : undefined
}
