/**
 * The cloud of a sandbox on real parts: Keystone, Neutron, Nova and RabbitMQ. Contrabass stays ours, and the world becomes a
 * picture of what Neutron holds, so that the nodes are wired after the real ports, whoever attached them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Log } from '../../src/telemetry/log.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { contrabassBroken, createContrabass } from '../cloud/contrabass.ts'
import { serve } from '../cloud/http-server.ts'
import type { Port, Service, SubnetInput, World } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { type Rig, startRig } from './rig.ts'

interface Told {
  urls: Omit<Record<Service, string>, 'contrabass'>
  region: string
  projectId: string
  user: { name: string; password: string; domain: string }
  bus: NonNullable<World['bus']>
}

export interface Wanted {
  subnets: SubnetInput[]
  /** Names; each gets its first port in the first subnet. */
  servers: string[]
}

const lookMs = 500
const arrivesWithinMs = 30_000

export async function openRealCloud(world: World, wanted: Wanted, state: StateDir, log: Log): Promise<Cloud> {
  const rig = await startRig<Told>('openstack', state)
  const life = new AbortController()
  try {
    const { urls, region, projectId, user, bus } = rig.told
    Object.assign(world, { region, bus, user: { ...world.user, ...user } })
    world.project = { id: projectId, name: 'multinic' }
    await build(rig, world, wanted)
    await look(rig, world)
    const contrabass = await serve({
      ...{ service: 'contrabass', world, log, broken: contrabassBroken },
      handler: createContrabass(world, () => urls.keystone),
    })
    const follows = follow(rig, world, life.signal, log)
    return {
      urls: { ...urls, contrabass: contrabass.url },
      calls: () => {
        throw new Error('the services of a real cloud do not count their calls')
      },
      revokeTokens: () => {
        throw new Error('the tokens of a real cloud are revoked in its Keystone')
      },
      hands: {
        async attach(server, subnet) {
          const id = String(await rig.call('attach', server.id, { networkId: subnet.networkId }))
          return arrived(world, id)
        },
        detach: async port => {
          await rig.call('detach', port.deviceId, port.id)
        },
      },
      async close() {
        life.abort()
        await follows
        await contrabass.close()
        await rig.stop()
      },
    }
  } catch (error) {
    life.abort()
    await rig.stop()
    throw error
  }
}

/** Networks, subnets and servers, as the simulated cloud has them. */
async function build(rig: Rig<Told>, world: World, { subnets, servers }: Wanted): Promise<void> {
  const projectId = rig.told.projectId
  const made = await Promise.all(
    subnets.map(async ({ name, cidr, mtu }) => {
      const networkId = String(await rig.call('createNetwork', { name: `${name}-net`, mtu }))
      const id = String(await rig.call('createSubnet', { name, networkId, cidr }))
      const shown = z
        .object({ subnet: z.object({ gateway_ip: z.string().nullable() }) })
        .parse(await rig.call('neutron', `/v2.0/subnets/${id}`))
      return { id, name, networkId, projectId, cidr, mtu, gatewayIp: shown.subnet.gateway_ip, hostRoutes: [] }
    }),
  )
  for (const { mtu, ...subnet } of made) {
    world.networks.set(subnet.networkId, { id: subnet.networkId, name: `${subnet.name}-net`, projectId, mtu })
    world.subnets.set(subnet.id, subnet)
  }
  const nics = [{ networkId: made[0]?.networkId }]
  const ids = await Promise.all(servers.map(async name => String(await rig.call('bootServer', { name, nics }))))
  for (const [index, name] of servers.entries()) {
    const id = ids[index] ?? ''
    world.servers.set(id, { id, name, projectId, status: 'ACTIVE', metadata: {}, createdAt: world.now() })
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

/** Takes over what Neutron says; whoever is to be told is told when ports have come or gone. */
async function look(rig: Rig<Told>, world: World): Promise<void> {
  const { ports } = portList.parse(await rig.call('neutron', `/v2.0/ports?project_id=${rig.told.projectId}`))
  const before = [...world.ports.keys()].sort().join()
  const now = new Map(
    ports
      // Neutron's own, and those that a server is still being given, are nobody's NIC.
      .filter(port => world.servers.has(port.device_id) && port.device_owner.startsWith('compute:'))
      .map((port): [string, Port] => [port.id, portOf(port)]),
  )
  world.ports.clear()
  for (const [id, port] of now) world.ports.set(id, port)
  if ([...now.keys()].sort().join() !== before) world.portsChanged()
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

async function follow(rig: Rig<Told>, world: World, signal: AbortSignal, log: Log): Promise<void> {
  while (!signal.aborted) {
    await sleep(lookMs, undefined, { signal }).catch(() => {})
    if (!signal.aborted) await look(rig, world).catch(error => log.warn('the ports could not be looked at', { error }))
  }
}

async function arrived(world: World, id: string): Promise<Port> {
  const until = performance.now() + arrivesWithinMs
  for (;;) {
    const port = world.ports.get(id)
    if (port) return port
    if (performance.now() > until) throw new Error(`Neutron does not show port ${id}, which Nova has attached`)
    await sleep(50)
  }
}
