/**
 * Actions of users and administrators in the cloud: servers, networks, ports, roles, tokens.
 */
import { rm, writeFile } from 'node:fs/promises'
import { eventually } from '../../support/eventually.ts'
import { run } from '../process.ts'
import { computeHost, type Directories, host, passwords, ports, urlOf } from './addresses.ts'
import { type Account, type Api, send } from './api.ts'
import { cleanEnvironment, holdFile } from './processes.ts'
import { python } from './programs.ts'
import { flavorId, imageName } from './seed.ts'

export interface NetworkInput {
  name: string
  mtu?: number
  shared?: boolean
  projectId?: string
}

export interface SubnetInput {
  name: string
  networkId: string
  cidr: string
  gateway?: string | null
  routes?: { destination: string; nexthop: string }[]
  projectId?: string
}

export interface PortInput {
  networkId: string
  name?: string
  fixedIps?: { subnetId: string; address?: string }[]
  deviceId?: string
  deviceOwner?: string
  /** Bind it to the compute host, so that it becomes ACTIVE. */
  bound?: boolean
  projectId?: string
  macAddress?: string
}

export interface ServerInput {
  name: string
  /** In this order; for a network, Nova creates the port. */
  nics?: ({ networkId: string } | { portId: string })[]
  metadata?: Record<string, string>
  tags?: string[]
  /** Default: the smallest that Nova accepts. */
  image?: string
  flavor?: string
}

export interface Actions {
  createNetwork(input: NetworkInput): Promise<string>
  createSubnet(input: SubnetInput): Promise<string>
  createPort(input: PortInput): Promise<string>
  deletePort(id: string): Promise<void>
  /** Returns its ID when it is ACTIVE. */
  bootServer(input: ServerInput): Promise<string>
  renameServer(id: string, name: string): Promise<void>
  setMetadata(id: string, metadata: Record<string, string>): Promise<void>
  /** Resolves when Nova returns 404 for it. */
  deleteServer(id: string): Promise<void>
  /** Returns the ID of the port when it is attached. */
  attach(serverId: string, what: { networkId: string } | { portId: string }): Promise<string>
  /** Resolves when the server no longer has the interface. */
  detach(serverId: string, portId: string): Promise<void>
  /** New ports stay DOWN or in BUILD until releasePorts. */
  holdPorts(status?: 'DOWN' | 'BUILD'): Promise<void>
  releasePorts(): Promise<void>
  /** Sets a status that no agent reports. */
  forcePortStatus(id: string, status: string): Promise<void>
  createUser(name: string, roles: readonly string[]): Promise<Account>
  /** Creates a role that no policy names. */
  createRole(name: string): Promise<void>
  grant(user: string, role: string): Promise<void>
  revoke(user: string, role: string): Promise<void>
  revokeToken(token: string): Promise<void>
}

const within = 120_000
const every = 200

