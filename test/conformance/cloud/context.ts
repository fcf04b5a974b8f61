/**
 * Context of the suite: a cloud with two networks and two servers, the clients of the project, and raw requests.
 */
import assert from 'node:assert/strict'
import { createHttp } from '../../../src/http-client/client.ts'
import { createKeystone, type Keystone } from '../../../src/openstack/keystone.ts'
import type { CloudLogin } from '../../../src/openstack/login.ts'
import { createNeutron, type Neutron } from '../../../src/openstack/neutron.ts'
import { createNova, type Nova } from '../../../src/openstack/nova.ts'
import { createSession, type Session } from '../../../src/openstack/session.ts'
import type { Actions } from '../../rigs/openstack/actions.ts'
import { type ApiResponse, type RequestOptions, send } from '../../rigs/openstack/api.ts'
import { eventually } from '../../support/eventually.ts'

/** A cloud and the actions of its administrator. */
export interface CloudUnderTest
  extends Pick<
    Actions,
    | 'createNetwork'
    | 'createSubnet'
    | 'createPort'
    | 'deletePort'
    | 'bootServer'
    | 'renameServer'
    | 'setMetadata'
    | 'deleteServer'
    | 'attach'
    | 'detach'
    | 'holdPorts'
    | 'releasePorts'
  > {
  urls: { keystone: string; neutron: string; nova: string }
  /** An administrator in the project. */
  login: Account
  projectId: string
  region: string
  setTokenLifetime(seconds: number): Promise<void>
  /** Removes the only role of the account in the project. */
  revokeRole(): Promise<void>
  grantRole(): Promise<void>
  /** The account keeps a role that grants no rights. */
  disableRole(): Promise<void>
  enableRole(): Promise<void>
  close(): Promise<void>
}

export interface Clients {
  keystone: Keystone
  session: Session
  neutron: Neutron
  nova: Nova
  close(): Promise<void>
}

export interface Net {
  networkId: string
  subnetId: string
}

export interface CloudContext {
  cloud: CloudUnderTest
  clients: Clients
  /** Uses a valid token unless `sending` has another one. */
  ask(service: 'keystone' | 'neutron' | 'nova', path: string, sending?: RequestOptions): Promise<ApiResponse>
  /** Logs in and returns the token. */
  token(): Promise<string>
  seeds: {
    /** Has an IPv4 and an IPv6 subnet. */
    storage: Net & { sixId: string }
    /** The same addresses as storage, with routes and without a gateway. */
    backup: Net
    vms: [string, string]
    /** Each server has one port in storage and one in backup. */
    ports: string[]
    /** A port without a device. */
    unattached: string
  }
}

export const routes = [{ destination: '192.0.2.0/24', nexthop: '10.50.0.9' }]

export async function createContext(cloud: CloudUnderTest): Promise<{ context: CloudContext; close(): Promise<void> }> {
  const clients = clientsOf(cloud)
  const seeds = await seed(cloud)
  let validToken: string | undefined
  const token = async () => {
    const answer = await logIn(cloud)
    assert.equal(answer.status, 201, answer.text)
    return String(answer.headers['x-subject-token'])
  }
  const context: CloudContext = {
    cloud,
    clients,
    seeds,
    token,
    async ask(service, path, sending = {}) {
      validToken ??= await token()
      return send(`${cloud.urls[service]}${path}`, { token: validToken, ...sending })
    },
  }
  return {
    context,
    async close() {
      await clients.close()
      await cloud.close()
    },
  }
}

export function clientsOf({
  login,
  projectId,
  region,
}: Pick<CloudUnderTest, 'login' | 'projectId' | 'region'>): Clients {
  const http = (service: string) => createHttp({ service, timeoutMs: 60_000, attempts: 1 })
  const https = { keystone: http('keystone'), network: http('neutron'), compute: http('nova') }
  const keystone = createKeystone({ http: https.keystone })
  const session = createSession({
    keystone,
    login: loginOf(login, projectId),
    services: https,
    endpoints: {},
    interface: 'public',
    region,
  })
  return {
    keystone,
    session,
    neutron: createNeutron(session),
    nova: createNova(session),
    async close() {
      await Promise.all(Object.values(https).map(one => one.close()))
    },
  }
}

export interface Account {
  url: string
  user: string
  password: string
  domain: string
}

export function loginOf({ url, user, password, domain }: Account, projectId: string): CloudLogin {
  const identity = { method: 'password', user: { name: user, domain: { name: domain } }, password } as const
  return { url, identity, project: { id: projectId } }
}

export interface Login {
  user?: string
  password?: string
  domain?: { name: string } | { id: string }
  projectId?: string
}

export function logIn({ urls, login, projectId }: CloudUnderTest, other: Login = {}): Promise<ApiResponse> {
  const { user = login.user, password = login.password, domain = { name: login.domain } } = other
  const identity = { methods: ['password'], password: { user: { name: user, password, domain } } }
  const scope = { project: { id: other.projectId ?? projectId } }
  return send(`${urls.keystone}/v3/auth/tokens`, { method: 'POST', body: { auth: { identity, scope } } })
}

async function seed(cloud: CloudUnderTest): Promise<CloudContext['seeds']> {
  const cidr = '10.50.0.0/24'
  const storageNet = await cloud.createNetwork({ name: 'storage-net', mtu: 9000 })
  const storage = {
    networkId: storageNet,
    subnetId: await cloud.createSubnet({ name: 'storage', networkId: storageNet, cidr }),
    sixId: await cloud.createSubnet({ name: 'storage-6', networkId: storageNet, cidr: 'fd50::/64' }),
  }
  const backupNet = await cloud.createNetwork({ name: 'backup-net', mtu: 1450 })
  const backup = {
    networkId: backupNet,
    subnetId: await cloud.createSubnet({ name: 'backup', networkId: backupNet, cidr, gateway: null, routes }),
  }
  const nics = [{ networkId: storage.networkId }, { networkId: backup.networkId }]
  const boot = (name: string) => cloud.bootServer({ name, nics, metadata: { role: name } })
  const vms = await Promise.all([boot('vm-1'), boot('vm-2')])
  const { networkId, subnetId } = storage
  const unattached = await cloud.createPort({ networkId, name: 'unattached', fixedIps: [{ subnetId }] })
  const clients = clientsOf(cloud)
  try {
    // A server may be ACTIVE before its ports are.
    const ports = await eventually(
      async () => {
        const found = await clients.neutron.portsOfServers(vms)
        assert.deepEqual([...new Set(found.map(port => port.status))], ['ACTIVE'])
        return found
      },
      { within: 60_000, every: 100 },
    )
    return { storage, backup, vms, unattached, ports: ports.map(port => port.id) }
  } finally {
    await clients.close()
  }
}

export const unknownId = '21bd2a2d-9b3f-487f-84ec-fc9078c753e2'
