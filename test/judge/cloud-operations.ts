/**
 * Operations in the cloud of a judged operator: changes of ports, servers and subnets, and faults of the services.
 */
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  type Port,
  removePort,
  removeServer,
  type Server,
  type Service,
  type Subnet,
  services,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import type { Draws, Operations } from './draws.ts'
import type { JudgedOperator } from './judged-operator.ts'

export const serverNames = ['worker-1', 'worker-2', 'worker-3', 'worker-4', 'worker-5'] as const
const maxPortsPerServer = 4

export function createCloudOperations(judged: JudgedOperator, { below, pick, chance }: Draws, seed: number) {
  const { cloudState, cloud } = judged
  let [ids, hosts] = [0, 10]
  /** Not random: the numbers of a run are the same whatever the operator does. */
  const newId = () =>
    `${(++ids).toString(16).padStart(8, '0')}-0000-4000-8000-${(seed * 65_536 + ids).toString(16).padStart(12, '0')}`

  function identified<T extends { id: string }>(all: Map<string, T>, one: T): T {
    all.delete(one.id)
    Object.assign(one, { id: newId() })
    all.set(one.id, one)
    return one
  }

  function newSubnet(name: string): Subnet {
    const subnet = addSubnet(cloudState, { name, cidr: `10.${cloudState.subnets.size}.0.0/24`, mtu: 1500 })
    const network = cloudState.networks.get(subnet.networkId)
    if (network) subnet.networkId = identified(cloudState.networks, network).id
    return identified(cloudState.subnets, subnet)
  }

  function newServer(name: string): Server {
    const server = identified(cloudState.servers, addServer(cloudState, name))
    if (chance(0.5)) server.tags = ['multinic']
    return server
  }

  const newAddress = ({ cidr, id: subnetId }: Subnet) => {
    hosts = hosts >= 250 ? 10 : hosts + 1
    return { subnetId, ipAddress: cidr.replace('0/24', String(hosts)) }
  }

  function attach(server: Server, subnet: Subnet): Port {
    const macAddress = `fa:16:3e:${[16, 8, 0].map(shift => (((ids + 1) >> shift) & 255).toString(16).padStart(2, '0')).join(':')}`
    const port = identified(cloudState.ports, addPort(cloudState, { server, subnet, macAddress }))
    Object.assign(port, { fixedIps: [newAddress(subnet)], status: chance(0.8) ? 'ACTIVE' : 'DOWN' })
    cloudState.emitPortsChange()
    return port
  }

  const servers = () => [...cloudState.servers.values()]
  const subnets = () => [...cloudState.subnets.values()]
  const ports = () => [...cloudState.ports.values()].filter(({ deviceId }) => deviceId !== '')
  const changed = (port: Port, more: Partial<Port>) => {
    Object.assign(port, more, { revision: port.revision + 1, updatedAt: cloudState.now() })
    cloudState.emitPortsChange()
    return port.id
  }
  const withPort = (act: (port: Port) => string) => {
    const all = ports()
    return all.length === 0 ? 'no port' : act(pick(all))
  }

  const operations: Operations = {
    'attach a port': [
      14,
      () => {
        const free = servers().filter(
          ({ id }) => ports().filter(port => port.deviceId === id).length < maxPortsPerServer,
        )
        return free.length === 0 ? 'all servers are full' : attach(pick(free), pick(subnets())).id
      },
    ],
    'detach a port': [
      5,
      () =>
        withPort(port => {
          if (chance(0.5)) return changed(port, { deviceId: '', deviceOwner: '' })
          removePort(cloudState, port.id)
          return port.id
        }),
    ],
    'move a port': [3, () => withPort(port => changed(port, { deviceId: pick(servers()).id }))],
    'change the status of a port': [
      4,
      () =>
        withPort(({ id }) => {
          setPortStatus(cloudState, id, pick(['ACTIVE', 'DOWN', 'BUILD']))
          return id
        }),
    ],
    'change the address of a port': [
      3,
      () => withPort(port => changed(port, { fixedIps: [newAddress(pick(subnets()))] })),
    ],
    'add an address': [
      2,
      () => withPort(port => changed(port, { fixedIps: [...port.fixedIps, newAddress(pick(subnets()))].slice(0, 4) })),
    ],
    'add an address pair': [
      2,
      () => withPort(port => changed(port, { allowedAddressPairs: [`10.9.${below(9)}.0/24`] })),
    ],
    'change a subnet': [
      3,
      () => {
        const subnet = pick(subnets())
        const network = cloudState.networks.get(subnet.networkId)
        if (chance(0.3)) subnet.gatewayIp = pick([null, subnet.cidr.replace('0/24', '1')])
        else if (chance(0.5))
          subnet.hostRoutes = [{ destination: `192.168.${below(9)}.0/24`, nexthop: subnet.cidr.replace('0/24', '2') }]
        else if (network) network.mtu = pick([1400, 1500, 9000])
        cloudState.emitPortsChange()
        return subnet.name
      },
    ],
    'change a server': [
      2,
      () => {
        const server = pick(servers())
        if (chance(0.4)) server.name = pick(serverNames)
        else if (chance(0.5)) server.tags = server.tags.length > 0 ? [] : ['multinic']
        else server.status = pick(['ACTIVE', 'SHUTOFF', 'ERROR'])
        cloudState.emitPortsChange()
        return `${server.id} ${server.name}`
      },
    ],
    'replace a server': [
      1,
      () => {
        const { id, name } = pick(servers())
        removeServer(cloudState, id)
        const { id: next } = newServer(name)
        cloudState.emitPortsChange()
        return `${id} by ${next}`
      },
    ],
    'the cloud answers badly': [
      8,
      () => {
        const kind = pick([
          'failing',
          'unauthorized',
          'throttled',
          'garbled',
          'truncated',
          'empty',
          'slow',
          'silent',
        ] as const)
        const service: Service = pick(services)
        cloudState.faults[kind] = [service]
        return `${service} ${kind}`
      },
    ],
    'the cloud is set up badly': [
      2,
      () => {
        const change = pick<Partial<CloudState['faults']>>([
          { roleLost: true },
          { pageLimit: 2 },
          { clockAheadSeconds: 600 },
        ])
        Object.assign(cloudState.faults, change)
        return JSON.stringify(change)
      },
    ],
    'tokens are revoked': [1, async () => cloud.revokeTokens()],
    'notifications get lost': [
      3,
      () => {
        const fault = pick(['lost', 'duplicated', 'reordered'] as const)
        cloudState.faults.notifications = [fault]
        return fault
      },
    ],
    'the message bus breaks': [2, judged.breakBus],
  }
  return { operations, servers, subnets, ports, newId, newSubnet, newServer, attach }
}
