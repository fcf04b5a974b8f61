/**
 * What happens to a judged operator: changes of the cloud, of objects and of nodes, faults, restarts and kills, and how long
 * each lasts. Drawn from the seed and from what the judge itself did, never from what the operator did.
 */
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  noFaults,
  type Port,
  removePort,
  removeServer,
  type Server,
  type Service,
  type Subnet,
  services,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { type NodeConfigStatus, nodeConfigs } from '../../src/contract/node-config.ts'
import {
  type OpenstackConfig,
  openstackConfigAnnotations,
  openstackConfigs,
} from '../../src/contract/openstack-config.ts'
import { isNotFound } from '../../src/kube/errors.ts'
import { nodes, secrets } from '../../src/kube/resources.ts'
import { readyNode } from '../support/controller-scale.ts'
import { indexesOf } from '../support/random.ts'
import { clusterIds, clusterNamespaces, type World } from './world.ts'

export interface Player {
  /** Creates the first objects. */
  begin(): Promise<void>
  /** Plays the next operation, and returns its description. */
  play(): Promise<string>
}

const serverNames = ['worker-1', 'worker-2', 'worker-3', 'worker-4', 'worker-5'] as const
const configNames = ['main', 'selected'] as const
const namespace = clusterNamespaces[0]
const maxPortsPerServer = 4
const settings = { pollFastInterval: '1s', pollSlowInterval: '4s', pollErrorInterval: '1s', pollFastWindow: '10s' }

