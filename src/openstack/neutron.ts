/**
 * Neutron: ports, subnets and networks, in as few requests as the length of a URL allows.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { batchesOf } from '../http-client/batches.ts'
import type { Network, Port, Subnet } from '../operator/cloud.ts'
import { allPages, joined, type Links, linksShape, parsedBytes, type Query } from './paging.ts'
import type { Session } from './session.ts'

/** Whether the project may use a network of another project. */
interface NeutronNetwork extends Network {
  shared: boolean
}

export interface Neutron {
  portsOfServers(serverIds: readonly string[], signal?: AbortSignal): Promise<Port[]>
  /** All ports of the project with an address in one of these subnets. */
  portsInSubnets(subnetIds: readonly string[], signal?: AbortSignal): Promise<Port[]>
  /** Whatever their project and device: shows whether a port still exists. */
  portsById(ids: readonly string[], signal?: AbortSignal): Promise<Port[]>
  portsByMac(macAddresses: readonly string[], signal?: AbortSignal): Promise<Port[]>
  subnets(ids: readonly string[], signal?: AbortSignal): Promise<Subnet[]>
  /** Subnets of the project; if it has none, those of networks that are shared with it. */
  subnetsByName(name: string, signal?: AbortSignal): Promise<Subnet[]>
  networks(ids: readonly string[], signal?: AbortSignal): Promise<Network[]>
}

const text = z.string().nullish()
const portShape = z
  .looseObject({
    id: z.string(),
    network_id: z.string(),
    mac_address: z.string(),
    status: text,
    device_id: text,
    device_owner: text,
    fixed_ips: z.array(z.looseObject({ subnet_id: z.string(), ip_address: z.string() })).nullish(),
    created_at: text,
  })
  .transform(
    (port): Port => ({
      id: port.id,
      networkId: port.network_id,
      macAddress: port.mac_address.toLowerCase(),
      status: port.status ?? '',
      serverId: port.device_id ?? '',
      owner: port.device_owner ?? '',
      addresses: (port.fixed_ips ?? []).map(ip => ({ subnetId: ip.subnet_id, address: ip.ip_address })),
      ...(port.created_at && { createdAt: port.created_at }),
    }),
  )
const subnetShape = z
  .looseObject({
    id: z.string(),
    name: text,
    network_id: z.string(),
    cidr: z.string(),
    gateway_ip: text,
    host_routes: z.array(z.looseObject({ destination: z.string(), nexthop: z.string() })).nullish(),
  })
  .transform(
    (subnet): Subnet => ({
      id: subnet.id,
      name: subnet.name ?? '',
      networkId: subnet.network_id,
      cidr: subnet.cidr,
      ...(subnet.gateway_ip && { gateway: subnet.gateway_ip }),
      routes: (subnet.host_routes ?? []).map(({ destination, nexthop }) => ({ destination, nexthop })),
    }),
  )
const networkShape = z
  .looseObject({ id: z.string(), mtu: z.int().nullish(), shared: z.boolean().nullish() })
  .transform(({ id, mtu, shared }): NeutronNetwork => ({ id, shared: shared === true, ...(mtu && { mtu }) }))

const portFields = ['id', 'network_id', 'mac_address', 'status', 'device_id', 'device_owner', 'fixed_ips', 'created_at']
const subnetFields = ['id', 'name', 'network_id', 'cidr', 'gateway_ip', 'host_routes']
const networkFields = ['id', 'mtu', 'shared']

type Collection = 'ports' | 'subnets' | 'networks'

/** Servers accept request lines of 8,192 bytes. A hundred UUIDs take 4,700 bytes. */
export const maxIds = 100
const maxQueryBytes = 6_000
const maxRemembered = 32

interface Page<T> {
  items: T[]
  links: Links
}

export function createNeutron(session: Session): Neutron {
  /** Most answers are unchanged. The same bytes return the same objects without parsing, so callers can compare by identity. */
  const last = new Map<string, { digest: string; page: Page<unknown> }>()

  function remember(key: string, digest: string, page: Page<unknown>): void {
    last.delete(key)
    last.set(key, { digest, page })
    const [oldest] = last.keys()
    if (last.size > maxRemembered && oldest !== undefined) last.delete(oldest)
  }

  function list<T>(
    collection: Collection,
    shape: z.ZodType<T>,
    query: Query,
    signal: AbortSignal | undefined,
  ): Promise<T[]> {
    const pageShape = z.looseObject({ [collection]: z.array(shape), [`${collection}_links`]: linksShape })
    return allPages('neutron', query, async page => {
      const { bytes } = await session.get('network', { path: `/${collection}`, query: page, signal, unread: true })
      const digest = createHash('sha256').update(bytes).digest('base64')
      const key = `${collection}?${new URLSearchParams(page)}`
      const known = last.get(key)
      if (known?.digest === digest) return known.page as Page<T>
      const body = parsedBytes('neutron', `the list of ${collection}`, pageShape, bytes) as Record<string, unknown>
      const read = { items: body[collection] as T[], links: body[`${collection}_links`] as Links }
      remember(key, digest, read)
      return read
    })
  }

  async function listByIds<T>(
    collection: Collection,
    shape: z.ZodType<T>,
    filter: string,
    ids: readonly string[],
    more: Query,
    signal: AbortSignal | undefined,
  ): Promise<T[]> {
    const costOf = (id: string) => filter.length + encodeURIComponent(id).length + 2
    const batches = batchesOf([...new Set(ids)], { items: maxIds, bytes: maxQueryBytes, costOf })
    const lists = await Promise.all(
      batches.map(batch =>
        list(collection, shape, [...batch.map((id): [string, string] => [filter, id]), ...more], signal),
      ),
    )
    return joined(lists)
  }

  const networksById = (ids: readonly string[], signal?: AbortSignal) =>
    listByIds('networks', networkShape, 'id', ids, fields(networkFields), signal)

  return {
    portsOfServers: (serverIds, signal) =>
      listByIds(
        'ports',
        portShape,
        'device_id',
        serverIds,
        [['project_id', session.projectId], ...fields(portFields)],
        signal,
      ),
    portsInSubnets: async (subnetIds, signal) => {
      const filters = subnetIds.map(id => `subnet_id=${id}`)
      const found = await listByIds(
        'ports',
        portShape,
        'fixed_ips',
        filters,
        [['project_id', session.projectId], ...fields(portFields)],
        signal,
      )
      const seen = new Set<string>()
      return found.filter(({ id }) => !seen.has(id) && seen.add(id))
    },
    portsById: (ids, signal) => listByIds('ports', portShape, 'id', ids, fields(portFields), signal),
    portsByMac: (macAddresses, signal) =>
      listByIds('ports', portShape, 'mac_address', macAddresses, fields(portFields), signal),
    subnets: (ids, signal) => listByIds('subnets', subnetShape, 'id', ids, fields(subnetFields), signal),
    async subnetsByName(name, signal) {
      const named: Query = [['name', name], ...fields(subnetFields)]
      const own = await list('subnets', subnetShape, [...named, ['project_id', session.projectId]], signal)
      if (own.length > 0) return own
      const all = await list('subnets', subnetShape, named, signal)
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

function fields(names: string[]): Query {
  return names.map(name => ['fields', name])
}
