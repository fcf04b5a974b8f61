/**
 * Neutron: ports, subnets and networks, in as few requests as the length of a URL allows.
 */
import { createHash } from 'node:crypto'
import * as z from 'zod'
import { batchesOf } from '../http-client/batches.ts'
import type { Network, Port, Subnet } from '../operator/cloud.ts'
import { shared } from '../runtime/shared-text.ts'
import { createPageCache, type PageCache } from './page-cache.ts'
import { allPages, joined, type Page, parsedBytes, parsedPage, type Query, TooManyPages } from './paging.ts'
import { createServiceClock, type ServiceClock } from './service-clock.ts'
import type { Session } from './session.ts'

/** Whether the project may use a network of another project. */
interface NeutronNetwork extends Network {
  shared: boolean
}

export interface Neutron {
  portsOfServers(serverIds: readonly string[], signal?: AbortSignal): Promise<Port[]>
  /**
   * The same from the list of all ports of the project: fewer calls for many servers. Undefined if the list has more pages:
   * the project has many other ports.
   */
  portsOfProject(serverIds: readonly string[], maxPages: number, signal?: AbortSignal): Promise<Port[] | undefined>
  /** Whatever their project and device: shows whether a port still exists. */
  portsById(ids: readonly string[], signal?: AbortSignal): Promise<Port[]>
  portsByMac(macAddresses: readonly string[], signal?: AbortSignal): Promise<Port[]>
  subnets(ids: readonly string[], signal?: AbortSignal): Promise<Subnet[]>
  /** Subnets of the project; if it has none, those of networks that are shared with it. */
  subnetsByName(name: string, signal?: AbortSignal): Promise<Subnet[]>
  networks(ids: readonly string[], signal?: AbortSignal): Promise<Network[]>
}

/** Ids, names and addresses are shorter. Longer ones would stay in memory. */
const field = z.string().max(255)
const text = field.nullish()
const pairShape = z.object({ ip_address: field, mac_address: field })
const portShape = z
  .object({
    id: field,
    network_id: field,
    mac_address: field,
    status: text,
    device_id: text,
    device_owner: text,
    fixed_ips: z
      .array(z.object({ subnet_id: field, ip_address: field }))
      .max(256)
      .nullish(),
    created_at: text,
    revision_number: z.int().nullish().catch(undefined),
    // A cloud with others than we know loses no port, and a pair that we cannot read no other pair.
    port_security_enabled: z.boolean().nullish().catch(undefined),
    allowed_address_pairs: z.array(pairShape.nullable().catch(null)).max(256).nullish().catch(undefined),
  })
  .transform(
    (port): Port => ({
      id: port.id,
      networkId: shared(port.network_id),
      macAddress: port.mac_address.toLowerCase(),
      status: shared(port.status ?? ''),
      serverId: shared(port.device_id ?? ''),
      owner: shared(port.device_owner ?? ''),
      addresses: (port.fixed_ips ?? []).map(ip => ({ subnetId: shared(ip.subnet_id), address: ip.ip_address })),
      ...(port.created_at && { createdAt: port.created_at }),
      ...(typeof port.revision_number === 'number' && { revision: port.revision_number }),
      ...(port.allowed_address_pairs && {
        portSecurity: {
          // A Neutron without this extension filters always.
          enabled: port.port_security_enabled ?? true,
          allowedAddressPairs: port.allowed_address_pairs
            .filter(pair => pair !== null)
            .map(pair => ({ ipAddress: pair.ip_address, macAddress: pair.mac_address.toLowerCase() })),
        },
      }),
    }),
  )
const subnetShape = z
  .object({
    id: field,
    name: text,
    network_id: field,
    cidr: field,
    gateway_ip: text,
    host_routes: z
      .array(z.object({ destination: field, nexthop: field }))
      .max(1_000)
      .nullish(),
  })
  .transform(
    (subnet): Subnet => ({
      id: subnet.id,
      name: subnet.name ?? '',
      networkId: subnet.network_id,
      cidr: subnet.cidr,
      ...(subnet.gateway_ip && { gateway: subnet.gateway_ip }),
      routes: (subnet.host_routes ?? []).map(({ destination, nexthop }) => ({ destination, nexthop })),
      ...unknownOf(subnet),
    }),
  )
/** Neutron sends null and an empty list for what a subnet does not have. */
function unknownOf(subnet: { gateway_ip?: unknown; host_routes?: unknown }): Pick<Subnet, 'unknown'> {
  const fields = { gateway: subnet.gateway_ip, routes: subnet.host_routes }
  const unknown = (['gateway', 'routes'] as const).filter(name => fields[name] === undefined)
  return unknown.length > 0 ? { unknown } : {}
}

const networkShape = z
  .object({ id: field, name: text, mtu: z.int().nullish(), shared: z.boolean().nullish() })
  .transform(
    ({ id, name, mtu, shared }): NeutronNetwork => ({
      ...{ id, name: name ?? '', shared: shared === true },
      ...(mtu && { mtu }),
    }),
  )

/** What is read is asked for: Neutron leaves out the other fields. */
const portFields = Object.keys(portShape.in.shape)
const subnetFields = Object.keys(subnetShape.in.shape)
const networkFields = Object.keys(networkShape.in.shape)

type Collection = 'ports' | 'subnets' | 'networks'

/** Servers accept request lines of 8,192 bytes. A hundred UUIDs take 4,700 bytes. */
export const maxIds = 100
const maxQueryBytes = 6_000
/** Neutron may answer with smaller pages, and older ones with a longer one. */
export const pageSize = 5_000
/** The ports of this many servers: ten are delivered, the others get a verdict. */
const maxPorts = (servers: number) => 1_000 + 20 * servers
/** Subnets that have the same name. */
const maxNamesakes = 1_000

