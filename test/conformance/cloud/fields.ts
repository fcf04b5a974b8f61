/** All fields of the responses for an administrator, with their types. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CloudContext, logIn } from './context.ts'

type Kind = keyof typeof kinds
type Shape = Record<string, Kind | Kind[]>

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const matching = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value)

const kinds = {
  text: value => typeof value === 'string',
  uuid: matching(uuid),
  hex: matching(/^[0-9a-f]{32}$/),
  mac: matching(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/),
  ip: matching(/^[0-9a-f.:]+$/),
  cidr: matching(/^[0-9a-f.:]+\/\d+$/),
  second: matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  microsecond: matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z?$/),
  yes: value => typeof value === 'boolean',
  number: Number.isInteger,
  list: Array.isArray,
  object: value => typeof value === 'object' && value !== null && !Array.isArray(value),
  nothing: value => value === null,
} satisfies Record<string, (value: unknown) => boolean>

const standard: Shape = {
  description: 'text',
  tags: 'list',
  created_at: 'second',
  updated_at: 'second',
  revision_number: 'number',
  project_id: 'hex',
  tenant_id: 'hex',
}

const port: Shape = {
  ...standard,
  id: 'uuid',
  name: 'text',
  network_id: 'uuid',
  mac_address: 'mac',
  admin_state_up: 'yes',
  status: 'text',
  device_id: 'uuid',
  device_owner: 'text',
  fixed_ips: 'list',
  allowed_address_pairs: 'list',
  extra_dhcp_opts: 'list',
  security_groups: 'list',
  'binding:vnic_type': 'text',
  'binding:profile': 'object',
  'binding:host_id': 'text',
  'binding:vif_type': 'text',
  'binding:vif_details': 'object',
  port_security_enabled: 'yes',
}

const subnet: Shape = {
  ...standard,
  id: 'uuid',
  name: 'text',
  network_id: 'uuid',
  ip_version: 'number',
  subnetpool_id: 'nothing',
  enable_dhcp: 'yes',
  ipv6_ra_mode: 'nothing',
  ipv6_address_mode: 'nothing',
  gateway_ip: ['ip', 'nothing'],
  cidr: 'cidr',
  allocation_pools: 'list',
  host_routes: 'list',
  dns_nameservers: 'list',
  service_types: 'list',
}

const network: Shape = {
  ...standard,
  id: 'uuid',
  name: 'text',
  admin_state_up: 'yes',
  mtu: 'number',
  status: 'text',
  subnets: 'list',
  shared: 'yes',
  availability_zone_hints: 'list',
  availability_zones: 'list',
  ipv4_address_scope: 'nothing',
  ipv6_address_scope: 'nothing',
  'router:external': 'yes',
  port_security_enabled: 'yes',
  'provider:network_type': 'text',
  'provider:physical_network': 'nothing',
  'provider:segmentation_id': 'number',
}

const server: Shape = {
  id: 'uuid',
  name: 'text',
  status: 'text',
  tenant_id: 'hex',
  user_id: 'hex',
  metadata: 'object',
  hostId: 'text',
  image: 'object',
  flavor: 'object',
  created: 'second',
  updated: 'second',
  addresses: 'object',
  accessIPv4: 'text',
  accessIPv6: 'text',
  links: 'list',
  'OS-DCF:diskConfig': 'text',
  progress: 'number',
  'OS-EXT-AZ:availability_zone': 'text',
  config_drive: 'text',
  key_name: 'nothing',
  'OS-SRV-USG:launched_at': 'microsecond',
  'OS-SRV-USG:terminated_at': 'nothing',
  security_groups: 'list',
  'OS-EXT-SRV-ATTR:host': 'text',
  'OS-EXT-SRV-ATTR:instance_name': 'text',
  'OS-EXT-SRV-ATTR:hypervisor_hostname': 'text',
  'OS-EXT-STS:task_state': 'nothing',
  'OS-EXT-STS:vm_state': 'text',
  'OS-EXT-STS:power_state': 'number',
  'os-extended-volumes:volumes_attached': 'list',
}

const attachment: Shape = { net_id: 'uuid', port_id: 'uuid', mac_addr: 'mac', port_state: 'text', fixed_ips: 'list' }
const fixedIp: Shape = { subnet_id: 'uuid', ip_address: 'ip' }
const address: Shape = { version: 'number', addr: 'ip', 'OS-EXT-IPS:type': 'text', 'OS-EXT-IPS-MAC:mac_addr': 'mac' }

const token: Shape = {
  methods: 'list',
  user: 'object',
  audit_ids: 'list',
  expires_at: 'microsecond',
  issued_at: 'microsecond',
  project: 'object',
  is_domain: 'yes',
  roles: 'list',
  catalog: 'list',
}
const service: Shape = { endpoints: 'list', id: 'hex', type: 'text', name: 'text' }
const endpoint: Shape = { id: 'hex', interface: 'text', region_id: 'text', region: 'text', url: 'text' }

function hasShape(what: string, value: Record<string, unknown> | undefined, shape: Shape): void {
  assert.ok(value, `${what} not found`)
  assert.deepEqual(Object.keys(value).sort(), Object.keys(shape).sort(), `the fields of ${what}`)
  for (const [field, expected] of Object.entries(shape)) {
    const fits = [expected].flat().some(kind => kinds[kind](value[field]))
    assert.ok(fits, `${field} of ${what} is ${JSON.stringify(value[field])}, not ${expected}`)
  }
}

export function fieldCases(context: () => CloudContext): void {
  test('a port', async () => {
    const { ask, seeds } = context()
    const { body } = await ask('neutron', `/v2.0/ports?device_id=${seeds.vms[0]}`)
    assert.deepEqual(Object.keys(body), ['ports'])
    hasShape('a port', body.ports[0], port)
    hasShape('an address of a port', body.ports[0].fixed_ips[0], fixedIp)
    const one = await ask('neutron', `/v2.0/ports/${body.ports[0].id}`)
    assert.deepEqual(one.body, { port: body.ports[0] })
  })

  test('a subnet', async () => {
    const { ask, seeds } = context()
    for (const id of [seeds.storage.subnetId, seeds.storage.sixId, seeds.backup.subnetId])
      hasShape('a subnet', (await ask('neutron', `/v2.0/subnets/${id}`)).body.subnet, subnet)
  })

  test('a network', async () => {
    const { ask, seeds } = context()
    hasShape('a network', (await ask('neutron', `/v2.0/networks/${seeds.storage.networkId}`)).body.network, network)
  })

  test('a server and its addresses', async () => {
    const { ask, seeds } = context()
    const { body } = await ask('nova', `/v2.1/servers/${seeds.vms[0]}`)
    hasShape('a server', body.server, server)
    assert.deepEqual(Object.keys(body.server.addresses).sort(), ['backup-net', 'storage-net'])
    hasShape('an address of a server', body.server.addresses['storage-net'][0], address)
  })

  test('an interface of a server', async () => {
    const { ask, seeds } = context()
    const { body } = await ask('nova', `/v2.1/servers/${seeds.vms[0]}/os-interface`)
    assert.equal(body.interfaceAttachments.length, 2)
    for (const one of body.interfaceAttachments) hasShape('an interface', one, attachment)
  })

  test('a token and its catalog', async () => {
    const { body } = await logIn(context().cloud)
    hasShape('a token', body.token, token)
    for (const one of body.token.catalog) {
      hasShape('a service', one, service)
      for (const each of one.endpoints) hasShape('an endpoint', each, endpoint)
    }
  })

  test('headers of responses', async () => {
    const { ask, seeds } = context()
    const ports = await ask('neutron', '/v2.0/ports?fields=id')
    assert.equal(ports.headers['content-type'], 'application/json')
    assert.match(String(ports.headers['x-openstack-request-id']), /^req-[0-9a-f-]{36}$/)
    const found = await ask('nova', `/v2.1/servers/${seeds.vms[0]}`)
    assert.equal(found.headers['content-type'], 'application/json')
    assert.equal(found.headers['x-openstack-nova-api-version'], '2.1')
    assert.equal(found.headers['openstack-api-version'], 'compute 2.1')
    assert.match(String(found.headers['x-openstack-request-id']), /^req-[0-9a-f-]{36}$/)
    const missing = await ask('nova', '/v2.1/servers/x')
    assert.equal(missing.headers['content-type'], 'application/json; charset=UTF-8')
  })
}
