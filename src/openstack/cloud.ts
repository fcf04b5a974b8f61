/**
 * One OpenStack cloud behind the operator's `Cloud`: login through Contrabass and Keystone, then Neutron and Nova. Login,
 * subnets, networks and servers are cached for a limited time.
 */
import { randomUUID } from 'node:crypto'
import { notServiceUrl, serviceUrl } from '../contract/url.ts'
import type { Http } from '../http-client/client.ts'
import { isUnauthorized } from '../http-client/errors.ts'
import type { Cloud, MessageBus, Port } from '../operator/cloud.ts'
import { adviceFor } from './advice.ts'
import { createBatchCache } from './batch-cache.ts'
import { decryptPassword } from './cipher.ts'
import { type Contrabass, createContrabass, loginOf, type Provider } from './contrabass.ts'
import { OpenStackError, toOpenStackError } from './errors.ts'
import { createJoinedCall } from './joined-calls.ts'
import { createKeystone } from './keystone.ts'
import type { CloudLogin } from './login.ts'
import { createNeutron, maxIds, type Neutron } from './neutron.ts'
import { createNova, fewServers, type Nova } from './nova.ts'
import type { PageCache } from './page-cache.ts'
import { createServiceClock } from './service-clock.ts'
import { createSession, type Session } from './session.ts'

export interface OpenStackSettings {
  contrabassTimeoutMs: number
  contrabassInsecureTLS: boolean
  openstackTimeoutMs: number
  openstackInsecureTLS: boolean
  /** Used instead of the catalog's endpoint. */
  neutronEndpoint?: string
  novaEndpoint?: string
  endpointInterface: string
  endpointRegion: string
}

export interface OpenStackAccess {
  settings: OpenStackSettings
  account: CloudAccount
  endpoints: EndpointOwners
}

/**
 * Who names the endpoint of each service: the settings of the operator, its own Contrabass with the catalog of that Keystone,
 * or an object of a namespace with its Contrabass, its clouds.yaml and their catalog.
 */
export type EndpointOwners = Readonly<Record<keyof ServiceClients, EndpointOwner>>
export type EndpointOwner = 'operator' | 'ownContrabass' | { namespace: string }

/** Where the login comes from: Contrabass, or a clouds.yaml. */
export type CloudAccount = ContrabassAccount | { login: CloudLogin; ca?: string | undefined }

export interface ContrabassAccount {
  endpoint: string
  providerId: string
  projectId: string
  /** Decrypts the passwords that Contrabass returns. */
  encryptKey: string
}

export type ServiceClients = Record<'contrabass' | 'keystone' | 'neutron' | 'nova', Http>

export interface OpenStackCloudOptions {
  access: OpenStackAccess
  clients: ServiceClients
  /** Shared by all clouds. */
  pages?: PageCache
  /** What users of the cloud may see of an error. */
  shown: (error: unknown) => unknown
  /** Monotonic milliseconds. */
  now: () => number
}

const loginMaxAgeMs = 10 * 60_000
/** Minimum time between two reads of the bus account from Contrabass. */
const minBusRefreshMs = 5_000
const cacheMs = 60_000
const absentCacheMs = 5_000
/** Above this number, listing all ports of the project usually needs fewer calls than listing them by server. */
const manyServers = 3 * maxIds
/**
 * Above this number, an object lists its servers alone. Joined with those of others, they would be another list each time: no
 * page in the cache answers it, and each becomes one.
 */
const maxJoinedServers = maxIds / 2
/** How long the ports of a project with many other ports are listed by server. */
const largeProjectMs = 600_000
/** How long pages of a project keep the ports of a server that no object asks for any more. */
const listedServerMs = 600_000

interface LoggedIn {
  bus: MessageBus | undefined
  session: Session
  neutron: Neutron
  nova: Nova
  at: number
}

