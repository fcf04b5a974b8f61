/**
 * Neutron: ports, subnets and networks with the filters, fields, pages and errors of the real API. Read-only, because the
 * components only read.
 */

import { type Tokens, unauthenticated } from './keystone.ts'
import { type CloudRequest, type CloudResponse, type Handler, pageLink, seconds } from './messages.ts'
import type { CloudState, Network, Port, Subnet } from './state.ts'

export const neutronInternalError = {
  NeutronError: {
    type: 'HTTPInternalServerError',
    message: 'Request Failed: internal server error while processing your request.',
    detail: '',
  },
}

type Entry = Record<string, unknown> & { id: string }

interface Collection {
  /** Used in error messages. */
  kind: string
  entries(cloudState: CloudState): Entry[]
  filters: readonly string[]
}

const commonFilters = ['id', 'name', 'project_id', 'tenant_id', 'description', 'revision_number']

const collections: Record<string, Collection> = {
  ports: {
    kind: 'Port',
    entries: cloudState => [...cloudState.ports.values()].map(portBody),
    filters: [
      ...['network_id', 'mac_address', 'admin_state_up', 'status', 'device_id', 'device_owner', 'fixed_ips'],
      ...['binding:host_id', 'binding:vnic_type', 'security_groups'],
    ],
  },
  subnets: {
    kind: 'Subnet',
    entries: cloudState => [...cloudState.subnets.values()].map(subnet => subnetBody(cloudState, subnet)),
    filters: ['network_id', 'cidr', 'gateway_ip', 'ip_version', 'enable_dhcp', 'segment_id', 'subnetpool_id'],
  },
  networks: {
    kind: 'Network',
    entries: cloudState => [...cloudState.networks.values()].map(network => networkBody(cloudState, network)),
    filters: ['status', 'admin_state_up', 'shared', 'mtu', 'router:external'],
  },
}

const pagingParameters = ['fields', 'limit', 'marker']

export function createNeutron(cloudState: CloudState, tokens: Tokens, keystone: () => string): Handler {
  return request => {
    if (!tokens.isValid(request)) return unauthenticated(keystone())
    const [, version, plural, id, ...rest] = request.path.split('/')
    const collection = plural ? collections[plural] : undefined
    if (version !== 'v2.0' || !plural || !collection || rest.length > 0)
      return failure(404, 'HTTPNotFound', 'The resource could not be found.')
    if (request.method !== 'GET')
      return failure(
        501,
        'HTTPNotImplemented',
        'The sandbox is read-only here; use "multinic sandbox attach" and "detach".',
      )
    const entries = cloudState.faults.roleLost ? [] : collection.entries(cloudState)
    if (!id) return listPage(cloudState, request, plural, collection, entries)
    const found = entries.find(entry => entry.id === id)
    if (!found) return notFound(collection.kind, id)
    return { status: 200, body: { [plural.slice(0, -1)]: selectFields(found, request.query.getAll('fields')) } }
  }
}

function listPage(
  cloudState: CloudState,
  request: CloudRequest,
  plural: string,
  collection: Collection,
  entries: Entry[],
): CloudResponse {
  const { query } = request
  const allowed = [...pagingParameters, ...commonFilters, ...collection.filters]
  const unknown = [...new Set(query.keys())].filter(name => !allowed.includes(name))
  if (unknown.length > 0) {
    const list = unknown.map(name => `'${name}'`).join(', ')
    return failure(400, 'HTTPBadRequest', `[${list}] is invalid attribute for filtering`)
  }
  const requested = query.get('limit')
  if (requested !== null && !/^\d+$/.test(requested)) {
    const message = `Bad limit request: Limit must be an integer 0 or greater and not '${requested}'.`
    return failure(400, 'BadRequest', message)
  }
  const limit = pageSize(Number(requested ?? 0), cloudState.faults.pageLimit)
  const marker = query.get('marker')
  if (limit > 0 && marker !== null && !entries.some(entry => entry.id === marker))
    return notFound(collection.kind, marker)

  const matching = entries.filter(entry => matches(entry, query)).sort((a, b) => (a.id < b.id ? -1 : 1))
  const page = limit > 0 ? matching.filter(({ id }) => marker === null || id > marker).slice(0, limit) : matching
  const body: Record<string, unknown> = { [plural]: page.map(entry => selectFields(entry, query.getAll('fields'))) }
  if (limit > 0) {
    // As in Neutron, a full page always has a next link, even if that page is empty.
    const next = page.length >= limit ? [pageLink(request, 'next', { marker: page.at(-1)?.id })] : []
    body[`${plural}_links`] = [...next, pageLink(request, 'previous', { marker: page[0]?.id, page_reverse: 'True' })]
  }
  return { status: 200, body }
}

