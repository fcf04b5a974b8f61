/**
 * The cloud of a sandbox with real services: Keystone, Neutron, Nova and RabbitMQ. Contrabass stays simulated. The cloud state
 * mirrors the ports in Neutron, so that nodes get NICs for them no matter who attached them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Log } from '../../src/telemetry/log.ts'
import type { Cloud, CloudAdministrator } from '../cloud/cloud.ts'
import { contrabassInternalError, createContrabass } from '../cloud/contrabass.ts'
import { startHttpServer } from '../cloud/http-server.ts'
import type { CloudState, Port, SubnetInput } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { type RealService, startForwarders } from './forward.ts'
import { type Rig, startRig } from './rig.ts'

interface RigInfo {
  urls: Record<RealService, string>
  region: string
  projectId: string
  user: { name: string; password: string; domain: string }
  bus: NonNullable<CloudState['bus']>
}

export interface CloudLayout {
  subnets: SubnetInput[]
  /** Names; each server gets its primary port in the first subnet. */
  servers: string[]
}

const pollMs = 500
const portTimeoutMs = 30_000

export async function startRealCloud(
  cloudState: CloudState,
  layout: CloudLayout,
  state: StateDir,
  log: Log,
): Promise<Cloud> {
  const rig = await startRig<RigInfo>('openstack', state)
  const life = new AbortController()
  try {
    const { urls, region, projectId, user, bus } = rig.info
    Object.assign(cloudState, { region, bus, user: { ...cloudState.user, ...user } })
    cloudState.project = { id: projectId, name: 'multinic' }
    const administrator: CloudAdministrator = (...request) => rig.call('request', ...request)
    await createResources(rig, cloudState, layout)
    await syncPorts(rig, cloudState)
    const forwarders = await startForwarders(urls, cloudState, log)
    const contrabass = await startHttpServer({
      ...{ service: 'contrabass', cloudState, log, internalError: contrabassInternalError },
      handler: createContrabass(cloudState, () => forwarders.urls.keystone),
    })
    const polling = pollPorts(rig, cloudState, life.signal, log)
    return {
      urls: { ...forwarders.urls, contrabass: contrabass.url },
      calls: () => ({ ...forwarders.calls(), contrabass: contrabass.calls() }),
      async revokeTokens() {
        for (const token of forwarders.takeTokens()) await rig.call('revokeToken', token)
      },
      administrator,
      attacher: {
        async attach(server, subnet) {
          const id = String(await rig.call('attach', server.id, { networkId: subnet.networkId }))
          return waitForPort(cloudState, id)
        },
        detach: async port => {
          await rig.call('detach', port.deviceId, port.id)
        },
      },
      async close() {
        life.abort()
        await polling
        await contrabass.close()
        await forwarders.close()
        await rig.stop()
      },
    }
  } catch (error) {
    life.abort()
    await rig.stop()
    throw error
  }
}

/** Creates the same networks, subnets and servers as in the simulated cloud. */
async function createResources(
  rig: Rig<RigInfo>,
  cloudState: CloudState,
  { subnets, servers }: CloudLayout,
): Promise<void> {
  const projectId = rig.info.projectId
  const created = await Promise.all(
    subnets.map(async ({ name, cidr, mtu }) => {
      const networkId = String(await rig.call('createNetwork', { name: `${name}-net`, mtu }))
      const id = String(await rig.call('createSubnet', { name, networkId, cidr }))
      const shown = z
        .object({ subnet: z.object({ gateway_ip: z.string().nullable() }) })
        .parse(await rig.call('request', 'neutron', 'GET', `/v2.0/subnets/${id}`))
      return { id, name, networkId, projectId, cidr, mtu, gatewayIp: shown.subnet.gateway_ip, hostRoutes: [] }
    }),
  )
  for (const { mtu, ...subnet } of created) {
    cloudState.networks.set(subnet.networkId, { id: subnet.networkId, name: `${subnet.name}-net`, projectId, mtu })
    cloudState.subnets.set(subnet.id, subnet)
  }
  const nics = [{ networkId: created[0]?.networkId }]
  const ids = await Promise.all(servers.map(async name => String(await rig.call('bootServer', { name, nics }))))
  for (const [index, name] of servers.entries()) {
    const id = ids[index] ?? ''
    cloudState.servers.set(id, {
      id,
      name,
      projectId,
      status: 'ACTIVE',
      metadata: {},
      tags: [],
      createdAt: cloudState.now(),
    })
  }
}

const portList = z.object({
  ports: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      network_id: z.string(),
      project_id: z.string(),
      mac_address: z.string(),
      status: z.string(),
      device_id: z.string(),
      device_owner: z.string(),
      fixed_ips: z.array(z.object({ subnet_id: z.string(), ip_address: z.string() })),
      created_at: z.string(),
      updated_at: z.string(),
      revision_number: z.int(),
    }),
  ),
})

/** Copies the ports of Neutron into the cloud state, and notifies listeners when ports were added or removed. */
async function syncPorts(rig: Rig<RigInfo>, cloudState: CloudState): Promise<void> {
  const { ports } = portList.parse(
    await rig.call('request', 'neutron', 'GET', `/v2.0/ports?project_id=${rig.info.projectId}`),
  )
  const before = [...cloudState.ports.keys()].sort().join()
  const now = new Map(
    ports
      // Skip ports of Neutron itself and those that are not bound to a server yet.
      .filter(port => cloudState.servers.has(port.device_id) && port.device_owner.startsWith('compute:'))
      .map((port): [string, Port] => [port.id, portOf(port)]),
  )
  cloudState.ports.clear()
  for (const [id, port] of now) cloudState.ports.set(id, port)
  if ([...now.keys()].sort().join() !== before) cloudState.emitPortsChange()
}

function portOf(port: z.infer<typeof portList>['ports'][number]): Port {
  return {
    id: port.id,
    name: port.name,
    networkId: port.network_id,
    projectId: port.project_id,
    macAddress: port.mac_address,
    status: port.status === 'ACTIVE' || port.status === 'BUILD' ? port.status : 'DOWN',
    deviceId: port.device_id,
    deviceOwner: port.device_owner,
    fixedIps: port.fixed_ips.map(ip => ({ subnetId: ip.subnet_id, ipAddress: ip.ip_address })),
    createdAt: new Date(port.created_at),
    updatedAt: new Date(port.updated_at),
    revision: port.revision_number,
  }
}

async function pollPorts(rig: Rig<RigInfo>, cloudState: CloudState, signal: AbortSignal, log: Log): Promise<void> {
  while (!signal.aborted) {
    await sleep(pollMs, undefined, { signal }).catch(() => {})
    if (!signal.aborted) await syncPorts(rig, cloudState).catch(error => log.warn('cannot list ports', { error }))
  }
}

async function waitForPort(cloudState: CloudState, id: string): Promise<Port> {
  const until = performance.now() + portTimeoutMs
  for (;;) {
    const port = cloudState.ports.get(id)
    if (port) return port
    if (performance.now() > until) throw new Error(`port ${id}: attached by Nova, but Neutron does not list it`)
    await sleep(50)
  }
}