export function createPlayer(world: World, seed: number): Player {
  const { cloudState, cloud, kube, recorder } = world
  const random = indexesOf(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T
  const chance = (probability: number) => random() < probability
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
  const ignoringMissing = async (work: Promise<unknown>) => {
    try {
      await work
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
  const patch = (name: string, change: object) =>
    ignoringMissing(kube.patch(openstackConfigs, { namespace, name }, change))
  const annotate = async (name: string, annotation: string, value: string) => {
    await patch(name, { metadata: { annotations: { [annotation]: value } } })
    return `${name} ${value}`
  }

  async function create(name: (typeof configNames)[number]): Promise<void> {
    const selected = subnets().slice(0, 2)
    const base = openstackConfigFor(cloudState, {
      ...{ name, vmNames: [], subnetIDs: selected.map(({ id }) => id), clusterId: clusterIds[name === 'main' ? 0 : 1] },
    })
    const { subnetIDs: _, vmNames: __, ...spec } = base.spec
    const chosen: Partial<OpenstackConfig['spec']> =
      name === 'main'
        ? {
            subnetIDs: selected.map(({ id }) => id),
            vmNames: servers()
              .slice(0, 3)
              .map(({ id }) => id),
          }
        : {
            subnets: subnets()
              .slice(1)
              .map(({ id }, index) => ({ id, index: 4 + index, alias: `net-${index}` })),
            vmSelector: { namePattern: 'worker-*', tags: ['multinic'] },
          }
    const config = { ...base, spec: { ...spec, ...chosen, settings: { ...spec.settings, ...settings } } }
    await kube.create(openstackConfigs, config).catch(() => 'exists already')
  }

  /** As the controller would. */
  async function report(state: NonNullable<NodeConfigStatus['state']>): Promise<string> {
    for (const at of clusterNamespaces)
      for (const { metadata, spec } of (await kube.list(nodeConfigs, { namespace: at })).items) {
        const lastChecked = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
        const reason = state === 'Failed' ? 'ApplyFailed' : state === 'Configured' ? 'Configured' : 'Applying'
        const interfaceStatuses = spec.interfaces.map(({ id, name, portId, macAddress }) => ({
          ...({ id, name, portId, macAddress, status: state, reason, message: '', lastChecked } as object),
        }))
        await kube.patchStatus(
          nodeConfigs,
          { namespace: at, name: metadata.name },
          {
            ...{ observedGeneration: metadata.generation, observedSpecHash: spec.specHash, state, interfaceStatuses },
            nics: `${state === 'Configured' ? spec.interfaces.length : 0}/${spec.interfaces.length}`,
          },
        )
      }
    return state
  }

  async function setKey(key: string): Promise<string> {
    const data = { CONTRABASS_ENCRYPT_KEY: Buffer.from(key).toString('base64') }
    await kube.patch(secrets, { namespace, name: 'contrabass-encrypt-key' }, { data })
    return key
  }

  const operations: Record<string, [weight: number, act: () => unknown]> = {
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
    'edit an object': [
      4,
      async () => {
        const change = pick<object>([
          {
            vmNames: servers()
              .slice(0, 1 + below(4))
              .map(({ id }) => id),
          },
          { vmNames: [pick(serverNames), pick(serverNames)] },
          {
            subnetIDs: subnets()
              .slice(0, 1 + below(3))
              .map(({ id }) => id),
          },
          { deletionPolicy: pick(['Delete', 'Retain']) },
          { settings: { openstackPortAllowedStatuses: pick([['ACTIVE'], ['ACTIVE', 'DOWN'], ['*']]) } },
          { settings: { violaTimeout: pick(['1s', '30s', 'soon']) } },
        ])
        await patch('main', { spec: change }).catch(() => 'refused')
        return JSON.stringify(change)
      },
    ],
    'delete or create an object': [
      2,
      async () => {
        const name = pick(configNames)
        if (chance(0.4)) await ignoringMissing(kube.delete(openstackConfigs, { namespace, name }))
        else await create(name)
        return name
      },
    ],
    'approve removals': [
      5,
      () => annotate(pick(configNames), openstackConfigAnnotations.releaseRemovals, `release-${++ids}`),
    ],
    'force a sync': [2, () => annotate(pick(configNames), openstackConfigAnnotations.forceReconcile, `force-${++ids}`)],
    renumber: [
      2,
      () => {
        const moves = ports()
          .slice(0, 2)
          .flatMap(({ id: portId, deviceId }) => {
            const nodeName = cloudState.servers.get(deviceId)?.name
            return nodeName ? [{ nodeName, portId, to: `multinic${below(10)}` }] : []
          })
        return annotate('main', openstackConfigAnnotations.renumber, JSON.stringify({ requestedAt: `${++ids}`, moves }))
      },
    ],
    'report Configured': [10, () => report('Configured')],
    'report a failure': [2, () => report('Failed')],
    'report progress': [2, () => report('InProgress')],
    'edit or delete a node config by hand': [
      2,
      async () => {
        const [at, name] = [pick(clusterNamespaces), pick(serverNames)]
        if (chance(0.5)) await ignoringMissing(kube.delete(nodeConfigs, { namespace: at, name }))
        else await ignoringMissing(kube.patch(nodeConfigs, { namespace: at, name }, { spec: { interfaces: [] } }))
        return `${at}/${name}`
      },
    ],
    'change the key of Contrabass': [
      1,
      () => setKey(chance(0.4) ? 'wrong-key-012345' : cloudState.provider.encryptKey),
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
    'the message bus breaks': [2, world.breakBus],
    'a service fails': [
      8,
      () => {
        const service = pick(['kubernetes', 'viola', 'inventory'])
        const fault = pick(['down', 'unavailable', 'forbidden', 'conflict', 'lost'] as const)
        recorder.faults.set(service, fault)
        return `${service} ${fault}`
      },
    ],
    'streams end': [
      2,
      () => {
        const service = pick(['kubernetes', 'viola'])
        recorder.cutStreams(service)
        return service
      },
    ],
    restart: [
      2,
      async () => {
        await world.stop()
        const ms = chance(0.2) ? 660_000 : 100
        await world.pass(ms)
        await world.start()
        return `after ${ms} ms`
      },
    ],
    kill: [
      3,
      () => {
        const write = pick([
          /^viola POST/,
          /^viola DELETE/,
          /^kubernetes PATCH .*\/status/,
          /^kubernetes POST/,
          /^inventory/,
        ])
        const trigger = { write, when: pick(['before', 'after'] as const) }
        recorder.trigger = { ...trigger, fire: world.kill }
        return `${trigger.when} ${write}`
      },
    ],
    wait: [4, () => {}],
  }
  const total = Object.values(operations).reduce((sum, [weight]) => sum + weight, 0)

  function draw(): [string, () => unknown] {
    let at = random() * total
    for (const [name, [weight, act]] of Object.entries(operations)) {
      at -= weight
      if (at < 0) return [name, act]
    }
    return ['wait', () => {}]
  }

  function endFaults(): void {
    Object.assign(cloudState.faults, noFaults)
    recorder.faults.clear()
  }

  return {
    async begin() {
      for (const name of ['storage', 'backup', 'other']) newSubnet(name)
      for (const name of serverNames.slice(0, 4)) {
        const server = newServer(name)
        await kube.create(nodes, readyNode(name, server.id))
        attach(server, pick(subnets()))
      }
      await world.start()
      for (const name of configNames) await create(name)
      await world.pass(5_000)
    },
    async play() {
      if (chance(0.4)) endFaults()
      const [name, act] = draw()
      const detail = await act()
      const ms = chance(0.02) ? 20_000 : chance(0.001) ? 660_000 : 200 + below(2_800)
      await world.pass(ms)
      recorder.trigger = undefined
      if (!world.isRunning()) await world.start()
      else if (name === 'kill') {
        world.kill()
        await world.start()
      }
      await world.pass(1_000)
      return `${name}${typeof detail === 'string' ? `: ${detail}` : ''}, then ${ms} ms`
    },
  }
}