function pageSize(requested: number, max: number): number {
  return requested > 0 && max > 0 ? Math.min(requested, max) : requested || max
}

/** One of the values of each attribute must match, for all attributes. */
function matches(entry: Entry, query: URLSearchParams): boolean {
  const names = [...new Set(query.keys())].filter(name => !pagingParameters.includes(name))
  return names.every(name => {
    const values = query.getAll(name)
    if (name === 'fixed_ips') return fixedIpsMatch(entry['fixed_ips'] as Record<string, string>[], values)
    const actual = entry[name]
    if (typeof actual === 'boolean') return values.some(value => /^(true|1)$/i.test(value) === actual)
    return values.includes(String(actual ?? ''))
  })
}

function fixedIpsMatch(ips: Record<string, string>[], filters: string[]): boolean {
  const byKey = Map.groupBy(filters, filter => filter.split('=', 1)[0] ?? '')
  return [...byKey].every(([key, values]) => ips.some(ip => values.includes(`${key}=${ip[key]}`)))
}

function selectFields(entry: Entry, fields: string[]): Record<string, unknown> {
  return fields.length === 0 ? entry : Object.fromEntries(Object.entries(entry).filter(([key]) => fields.includes(key)))
}

function notFound(kind: string, id: string): CloudResponse {
  return failure(404, `${kind}NotFound`, `${kind} ${id} could not be found.`)
}

function failure(status: number, type: string, message: string): CloudResponse {
  return { status, body: { NeutronError: { type, message, detail: '' } } }
}

const bound = {
  'binding:host_id': 'sandbox',
  'binding:vif_type': 'ovs',
  'binding:vif_details': {
    connectivity: 'l2',
    port_filter: true,
    ovs_hybrid_plug: false,
    datapath_type: 'system',
    bridge_name: 'br-int',
    bound_drivers: { '0': 'openvswitch' },
  },
}
const unbound = { 'binding:host_id': '', 'binding:vif_type': 'unbound', 'binding:vif_details': {} }

export function portBody(port: Port): Entry {
  return {
    id: port.id,
    name: port.name,
    network_id: port.networkId,
    tenant_id: port.projectId,
    mac_address: port.macAddress,
    admin_state_up: true,
    status: port.status,
    device_id: port.deviceId,
    device_owner: port.deviceOwner,
    fixed_ips: port.fixedIps.map(ip => ({ subnet_id: ip.subnetId, ip_address: ip.ipAddress })),
    allowed_address_pairs: (port.allowedAddressPairs ?? []).map(address => ({
      ...{ ip_address: address, mac_address: port.macAddress },
    })),
    extra_dhcp_opts: [],
    security_groups: [],
    description: '',
    'binding:vnic_type': 'normal',
    'binding:profile': {},
    ...(port.deviceId === '' ? unbound : bound),
    port_security_enabled: true,
    tags: [],
    created_at: seconds(port.createdAt),
    updated_at: seconds(port.updatedAt),
    revision_number: port.revision,
    project_id: port.projectId,
  }
}

export function subnetBody(cloudState: CloudState, subnet: Subnet): Entry {
  const at = seconds(cloudState.startedAt)
  return {
    id: subnet.id,
    name: subnet.name,
    tenant_id: subnet.projectId,
    network_id: subnet.networkId,
    ip_version: subnet.cidr.includes(':') ? 6 : 4,
    subnetpool_id: null,
    enable_dhcp: true,
    ipv6_ra_mode: null,
    ipv6_address_mode: null,
    gateway_ip: subnet.gatewayIp,
    cidr: subnet.cidr,
    allocation_pools: [],
    host_routes: subnet.hostRoutes,
    dns_nameservers: [],
    description: '',
    service_types: [],
    tags: [],
    created_at: at,
    updated_at: at,
    revision_number: 0,
    project_id: subnet.projectId,
  }
}

export function networkBody(cloudState: CloudState, network: Network): Entry {
  const at = seconds(cloudState.startedAt)
  return {
    id: network.id,
    name: network.name,
    tenant_id: network.projectId,
    admin_state_up: true,
    mtu: network.mtu,
    status: 'ACTIVE',
    subnets: [...cloudState.subnets.values()]
      .filter(subnet => subnet.networkId === network.id)
      .map(subnet => subnet.id),
    shared: false,
    'router:external': false,
    ipv4_address_scope: null,
    ipv6_address_scope: null,
    availability_zone_hints: [],
    availability_zones: [],
    description: '',
    port_security_enabled: true,
    tags: [],
    created_at: at,
    updated_at: at,
    revision_number: 1,
    project_id: network.projectId,
    'provider:network_type': 'vxlan',
    'provider:physical_network': null,
    'provider:segmentation_id': 1 + [...cloudState.networks.keys()].indexOf(network.id),
  }
}