interface Listing<T> {
  collection: Collection
  shape: z.ZodType<T>
  query: Query
  /** Only entries of the account's project. */
  ofProject?: boolean
  maxItems: number
  /** With more pages, the list throws `TooManyPages`. */
  maxPages?: number
  /** Entries that were asked for. A server that ignores a filter must not fill our memory. */
  keep?: (item: T) => boolean
  /** What `keep` depends on, besides the query. The cache has the pages of the last one. */
  keptBy?: string
  signal: AbortSignal | undefined
}

/** `cloud`: who lists with this account. Clouds with the same account keep the ports of other servers. */
export function createNeutron(
  session: Session,
  pages: PageCache = createPageCache(),
  cloud = '',
  clock: ServiceClock = createServiceClock(),
): Neutron {
  function list<T>(listing: Listing<T>): Promise<T[]> {
    const { collection, shape, query, ofProject, maxItems, maxPages, keep = () => true, keptBy = '', signal } = listing
    const read = async (page: Query): Promise<Page<T>> => {
      const { chunks, headers } = await session.get('network', {
        path: `/${collection}`,
        query: page,
        ofProject,
        signal,
        unread: true,
      })
      clock.read(headers['date'])
      const digest = digestOf(keptBy, chunks)
      const user = keptBy && cloud
      const key = `${session.key} ${user} ${ofProject ? 'own ' : ''}${collection}?${new URLSearchParams(page)}`
      const known = pages.get<T>(key, digest)
      if (known) return known
      const bytes = Buffer.concat(chunks)
      const body = parsedBytes('neutron', `the list of ${collection}`, bytes)
      const parsed = await parsedPage('neutron', collection, shape, body, keep)
      // Objects of one project list the same pages, and each keeps the ports of its own VMs.
      pages.set(key, digest, parsed, bytes.length * parsed.keptShare)
      return parsed
    }
    return allPages({ service: 'neutron', first: [...query, ['limit', String(pageSize)]], maxItems, maxPages, read })
  }

  async function listByIds<T>(
    filter: string,
    ids: readonly string[],
    listing: Omit<Listing<T>, 'maxItems'> & { maxItems: (ids: number) => number },
  ): Promise<T[]> {
    const costOf = (id: string) => filter.length + encodeURIComponent(id).length + 2
    const batches = [...batchesOf(new Set(ids), { items: maxIds, bytes: maxQueryBytes, costOf })]
    const lists = await Promise.all(
      batches.map(batch => {
        const query: Query = [...batch.map((id): [string, string] => [filter, id]), ...listing.query]
        return list({ ...listing, query, maxItems: listing.maxItems(batch.length) })
      }),
    )
    return joined(lists)
  }

  /** One entry for each id. */
  const byId = <T extends { id: string }>(ids: readonly string[]) => {
    const requested = new Set(ids)
    return { keep: ({ id }: T) => requested.has(id), maxItems: (count: number) => count }
  }
  const ports = { collection: 'ports', shape: portShape } as const
  const ownPorts = { ...ports, query: fields(portFields), ofProject: true } as const
  const subnets = { collection: 'subnets', shape: subnetShape } as const
  const networksById = (ids: readonly string[], signal?: AbortSignal) =>
    listByIds<NeutronNetwork>('id', ids, {
      ...byId(ids),
      collection: 'networks',
      shape: networkShape,
      query: fields(networkFields),
      signal,
    })

  return {
    portsOfServers: (serverIds, signal) =>
      listByIds('device_id', serverIds, { ...ownPorts, maxItems: maxPorts, signal }),
    async portsOfProject(serverIds, maxPages, signal) {
      const requested = new Set(serverIds)
      try {
        return await list({
          ...ownPorts,
          maxItems: maxPorts(requested.size),
          maxPages,
          keep: port => requested.has(port.serverId),
          keptBy: createHash('sha256').update(serverIds.join()).digest('base64'),
          signal,
        })
      } catch (error) {
        if (error instanceof TooManyPages) return undefined
        throw error
      }
    },
    portsById: (ids, signal) => listByIds('id', ids, { ...byId(ids), ...ports, query: fields(portFields), signal }),
    portsByMac: (macAddresses, signal) =>
      listByIds('mac_address', macAddresses, { ...ports, query: fields(portFields), maxItems: maxPorts, signal }),
    subnets: (ids, signal) => listByIds('id', ids, { ...byId(ids), ...subnets, query: fields(subnetFields), signal }),
    async subnetsByName(name, signal) {
      const named: Query = [['name', name], ...fields(subnetFields)]
      const namesakes = { ...subnets, maxItems: maxNamesakes, signal }
      const own = await list({ ...namesakes, query: named, ofProject: true })
      if (own.length > 0) return own
      const all = await list({ ...namesakes, query: named })
      const networks = await networksById(
        all.map(subnet => subnet.networkId),
        signal,
      )
      const shared = new Set(networks.filter(network => network.shared).map(network => network.id))
      return all.filter(subnet => shared.has(subnet.networkId))
    },
    networks: networksById,
  }
}

/** Twice as fast as SHA-256 on processors without instructions for it. */
function digestOf(keptBy: string, chunks: readonly Buffer[]): string {
  const hash = createHash('sha512-256').update(keptBy)
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest('base64')
}

function fields(names: string[]): Query {
  return names.map(name => ['fields', name])
}
