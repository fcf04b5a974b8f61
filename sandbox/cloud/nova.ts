/**
 * Nova: servers and their interfaces, as the real API shows them to an administrator. Read-only.
 */
import { createHash } from 'node:crypto'
import { type Tokens, unauthenticated } from './keystone.ts'
import { type CloudRequest, type CloudResponse, type Handler, pageLink, seconds } from './messages.ts'
import { type CloudState, type Port, portsOf, type Server } from './state.ts'

export const novaInternalError = {
  computeFault: {
    code: 500,
    message:
      'Unexpected API Error. Please report this at http://bugs.launchpad.net/nova/ and attach the Nova API log if possible.',
  },
}

const maxPageSize = 1000
const subresources = ['os-interface', 'os-instance-actions']

export function createNova(cloudState: CloudState, tokens: Tokens, keystone: () => string): Handler {
  return request => {
    if (!tokens.isValid(request)) return unauthenticated(keystone())
    const response = respond(cloudState, request)
    return { ...response, headers: { ...headers(request), ...response.headers } }
  }
}

function respond(cloudState: CloudState, request: CloudRequest): CloudResponse {
  // In the catalog of older clouds the path contains the project.
  const [version, ...segments] = request.path.slice(1).split('/')
  const [plural, id, sub, ...rest] = segments[0] === cloudState.project.id ? segments.slice(1) : segments
  if (version !== 'v2.1' || rest.length > 0) return noSuchPath
  if (!plural) return { status: 200, body: { version: apiVersion(request) } }
  if (plural !== 'servers' || request.method !== 'GET' || (sub && !subresources.includes(sub))) return noSuchPath
  if (cloudState.faults.roleLost) return forbidden(id, sub)

  if (!id || id === 'detail') return serverList(cloudState, request, [...cloudState.servers.values()], id === 'detail')
  if (sub === 'os-instance-actions') return actions(cloudState, request, id)
  const server = cloudState.servers.get(id)
  if (!server) return notFound(`Instance ${id} could not be found.`)
  if (sub) return { status: 200, body: { interfaceAttachments: attachments(cloudState, server) } }
  return { status: 200, body: { server: serverBody(cloudState, request, server, portsOf(cloudState, server)) } }
}

/** From microversion 2.21 on also for deleted servers. */
function actions(cloudState: CloudState, request: CloudRequest, id: string): CloudResponse {
  const [, minor = 0] = microversion(request)
  const deleted = minor >= 21 ? cloudState.deletedServers.get(id) : undefined
  const server = cloudState.servers.get(id) ?? deleted
  if (!server) return notFound(`Instance ${id} could not be found.`)
  const actionBody = (action: string) => ({
    action,
    instance_uuid: id,
    project_id: server.projectId,
    user_id: cloudState.user.id,
    request_id: `req-${id}`,
    start_time: `${seconds(server.createdAt).slice(0, -1)}.000000`,
    message: null,
  })
  return { status: 200, body: { instanceActions: (deleted ? ['delete', 'create'] : ['create']).map(actionBody) } }
}

function serverList(cloudState: CloudState, request: CloudRequest, servers: Server[], detail: boolean): CloudResponse {
  const { query } = request
  const requested = query.get('limit')
  if (requested !== null && !/^\d+$/.test(requested))
    return badRequest(
      `Invalid input for query parameters limit. Value: ${requested}. '${requested}' does not match '^[0-9]*$'`,
    )
  const name = query.getAll('name').at(-1)
  if (name !== undefined && !isPattern(name))
    return badRequest(`Invalid input for query parameters name. Value: ${name}. '${name}' is not a 'regex'`)
  const limit = Math.min(Number(requested ?? maxPageSize), cloudState.faults.pageLimit || maxPageSize)

  const [, minor = 0] = microversion(request)
  const all = servers.filter(server => matches(server, query, minor)).sort(newestFirst)
  const marker = query.get('marker')
  const after = marker === null ? -1 : all.findIndex(server => server.id === marker)
  if (marker !== null && after < 0) return badRequest(`marker [${marker}] not found`)
  const page = all.slice(after + 1, after + 1 + limit)

  const ports = Map.groupBy(cloudState.ports.values(), port => port.deviceId)
  const body: Record<string, unknown> = {
    servers: page.map(server =>
      detail
        ? serverBody(cloudState, request, server, ports.get(server.id) ?? [])
        : { id: server.id, name: server.name, links: links(request, server) },
    ),
  }
  if (limit > 0 && page.length === limit)
    body['servers_links'] = [pageLink(request, 'next', { marker: page.at(-1)?.id })]
  return { status: 200, body }
}

/** As in Nova, only the last value of a repeated filter applies. */
function matches(server: Server, query: URLSearchParams, minor: number): boolean {
  const uuid = query.getAll('uuid').at(-1)
  const name = query.getAll('name').at(-1)
  const status = query.getAll('status').at(-1)
  const tags = minor >= 26 ? query.getAll('tags').at(-1) : undefined
  const project = query.getAll('project_id').at(-1) ?? query.getAll('tenant_id').at(-1)
  return (
    (uuid === undefined || server.id === uuid) &&
    (name === undefined || new RegExp(name).test(server.name)) &&
    (status === undefined || server.status === status.toUpperCase()) &&
    (tags === undefined || tags.split(',').every(tag => server.tags.includes(tag))) &&
    (project === undefined || server.projectId === project.replaceAll('-', ''))
  )
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) !== undefined
  } catch {
    return false
  }
}

