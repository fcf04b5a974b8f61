/**
 * The clouds that syncs talk to. Objects of one provider, project and key share one: its connections, login, token, and
 * what changes rarely (subnets, networks, servers). Each has connections of its own, so a slow one delays nobody else.
 */

import { createHash } from 'node:crypto'
import { urlOf } from '../contract/url.ts'
import { type Call, createHttp, type Http, type Proxies, type Tls } from '../http-client/client.ts'
import { isUnauthorized } from '../http-client/errors.ts'
import type { SyncSettings } from '../operator/config.ts'
import { SyncError, stage } from '../operator/sync-error.ts'
import { createBatchCache } from './batch-cache.ts'
import { decryptPassword } from './cipher.ts'
import { type CloudLogin, createContrabass, loginOf, type Provider } from './contrabass.ts'
import { createKeystone } from './keystone.ts'
import { createNeutron, maxIds, type Network, type Neutron, type Port, type Subnet } from './neutron.ts'
import { type Attachment, createNova, type Nova, type Server } from './nova.ts'
import { createPortListing } from './port-listing.ts'
import { createSession, type Session } from './session.ts'

export interface CloudRequest {
  settings: SyncSettings
  encryptKey: string
  openstackProviderId: string
  projectId: string
}

export interface Cloud {
  /** Reaches the cloud at all: Contrabass, Keystone and the catalog's Neutron. Costs nothing while a token is good. */
  check(signal?: AbortSignal): Promise<void>
  /** Ports of these VMs: of very many only those with an address in one of the subnets. */
  portsOfVms(vmIds: readonly string[], subnetIds: readonly string[], signal?: AbortSignal): Promise<Port[]>
  portsById(ids: readonly string[], signal?: AbortSignal): Promise<Port[]>
  portsByMac(macs: readonly string[], signal?: AbortSignal): Promise<Port[]>
  subnets(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Subnet>>
  subnetsByName(name: string, signal?: AbortSignal): Promise<Subnet[]>
  networks(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Network>>
  servers(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Server>>
  /** Reports whether Nova shows any of these at this very moment. */
  seesServers(ids: readonly string[], signal?: AbortSignal): Promise<boolean>
  serversByName(name: string, signal?: AbortSignal): Promise<Server[]>
  interfacesOf(vmId: string, signal?: AbortSignal): Promise<Attachment[] | undefined>
  wasDeleted(vmId: string, signal?: AbortSignal): Promise<boolean>
  /** The cloud's message bus, where Contrabass knows one. */
  bus(signal?: AbortSignal, fresh?: boolean): Promise<Bus | undefined>
  /** Forgets what is kept, on a person's word. */
  refresh(): void
  /** Forgets what a notice said has changed. */
  doubt(what: { servers: boolean; networks: boolean }): void
}

export interface Clouds {
  open(request: CloudRequest): Cloud
  close(): Promise<void>
}

export interface CloudsOptions {
  contrabassCa?: string | undefined
  openstackCa?: string | undefined
  proxies?: Proxies | undefined
  onCall?: ((call: Call) => void) | undefined
  /** Hosts that a Contrabass may send us to. */
  mayVisit?: ((host: string) => boolean) | undefined
  now?: () => number
}

const loginMs = 10 * 60_000
/** Contrabass is asked for a new account of the bus no oftener. */
const askAgainMs = 5_000
const keepMs = 60_000
const keepAbsentMs = 5_000
const unusedMs = 30 * 60_000
/** From here on a listing by subnet needs fewer calls than one by VM. */
const manyVms = 3 * maxIds

export function createClouds(options: CloudsOptions): Clouds {
  const { now = () => performance.now(), mayVisit = () => true } = options
  const open = new Map<string, { cloud: Cloud; https: Http[]; usedAt: number }>()

  function sweep(): void {
    for (const [key, { https, usedAt }] of open) {
      if (now() - usedAt < unusedMs) continue
      open.delete(key)
      for (const http of https) void http.close()
    }
  }

  return {
    open(request) {
      const key = keyOf(request)
      const known = open.get(key)
      if (known) {
        known.usedAt = now()
        return known.cloud
      }
      sweep()
      const https = httpsFor(request.settings, options)
      const cloud = createCloud(request, https, mayVisit, now)
      open.set(key, { cloud, https: Object.values(https), usedAt: now() })
      return cloud
    },
    async close() {
      await Promise.all([...open.values()].flatMap(({ https }) => https.map(http => http.close())))
      open.clear()
    },
  }
}

/** One provider, and a token with its catalog, take a few KiB. */
const mebibyte = 1024 * 1024

type Https = Record<'contrabass' | 'keystone' | 'neutron' | 'nova', Http>

function httpsFor(settings: SyncSettings, { contrabassCa, openstackCa, proxies, onCall }: CloudsOptions): Https {
  const make = (service: string, timeoutMs: number, tls: Tls, maxBodyBytes?: number) =>
    createHttp({ service, timeoutMs, tls, proxies, onCall, ...(maxBodyBytes && { maxBodyBytes }) })
  const contrabass = { ca: contrabassCa, insecure: settings.contrabassInsecureTLS }
  const openstack = { ca: openstackCa, insecure: settings.openstackInsecureTLS }
  return {
    contrabass: make('contrabass', settings.contrabassTimeoutMs, contrabass, mebibyte),
    keystone: make('keystone', settings.openstackTimeoutMs, openstack, 8 * mebibyte),
    neutron: make('neutron', settings.openstackTimeoutMs, openstack),
    nova: make('nova', settings.openstackTimeoutMs, openstack),
  }
}

export interface Bus {
  urls: string[]
  user: string
  /** Undefined when it does not open with the key: that disables events and nothing else. */
  password: string | undefined
}

interface Entered {
  bus: Bus | undefined
  session: Session
  neutron: Neutron
  nova: Nova
  at: number
}

function createCloud(
  request: CloudRequest,
  https: Https,
  mayVisit: (host: string) => boolean,
  now: () => number,
): Cloud {
  const { settings, encryptKey, openstackProviderId, projectId } = request
  const contrabass = createContrabass({ http: https.contrabass, endpoint: settings.contrabassEndpoint })
  const keystone = createKeystone({ http: https.keystone, now })
  let entered: Promise<Entered> | undefined

  async function enter(signal: AbortSignal | undefined): Promise<Entered> {
    const { login, bus } = await stage('ContrabassError', async () =>
      opened(await contrabass.provider(openstackProviderId, signal), encryptKey, mayVisit),
    )
    const session = createSession({
      keystone,
      login,
      projectId,
      services: { network: https.neutron, compute: https.nova },
      endpoints: {
        ...(settings.neutronEndpoint && { network: settings.neutronEndpoint }),
        ...(settings.novaEndpoint && { compute: settings.novaEndpoint }),
      },
      interface: settings.endpointInterface,
      region: settings.endpointRegion,
      mayVisit,
    })
    return { bus, session, neutron: createNeutron(session), nova: createNova(session), at: now() }
  }

  /** One login at a time; one that failed is not kept. */
  async function login(signal: AbortSignal | undefined): Promise<Entered> {
    const running = entered
    const known = await running?.catch(() => undefined)
    if (known && now() - known.at < loginMs) return known
    // Somebody else who waited as long may have begun.
    if (entered && entered !== running) return entered
    const entering = enter(signal)
    entered = entering
    entering.catch(() => {
      if (entered === entering) entered = undefined
    })
    return entering
  }

  /** A refused account may have a new password in Contrabass: it is asked once more. */
  async function within<T>(work: (cloud: Entered) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const cloud = await login(signal)
    try {
      return await work(cloud)
    } catch (error) {
      if (!isUnauthorized(error) || now() - cloud.at < 1_000) throw error
      entered = undefined
      return work(await login(signal))
    }
  }

  const cached = <V extends { id: string }>(
    fetch: (cloud: Entered, ids: string[], signal?: AbortSignal) => Promise<V[]>,
  ) =>
    createBatchCache<V>({
      keepMs,
      keepAbsentMs,
      now,
      idOf: value => value.id,
      fetch: (ids, signal) => within(cloud => fetch(cloud, ids, signal), signal),
    })
  const subnets = cached(({ neutron }, ids, signal) => neutron.subnets(ids, signal))
  const networks = cached(({ neutron }, ids, signal) => neutron.networks(ids, signal))
  const servers = cached(({ nova }, ids, signal) => nova.servers(ids, signal))
  const byName = createNameCache(now)
  const listing = createPortListing(vmIds => within(({ neutron }) => neutron.portsOfVms(vmIds), undefined))

  return {
    check: signal => within(({ session }) => session.check('network', signal), signal),
    portsOfVms: async (vmIds, subnetIds, signal) => {
      if (vmIds.length <= manyVms) return listing.ports(vmIds, signal)
      const wanted = new Set(vmIds)
      const found = await within(({ neutron }) => neutron.portsInSubnets(subnetIds, signal), signal)
      return found.filter(port => wanted.has(port.deviceId))
    },
    portsById: (ids, signal) => within(({ neutron }) => neutron.portsById(ids, signal), signal),
    portsByMac: (macs, signal) => within(({ neutron }) => neutron.portsByMac(macs, signal), signal),
    subnets: (ids, signal) => subnets.get(ids, signal),
    subnetsByName: (name, signal) =>
      byName.get(`subnet ${name}`, () => within(({ neutron }) => neutron.subnetsByName(name, signal), signal)),
    networks: (ids, signal) => networks.get(ids, signal),
    servers: (ids, signal) => servers.get(ids, signal),
    seesServers: (ids, signal) => within(async ({ nova }) => (await nova.servers(ids, signal)).length > 0, signal),
    serversByName: (name, signal) =>
      byName.get(`server ${name}`, () => within(({ nova }) => nova.serversByName(name, signal), signal)),
    async bus(signal, fresh = false) {
      const { at } = await login(signal)
      if (fresh && now() - at >= askAgainMs) entered = undefined
      return (await login(signal)).bus
    },
    wasDeleted: (vmId, signal) => within(({ nova }) => nova.wasDeleted(vmId, signal), signal),
    interfacesOf: (vmId, signal) => within(({ nova }) => nova.interfacesOf(vmId, signal), signal),
    refresh() {
      for (const cache of [subnets, networks, servers, byName]) cache.forget()
      entered = undefined
    },
    doubt({ servers: serversMoved, networks: networksMoved }) {
      if (serversMoved) servers.forget()
      if (networksMoved) for (const cache of [subnets, networks]) cache.forget()
      if (serversMoved || networksMoved) byName.forget()
    },
  }
}

function opened(
  provider: Provider,
  key: string,
  mayVisit: (host: string) => boolean,
): { login: CloudLogin; bus: Bus | undefined } {
  const hostname = urlOf(provider.url)?.hostname
  if (hostname === undefined) throw new SyncError('ContrabassError', 'data.url of Contrabass is not an address')
  if (!mayVisit(hostname))
    throw new SyncError(
      'ContrabassError',
      `Contrabass names the Keystone ${hostname}, which is not in ENDPOINT_ALLOWED_HOSTS`,
    )
  return { login: loginOf(provider, key), bus: busOf(provider, key) }
}

function busOf({ rabbit }: Provider, key: string): Bus | undefined {
  if (!rabbit) return undefined
  const { urls, user, password } = rabbit
  try {
    return { urls, user, password: decryptPassword(password, key) }
  } catch {
    return { urls, user, password: undefined }
  }
}

/** A name that led to exactly one thing is kept as long as other facts; any other answer may be mended at any time. */
function createNameCache(now: () => number) {
  const known = new Map<string, { value: unknown[]; until: number }>()
  return {
    async get<V>(key: string, ask: () => Promise<V[]>): Promise<V[]> {
      const held = known.get(key)
      if (held && held.until > now()) return held.value as V[]
      const value = await ask()
      known.set(key, { value, until: now() + (value.length === 1 ? keepMs : keepAbsentMs) })
      return value
    },
    forget: () => known.clear(),
  }
}

/** Everything that decides whom we talk to and as whom; the key only as a hash. */
function keyOf({ settings, encryptKey, openstackProviderId, projectId }: CloudRequest): string {
  const parts = [
    settings.contrabassEndpoint,
    settings.contrabassTimeoutMs,
    settings.contrabassInsecureTLS,
    settings.openstackTimeoutMs,
    settings.openstackInsecureTLS,
    settings.neutronEndpoint,
    settings.novaEndpoint,
    settings.endpointInterface,
    settings.endpointRegion,
    openstackProviderId,
    projectId,
    encryptKey,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
