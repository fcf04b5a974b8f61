/**
 * A node: a host with a primary NIC, more NICs that follow the ports of its VM, and containers.
 */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PodObject } from '../../src/kube/types.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { type CloudState, type Port, portsOf, type Server, setPortStatus } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import type { Mount, RunningContainer } from './container.ts'
import type { Fabric } from './fabric.ts'
import type { Container, HostNic, HostOptions, NodeHost } from './host.ts'
import { namespaceHost } from './namespace-host.ts'

export interface SandboxNode {
  readonly name: string
  readonly server: Server
  /** Network namespace of its programs. */
  readonly namespace: string
  /** Directory with its files. */
  readonly root: string
  readonly address: string
  readonly bootID: string
  readonly osImage: string
  /** Mounts of the first container of a Pod; a MountFailure if the node lacks a hostPath. */
  mounts(pod: Pick<PodObject, 'spec'>): Promise<Mount[]>
  start(container: Container): Promise<RunningContainer>
  /** Runs a shell script on the node; only virtual machines have it. */
  run: NodeHost['run']
  /** Plugs and unplugs NICs until they match the ports of the VM. */
  syncNics(): Promise<void>
  /** Removes the NIC of a port although the port stays attached. */
  unplugNic(portId: string): Promise<void>
  /** Plugs all such NICs again, unconfigured. */
  replugNics(): Promise<void>
  /** Kills all processes of the node and boots it again. */
  reboot(): Promise<void>
  remove(): Promise<void>
}

export interface NodeOptions {
  state: StateDir
  cloudState: CloudState
  fabric: Fabric
  server: Server
  /** Port of the primary NIC. */
  primary: Port
  /** Delay until a hot-plugged NIC appears. */
  nicDelayMs: () => number
  log: Log
  /** What the node runs on. Default: a network namespace of the fabric's machine. */
  hostOf?: (options: HostOptions) => NodeHost
}

const primarySlot = 3

export async function createNode(options: NodeOptions): Promise<SandboxNode> {
  const { state, cloudState, fabric, server, primary, hostOf = namespaceHost } = options
  const log = options.log.with({ node: server.name })
  const root = state.path('nodes', server.name)
  const primaryIp = primary.fixedIps[0]
  const subnet = primaryIp && cloudState.subnets.get(primaryIp.subnetId)
  if (!primaryIp || !subnet) throw new Error(`${server.name}: the primary port has no address`)
  const address = primaryIp.ipAddress
  /** PCI slot of the NIC of each port: determines its kernel name. */
  const slots = new Map<string, number>()
  const unplugged = new Set<string>()
  let queue: Promise<void> = Promise.resolve()
  const host = hostOf({ state, fabric, server, root, address, subnet, primary: nicOf(primary, primarySlot), log })

  function nicOf(port: Port, slot: number): HostNic {
    const mtu = cloudState.networks.get(port.networkId)?.mtu ?? 1500
    return { portId: port.id, subnetId: port.fixedIps[0]?.subnetId ?? '', macAddress: port.macAddress, mtu, slot }
  }

  async function plug(port: Port, slot: number): Promise<void> {
    await host.plug(nicOf(port, slot))
    setPortStatus(cloudState, port.id, 'ACTIVE')
    log.debug('NIC plugged', { slot, macAddress: port.macAddress })
  }

  /** Boots with the NICs of all ports except the unplugged ones. */
  async function boot(): Promise<void> {
    for (const id of slots.keys()) if (!cloudState.ports.has(id)) slots.delete(id)
    const nics = [...slots].flatMap(([id, slot]) => {
      const port = cloudState.ports.get(id)
      return port && !unplugged.has(id) ? [nicOf(port, slot)] : []
    })
    await host.boot(nics)
    for (const { portId } of [{ portId: primary.id }, ...nics]) setPortStatus(cloudState, portId, 'ACTIVE')
  }

  /** Polls, because a fault may change the delay meanwhile. */
  async function waitForHotPlug(): Promise<void> {
    const since = performance.now()
    const left = () => options.nicDelayMs() - (performance.now() - since)
    while (left() > 0) await sleep(Math.min(left(), 100))
  }

  async function syncNow(): Promise<void> {
    const attached = portsOf(cloudState, server).filter(port => port.id !== primary.id)
    for (const id of slots.keys()) {
      if (attached.some(port => port.id === id)) continue
      slots.delete(id)
      if (!unplugged.delete(id)) await host.unplug(id)
      log.debug('NIC unplugged', { port: id })
    }
    const added = attached.filter(port => !slots.has(port.id))
    if (added.length === 0) return
    await waitForHotPlug()
    for (const port of added) {
      if (!cloudState.ports.has(port.id)) continue
      const slot = freeSlot(slots)
      slots.set(port.id, slot)
      await plug(port, slot)
    }
  }

  async function unplugNow(id: string): Promise<void> {
    if (!slots.has(id) || unplugged.has(id)) return
    unplugged.add(id)
    await host.unplug(id)
  }

  async function replugNow(): Promise<void> {
    for (const id of unplugged) {
      unplugged.delete(id)
      const [slot, port] = [slots.get(id), cloudState.ports.get(id)]
      if (slot !== undefined && port) await plug(port, slot)
    }
  }

  /** One task at a time; a failure does not stop the next one. */
  function enqueue(task: () => Promise<void>): Promise<void> {
    const done = queue.then(task)
    queue = done.catch(error => log.error('cannot change node', { error }))
    return done
  }

  // The files of an earlier run configure the NICs of all ports.
  if (existsSync(root))
    for (const port of portsOf(cloudState, server).filter(({ id }) => id !== primary.id))
      slots.set(port.id, freeSlot(slots))
  await boot()

  return {
    name: server.name,
    server,
    namespace: host.namespace,
    root,
    address,
    get osImage() {
      return host.osImage
    },
    get bootID() {
      return host.bootID
    },
    mounts: host.mounts,
    start: host.start,
    run: host.run,
    syncNics: () => enqueue(syncNow),
    unplugNic: portId => enqueue(() => unplugNow(portId)),
    replugNics: () => enqueue(replugNow),
    reboot: () => enqueue(boot),
    remove: () => enqueue(host.remove),
  }
}

function freeSlot(slots: Map<string, number>): number {
  const used = new Set(slots.values())
  let slot = primarySlot + 1
  while (used.has(slot)) slot++
  return slot
}