function newestFirst(a: Server, b: Server): number {
  return b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1)
}

function serverBody(cloudState: CloudState, request: CloudRequest, server: Server, ports: readonly Port[]): unknown {
  const at = seconds(server.createdAt)
  const [, minor = 0] = microversion(request)
  const image = '5b3d270b-e05d-4b40-8fec-d6d741f78f8b'
  return {
    id: server.id,
    name: server.name,
    status: server.status,
    tenant_id: server.projectId,
    user_id: cloudState.user.id,
    metadata: server.metadata,
    ...(minor >= 26 && { tags: server.tags }),
    hostId: createHash('sha224').update(server.projectId).digest('hex'),
    image: { id: image, links: [{ rel: 'bookmark', href: `${request.base}/images/${image}` }] },
    flavor: flavor(request),
    created: at,
    updated: at,
    addresses: addresses(cloudState, ports),
    accessIPv4: '',
    accessIPv6: '',
    links: links(request, server),
    'OS-DCF:diskConfig': 'MANUAL',
    progress: 0,
    'OS-EXT-AZ:availability_zone': 'nova',
    config_drive: '',
    key_name: null,
    'OS-SRV-USG:launched_at': `${at.slice(0, -1)}.000000`,
    'OS-SRV-USG:terminated_at': null,
    security_groups: [{ name: 'default' }],
    'OS-EXT-SRV-ATTR:host': 'sandbox',
    'OS-EXT-SRV-ATTR:instance_name': `instance-${server.id.slice(0, 8)}`,
    'OS-EXT-SRV-ATTR:hypervisor_hostname': 'sandbox',
    'OS-EXT-STS:task_state': null,
    'OS-EXT-STS:vm_state': 'active',
    'OS-EXT-STS:power_state': 1,
    'os-extended-volumes:volumes_attached': [],
  }
}

/** From microversion 2.47 on the flavor is embedded instead of linked. */
function flavor(request: CloudRequest): unknown {
  const [, minor = 0] = microversion(request)
  if (minor < 47) return { id: '1', links: [{ rel: 'bookmark', href: `${request.base}/flavors/1` }] }
  return { vcpus: 1, ram: 512, disk: 1, ephemeral: 0, swap: 0, original_name: 'm1.tiny', extra_specs: {} }
}

function addresses(cloudState: CloudState, ports: readonly Port[]): Record<string, unknown[]> {
  const byNetwork: Record<string, unknown[]> = {}
  for (const port of ports) {
    const name = cloudState.networks.get(port.networkId)?.name ?? port.networkId
    byNetwork[name] ??= []
    for (const { ipAddress } of port.fixedIps)
      byNetwork[name].push({
        version: ipAddress.includes(':') ? 6 : 4,
        addr: ipAddress,
        'OS-EXT-IPS:type': 'fixed',
        'OS-EXT-IPS-MAC:mac_addr': port.macAddress,
      })
  }
  return byNetwork
}

function attachments(cloudState: CloudState, server: Server): unknown[] {
  return portsOf(cloudState, server).map(port => ({
    net_id: port.networkId,
    port_id: port.id,
    mac_addr: port.macAddress,
    port_state: port.status,
    fixed_ips: port.fixedIps.map(ip => ({ subnet_id: ip.subnetId, ip_address: ip.ipAddress })),
  }))
}

function links({ base }: CloudRequest, { id }: Server) {
  return [
    { rel: 'self', href: `${base}/v2.1/servers/${id}` },
    { rel: 'bookmark', href: `${base}/servers/${id}` },
  ]
}

function microversion({ headers }: CloudRequest): number[] {
  const requested = String(headers['openstack-api-version'] ?? headers['x-openstack-nova-api-version'] ?? '')
  return (/(\d+)\.(\d+)\s*$/.exec(requested)?.slice(1) ?? ['2', '1']).map(Number)
}

function headers(request: CloudRequest): Record<string, string> {
  const version = microversion(request).join('.')
  return {
    'openstack-api-version': `compute ${version}`,
    'x-openstack-nova-api-version': version,
    vary: 'OpenStack-API-Version, X-OpenStack-Nova-API-Version',
  }
}

function apiVersion({ base }: CloudRequest): unknown {
  const links = [{ rel: 'self', href: `${base}/v2.1/` }]
  return { id: 'v2.1', status: 'CURRENT', version: '2.93', min_version: '2.1', updated: '2013-07-23T11:33:21Z', links }
}

const noSuchPath: CloudResponse = {
  status: 404,
  body: '404 Not Found\n\nThe resource could not be found.\n\n   ',
  headers: { 'content-type': 'text/plain; charset=UTF-8' },
}

function notFound(message: string): CloudResponse {
  return failure(404, 'itemNotFound', message)
}

function badRequest(message: string): CloudResponse {
  return failure(400, 'badRequest', message)
}

/** Neutron returns an empty list instead. */
function forbidden(id: string | undefined, sub: string | undefined): CloudResponse {
  const servers = id === undefined ? 'index' : id === 'detail' ? 'detail' : 'show'
  const list = sub === 'os-interface' ? 'os-attach-interfaces:list' : 'os-instance-actions:list'
  const rule = sub ? list : `servers:${servers}`
  return failure(403, 'forbidden', `Policy doesn't allow os_compute_api:${rule} to be performed.`)
}

function failure(code: number, kind: string, message: string): CloudResponse {
  return {
    status: code,
    body: { [kind]: { code, message } },
    headers: { 'content-type': 'application/json; charset=UTF-8' },
  }
}
