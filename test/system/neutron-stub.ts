/**
 * A project with one VM: what Neutron answers about it, and what the operator observes then. The stub returns the requested
 * fields of its objects, as Neutron does, and src/openstack parses the answers.
 */
import assert from 'node:assert/strict'
import { createHttp } from '../../src/http-client/client.ts'
import { createNeutron } from '../../src/openstack/neutron.ts'
import type { Observed, SelectedSubnet } from '../../src/operator/plan/observed-state.ts'
import { baseline, observed } from '../../src/operator/plan/plan.fixture.ts'
import { ports as captured } from '../openstack/captured-responses.ts'
import { sessionAt } from '../openstack/sessions.ts'
import { startStubServer } from '../openstack/stub-server.ts'

/** An object as Neutron sends it. */
export type Json = Record<string, unknown>

/** What Neutron has, and what else the operator knows. */
export interface Cloud {
  ports: Json[]
  subnet: Json
  network: Json
  /** Index and alias of the subnet in the OpenstackConfig. */
  selected?: Pick<SelectedSubnet, 'index' | 'alias'>
  known?: Partial<Observed>
}

export const macAddress = 'fa:16:3e:00:00:01'
export const subnet: Json = {
  id: 'storage',
  name: 'storage',
  network_id: 'net-s',
  ip_version: 4,
  cidr: '10.1.0.0/24',
  gateway_ip: '10.1.0.254',
  host_routes: [{ destination: '10.9.0.0/16', nexthop: '10.1.0.253' }],
  enable_dhcp: true,
  dns_nameservers: ['10.1.0.2'],
}
export const network: Json = {
  id: 'net-s',
  name: 'storage-net',
  mtu: 1500,
  shared: false,
  status: 'ACTIVE',
  subnets: ['storage'],
}
export const port: Json = {
  ...captured[0],
  id: 'port-1',
  network_id: 'net-s',
  mac_address: macAddress,
  device_id: 'vm-1',
  fixed_ips: [{ subnet_id: 'storage', ip_address: '10.1.0.1' }],
  created_at: new Date(baseline + 60_000).toISOString(),
  port_security_enabled: true,
  allowed_address_pairs: [{ ip_address: '10.1.0.50', mac_address: macAddress }],
}
/** A port of the same VM that is older, and becomes multinic0. */
export const older: Json = {
  ...port,
  id: 'port-0',
  mac_address: 'fa:16:3e:00:00:10',
  fixed_ips: [{ subnet_id: 'storage', ip_address: '10.1.0.10' }],
  created_at: new Date(baseline).toISOString(),
}
const base: Cloud = { ports: [port], subnet, network }
export const withPort = (more: Json): Partial<Cloud> => ({ ports: [{ ...port, ...more }] })
export const withSubnet = (more: Json): Partial<Cloud> => ({ subnet: { ...subnet, ...more } })

export interface NeutronStub extends AsyncDisposable {
  /** What the operator observes of this cloud. */
  observe(change?: Partial<Cloud>): Promise<Observed>
}

export async function startNeutron(): Promise<NeutronStub> {
  let cloud = base
  const stub = await startStubServer(({ path, query }) => {
    if (path === '/v3/auth/tokens') {
      const catalog = [{ type: 'network', endpoints: [{ interface: 'public', url: stub.url }] }]
      const body = { token: { expires_at: '2099-01-01T00:00:00Z', catalog } }
      return { status: 201, body, headers: { 'x-subject-token': 'token' } }
    }
    const collection = path.split('/').at(-1) ?? ''
    const all: Record<string, Json[]> = { ports: cloud.ports, subnets: [cloud.subnet], networks: [cloud.network] }
    const fields = query.getAll('fields')
    // Neutron leaves out what nobody asked for.
    const answer = (object: Json) =>
      Object.fromEntries(Object.entries(object).filter(([field]) => fields.includes(field)))
    return { status: 200, body: { [collection]: (all[collection] ?? assert.fail(path)).map(answer) } }
  })
  const http = createHttp({ service: 'neutron', timeoutMs: 10_000, attempts: 1 })
  const neutron = createNeutron(sessionAt({ url: stub.url, http }))
  return {
    async observe(change = {}) {
      cloud = { ...base, ...change }
      const { selected = {}, known = {} } = cloud
      const [ports, subnets, networks] = await Promise.all([
        neutron.portsOfServers(['vm-1']),
        neutron.subnets([String(cloud.subnet['id'])]),
        neutron.networks([String(cloud.network['id'])]),
      ])
      assert.equal(ports.length, cloud.ports.length)
      return observed({
        ports,
        subnets: subnets.map(one => ({ ...one, ...selected })),
        networks: new Map(networks.map(one => [one.id, one])),
        ...known,
      })
    },
    async [Symbol.asyncDispose]() {
      await http.close()
      await stub[Symbol.asyncDispose]()
    },
  }
}