export async function actionsOn(
  api: Api,
  { directories, projectId }: { directories: Directories; projectId: string },
): Promise<Actions> {
  const { images } = await api.call('glance', 'GET', `/v2/images?name=${imageName}`)
  const imageId: string = images[0].id
  const owner = (id: string | undefined) => (id === undefined ? {} : { project_id: id })
  const create = async (kind: string, body: object): Promise<string> =>
    (await api.call('neutron', 'POST', `/v2.0/${kind}s`, { [kind]: body }))[kind].id
  const idOf = async (kind: 'user' | 'role', name: string): Promise<string> =>
    (await api.call('keystone', 'GET', `/v3/${kind}s?name=${name}`))[`${kind}s`][0].id
  const assignment = async (user: string, role: string) =>
    `/v3/projects/${projectId}/users/${await idOf('user', user)}/roles/${await idOf('role', role)}`
  const interfacesOf = async (serverId: string): Promise<string[]> => {
    const { interfaceAttachments } = await api.call('nova', 'GET', `/v2.1/servers/${serverId}/os-interface`)
    return interfaceAttachments.map((attachment: { port_id: string }) => attachment.port_id)
  }

  return {
    createNetwork: ({ name, mtu, shared, projectId: of }) =>
      create('network', { name, ...(mtu && { mtu }), ...(shared && { shared }), ...owner(of) }),
    createSubnet: ({ name, networkId, cidr, gateway, routes, projectId: of }) =>
      create('subnet', {
        name,
        network_id: networkId,
        cidr,
        ip_version: cidr.includes(':') ? 6 : 4,
        ...(gateway !== undefined && { gateway_ip: gateway }),
        ...(routes && { host_routes: routes }),
        ...owner(of),
      }),
    createPort: ({ networkId, name, fixedIps, deviceId, deviceOwner, bound, projectId: of, macAddress }) =>
      create('port', {
        network_id: networkId,
        ...(name && { name }),
        ...(macAddress && { mac_address: macAddress }),
        ...(fixedIps && {
          fixed_ips: fixedIps.map(ip => ({ subnet_id: ip.subnetId, ...(ip.address && { ip_address: ip.address }) })),
        }),
        ...(deviceId !== undefined && { device_id: deviceId }),
        ...(deviceOwner !== undefined && { device_owner: deviceOwner }),
        ...(bound && { 'binding:host_id': computeHost }),
        ...owner(of),
      }),
    async deletePort(id) {
      await api.call('neutron', 'DELETE', `/v2.0/ports/${id}`)
    },

    async bootServer({ name, nics, metadata = {}, tags = [], image = imageId, flavor = flavorId }) {
      const networks = nics?.map(nic => ('portId' in nic ? { port: nic.portId } : { uuid: nic.networkId })) ?? 'none'
      const server = { name, imageRef: image, flavorRef: flavor, metadata, tags, networks }
      // The first version that boots a server with tags.
      const { id } = (await novaAt(api, '2.52', server)).server
      await eventually(
        async () => {
          const { server: now } = await api.call('nova', 'GET', `/v2.1/servers/${id}`)
          if (now.status === 'ERROR') throw new Error(`server ${name} failed: ${JSON.stringify(now.fault)}`)
          if (now.status !== 'ACTIVE') throw new Error(`server ${name} is ${now.status}`)
        },
        { within, every },
      )
      return id
    },
    async renameServer(id, name) {
      await api.call('nova', 'PUT', `/v2.1/servers/${id}`, { server: { name } })
    },
    async setMetadata(id, metadata) {
      await api.call('nova', 'POST', `/v2.1/servers/${id}/metadata`, { metadata })
    },
    async deleteServer(id) {
      await api.call('nova', 'DELETE', `/v2.1/servers/${id}`)
      await eventually(
        async () => {
          const { status } = await api.raw('nova', 'GET', `/v2.1/servers/${id}`)
          if (status !== 404) throw new Error(`server ${id} still exists`)
        },
        { within, every },
      )
    },

    async attach(serverId, what) {
      const body = 'portId' in what ? { port_id: what.portId } : { net_id: what.networkId }
      const path = `/v2.1/servers/${serverId}/os-interface`
      const { interfaceAttachment } = await api.call('nova', 'POST', path, { interfaceAttachment: body })
      return interfaceAttachment.port_id
    },
    async detach(serverId, portId) {
      await api.call('nova', 'DELETE', `/v2.1/servers/${serverId}/os-interface/${portId}`)
      await eventually(
        async () => {
          if ((await interfacesOf(serverId)).includes(portId)) throw new Error(`port ${portId} is still attached`)
        },
        { within, every },
      )
    },

    holdPorts: (status = 'DOWN') => writeFile(holdFile(directories), status),
    releasePorts: () => rm(holdFile(directories), { force: true }),
    async forcePortStatus(id, status) {
      const login = `host='${host}', port=${ports.mariadb}, user='openstack', password='${passwords.database}'`
      const script = [
        'import pymysql, sys',
        `connection = pymysql.connect(${login}, database='neutron', autocommit=True)`,
        "connection.cursor().execute('UPDATE ports SET status = %s WHERE id = %s', sys.argv[1:])",
      ]
      await run(python, ['-c', script.join('\n'), status, id], { env: cleanEnvironment() })
    },

    async createUser(name, roles) {
      const password = `${name}-secret`
      await api.call('keystone', 'POST', '/v3/users', { user: { name, domain_id: 'default', password } })
      for (const role of roles) await api.call('keystone', 'PUT', await assignment(name, role))
      return { user: name, password, project: { id: projectId } }
    },
    async createRole(name) {
      await api.call('keystone', 'POST', '/v3/roles', { role: { name } })
    },
    async grant(user, role) {
      await api.call('keystone', 'PUT', await assignment(user, role))
    },
    async revoke(user, role) {
      await api.call('keystone', 'DELETE', await assignment(user, role))
    },
    async revokeToken(token) {
      const url = `${urlOf('keystone')}/v3/auth/tokens`
      const response = await send(url, {
        method: 'DELETE',
        token: await api.token(),
        headers: { 'x-subject-token': token },
      })
      if (response.status !== 204) throw new Error(`cannot revoke the token: ${response.status} ${response.text}`)
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read any field of a response
async function novaAt(api: Api, microversion: string, server: object): Promise<any> {
  const response = await send(`${urlOf('nova')}/v2.1/servers`, {
    method: 'POST',
    token: await api.token(),
    headers: { 'x-openstack-nova-api-version': microversion },
    body: { server },
  })
  if (response.status !== 202) throw new Error(`nova refused the server: ${response.status} ${response.text}`)
  return response.body
}