export function createOpenStackCloud({ access, clients, pages, shown, now }: OpenStackCloudOptions): Cloud {
  const { settings, account } = access
  const keystone = createKeystone({ http: clients.keystone, now })
  /** Logins change, and the cloud stays the same user of the pages. */
  const id = randomUUID()
  const clock = createServiceClock()
  let contrabass: Contrabass | undefined
  let current: Promise<LoggedIn> | undefined

  async function logIn(signal: AbortSignal | undefined): Promise<LoggedIn> {
    const { login, bus } =
      'login' in account ? { login: account.login, bus: undefined } : await readProvider(account, signal)
    const session = createSession({
      keystone,
      login,
      services: { network: clients.neutron, compute: clients.nova },
      endpoints: {
        ...(settings.neutronEndpoint && { network: settings.neutronEndpoint }),
        ...(settings.novaEndpoint && { compute: settings.novaEndpoint }),
      },
      interface: settings.endpointInterface,
      region: settings.endpointRegion,
    })
    return { bus, session, neutron: createNeutron(session, pages, id, clock), nova: createNova(session), at: now() }
  }

  async function readProvider(named: ContrabassAccount, signal: AbortSignal | undefined) {
    contrabass ??= createContrabass({ http: clients.contrabass, endpoint: named.endpoint })
    try {
      return accountsOf(await contrabass.provider(named.providerId, signal), named)
    } catch (error) {
      throw toOpenStackError(shown(error), { otherwise: 'directory' })
    }
  }

  /** One login at a time. A failed login is not cached. */
  async function ensureLogin(signal: AbortSignal | undefined): Promise<LoggedIn> {
    const running = current
    const known = await running?.catch(() => undefined)
    if (known && now() - known.at < loginMaxAgeMs) return known
    // Another caller that waited for the same login may have started the next one.
    if (current && current !== running) return current
    const starting = logIn(signal)
    current = starting
    starting.catch(() => {
      if (current === starting) current = undefined
    })
    return starting
  }

  /** Contrabass may have a new password for a refused account: logs in once more, then gives up. */
  async function withLogin<T>(work: (cloud: LoggedIn) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const cloud = await ensureLogin(signal)
    try {
      return await work(cloud)
    } catch (error) {
      if (!isUnauthorized(error) || now() - cloud.at < 1_000) throw error
      current = undefined
      return work(await ensureLogin(signal))
    }
  }

  async function call<T>(work: (cloud: LoggedIn) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      return await withLogin(work, signal)
    } catch (error) {
      const visible = shown(error)
      throw toOpenStackError(visible, { advice: adviceFor(visible, 'login' in account ? account.login : undefined) })
    }
  }

  const cached = <V extends { id: string }>(
    fetch: (cloud: LoggedIn, ids: string[], signal?: AbortSignal) => Promise<V[]>,
  ) =>
    createBatchCache<V>({
      keepMs: cacheMs,
      keepAbsentMs: absentCacheMs,
      now,
      idOf: value => value.id,
      few: fewServers,
      fetch: (ids, signal) => call(cloud => fetch(cloud, ids, signal), signal),
    })
  const subnets = cached(({ neutron }, ids, signal) => neutron.subnets(ids, signal))
  const networks = cached(({ neutron }, ids, signal) => neutron.networks(ids, signal))
  const servers = cached(({ nova }, ids, signal) => nova.servers(ids, signal))
  const serversWithTags = cached(({ nova }, ids, signal) => nova.serversWithTags(ids, signal))
  const byName = createListCache(now, found => (found.length === 1 ? cacheMs : absentCacheMs))
  const matching = createListCache(now, () => cacheMs)
  const portsOfFew = createJoinedCall(async ids =>
    byServer(await call(({ neutron }) => neutron.portsOfServers(ids), undefined)),
  )
  let projectIsLargeUntil = 0
  /** By server, until when its ports stay in the pages of the project. One object must not drop those of another. */
  const listedServers = new Map<string, number>()
  /** Each list of a project reads all of its ports, also for a few of them. Undefined: it has too many others. */
  const portsOfProject = createJoinedCall(
    async ids => {
      if (now() < projectIsLargeUntil) return undefined
      for (const [id, until] of listedServers) if (until <= now()) listedServers.delete(id)
      for (const id of ids) listedServers.set(id, now() + listedServerMs)
      const maxPages = Math.ceil(ids.length / maxIds)
      const ports = await call(({ neutron }) => neutron.portsOfProject([...listedServers.keys()], maxPages), undefined)
      if (!ports) projectIsLargeUntil = now() + largeProjectMs
      return ports && byServer(ports)
    },
    { oneAtATime: true },
  )

  return {
    check: signal => call(({ session }) => session.check('network', signal), signal),
    portsOfServers: async (serverIds, signal) => {
      if (serverIds.length === 0) return []
      const list =
        (serverIds.length > manyServers && portsOfProject) || (serverIds.length <= maxJoinedServers && portsOfFew)
      const listed = list && (await list(serverIds, signal))
      if (listed) return serverIds.flatMap(id => listed.get(id) ?? [])
      return call(({ neutron }) => neutron.portsOfServers(serverIds, signal), signal)
    },
    portsById: (ids, signal) => call(({ neutron }) => neutron.portsById(ids, signal), signal),
    portsByMac: (addresses, signal) => call(({ neutron }) => neutron.portsByMac(addresses, signal), signal),
    subnets: (ids, signal) => subnets.get(ids, signal),
    subnetsByName: (name, signal) =>
      byName.get(`subnet ${name}`, () => call(({ neutron }) => neutron.subnetsByName(name, signal), signal)),
    networks: (ids, signal) => networks.get(ids, signal),
    clockBehindMs: clock.behindMs,
    servers: (ids, signal) => servers.get(ids, signal),
    serversWithTags: (ids, signal) => serversWithTags.get(ids, signal),
    seesServers: (ids, signal) => call(async ({ nova }) => (await nova.servers(ids, signal)).length > 0, signal),
    serversByName: (name, signal) =>
      byName.get(`server ${name}`, () => call(({ nova }) => nova.serversByName(name, signal), signal)),
    serversMatching: (selector, signal) =>
      matching.get(JSON.stringify(selector), () => call(({ nova }) => nova.serversMatching(selector, signal), signal)),
    attachmentsOf: (serverId, signal) => call(({ nova }) => nova.attachmentsOf(serverId, signal), signal),
    wasDeleted: (serverId, signal) => call(({ nova }) => nova.wasDeleted(serverId, signal), signal),
    async bus(signal, fresh = false) {
      const { at } = await ensureLogin(signal)
      if (fresh && now() - at >= minBusRefreshMs) current = undefined
      return (await ensureLogin(signal)).bus
    },
    refresh() {
      for (const cache of [subnets, networks, servers, serversWithTags, byName, matching]) cache.forget()
      current = undefined
    },
    invalidate(changed) {
      if (changed.servers) for (const cache of [servers, serversWithTags, matching]) cache.forget()
      if (changed.networks) for (const cache of [subnets, networks]) cache.forget()
      if (changed.servers || changed.networks) byName.forget()
    },
  }
}

function accountsOf(
  provider: Provider,
  { encryptKey, projectId }: ContrabassAccount,
): { login: CloudLogin; bus: MessageBus | undefined } {
  if (serviceUrl(provider.url) === undefined)
    throw new OpenStackError('directory', `contrabass: data.url ${notServiceUrl}`)
  return { login: loginOf(provider, encryptKey, projectId), bus: busOf(provider, encryptKey) }
}

function busOf({ rabbit }: Provider, key: string): MessageBus | undefined {
  if (!rabbit) return undefined
  const { urls, user, password } = rabbit
  try {
    return { urls, user, password: decryptPassword(password, key) }
  } catch {
    return { urls, user, password: undefined }
  }
}

function byServer(ports: readonly Port[]): ReadonlyMap<string, Port[]> {
  return Map.groupBy(ports, port => port.serverId)
}

/** A name with exactly one match is cached as long as other data. A user may correct any other result at any time. */
function createListCache(now: () => number, keepMs: (found: readonly unknown[]) => number) {
  const known = new Map<string, { value: unknown[]; until: number }>()
  return {
    async get<V>(key: string, fetch: () => Promise<V[]>): Promise<V[]> {
      const entry = known.get(key)
      if (entry && entry.until > now()) return entry.value as V[]
      const value = await fetch()
      known.set(key, { value, until: now() + keepMs(value) })
      return value
    },
    forget: () => known.clear(),
  }
}
