/**
 * A node: a network namespace with a primary NIC, more NICs that follow the ports of its VM, and a root directory. A reboot
 * creates a new boot id and unconfigured NICs, and applies only the files of the node.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../src/telemetry/log.ts'
import { type CloudState, type Port, portsOf, type Server, setPortStatus } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { boot } from './boot.ts'
import type { ContainerOptions, RunningContainer } from './container.ts'
import type { Fabric } from './fabric.ts'

/** A container without the options that the node adds. */
export type Container = Omit<ContainerOptions, 'namespace' | 'hostname' | 'marker'>

export interface SandboxNode {
  readonly name: string
  readonly server: Server
  readonly namespace: string
  /** The directory that is / of the node. */
  readonly root: string
  readonly address: string
  readonly bootID: string
  readonly osImage: string
  /** Path on this machine of a path on the node. */
  hostPath(path: string): string
  start(container: Container): Promise<RunningContainer>
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
}

const primaryName = 'ens3'

export async function createNode(options: NodeOptions): Promise<SandboxNode> {
  const { state, cloudState, fabric, server, primary } = options
  const { machine } = fabric
  const log = options.log.with({ node: server.name })
  const namespace = `${state.prefix}${server.name}`
  const root = state.path('nodes', server.name)
  const primaryIp = primary.fixedIps[0]
  const subnet = primaryIp && cloudState.subnets.get(primaryIp.subnetId)
  if (!primaryIp || !subnet) throw new Error(`${server.name}: the primary port has no address`)
  const address = primaryIp.ipAddress
  const prefixLength = subnet.cidr.split('/')[1]
  /** PCI slot of the NIC of each port: determines its kernel name. */
  const slots = new Map<string, number>()
  const unplugged = new Set<string>()
  let bootID = randomUUID()
  let queue: Promise<void> = Promise.resolve()

  async function powerOn(): Promise<void> {
    await machine.addNamespace(namespace)
    await plug(primary, primaryName)
    await machine.ip(namespace, [
      `link set ${primaryName} up`,
      `addr add ${address}/${prefixLength} dev ${primaryName}`,
      `route add default via ${subnet?.gatewayIp} dev ${primaryName} proto dhcp src ${address} metric 100`,
    ])
    await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), `${bootID}\n`)
  }

  async function plug(port: Port, name: string): Promise<void> {
    const mtu = cloudState.networks.get(port.networkId)?.mtu ?? 1500
    const subnetId = port.fixedIps[0]?.subnetId ?? ''
    await fabric.plug(namespace, { portId: port.id, subnetId, macAddress: port.macAddress, mtu, name })
    setPortStatus(cloudState, port.id, 'ACTIVE')
    log.debug('NIC plugged', { name, macAddress: port.macAddress })
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
      if (!unplugged.delete(id)) await fabric.unplug(id)
      log.debug('NIC unplugged', { port: id })
    }
    const added = attached.filter(port => !slots.has(port.id))
    if (added.length === 0) return
    await waitForHotPlug()
    for (const port of added) {
      if (!cloudState.ports.has(port.id)) continue
      const slot = freeSlot(slots)
      slots.set(port.id, slot)
      await plug(port, `ens${slot}`)
    }
  }

  async function unplugNow(id: string): Promise<void> {
    if (!slots.has(id) || unplugged.has(id)) return
    unplugged.add(id)
    await fabric.unplug(id)
  }

  async function replugNow(): Promise<void> {
    for (const id of unplugged) {
      unplugged.delete(id)
      const [slot, port] = [slots.get(id), cloudState.ports.get(id)]
      if (slot !== undefined && port) await plug(port, `ens${slot}`)
    }
  }

  async function rebootNow(): Promise<void> {
    for (const id of [...slots.keys(), primary.id]) if (!unplugged.has(id)) await fabric.unplug(id)
    await machine.removeNamespace(namespace)
    bootID = randomUUID()
    await powerOn()
    for (const [id, slot] of slots) {
      const port = cloudState.ports.get(id)
      if (port && !unplugged.has(id)) await plug(port, `ens${slot}`)
      else if (!port) slots.delete(id)
    }
    await boot({ machine, namespace, root, log })
  }

  /** One task at a time; a failure does not stop the next one. */
  function enqueue(task: () => Promise<void>): Promise<void> {
    const done = queue.then(task)
    queue = done.catch(error => log.error('cannot change node', { error }))
    return done
  }

  /** Boots from the saved root directory of an earlier run. */
  async function bootFromDisk(): Promise<void> {
    for (const port of portsOf(cloudState, server).filter(({ id }) => id !== primary.id)) {
      const slot = freeSlot(slots)
      slots.set(port.id, slot)
      await plug(port, `ens${slot}`)
    }
    await boot({ machine, namespace, root, log })
  }

  const hasDisk = existsSync(root)
  if (!hasDisk) await makeRoot(root, server, primary.macAddress)
  await powerOn()
  if (hasDisk) await bootFromDisk()

  return {
    name: server.name,
    server,
    namespace,
    root,
    address,
    osImage,
    get bootID() {
      return bootID
    },
    hostPath: path => machine.hostPath(root, path),
    start: container => machine.start({ ...container, namespace, hostname: server.name }),
    syncNics: () => enqueue(syncNow),
    unplugNic: portId => enqueue(() => unplugNow(portId)),
    replugNics: () => enqueue(replugNow),
    reboot: () => enqueue(rebootNow),
    remove: () => enqueue(() => machine.removeNamespace(namespace)),
  }
}

function freeSlot(slots: Map<string, number>): number {
  const used = new Set(slots.values())
  let slot = 4
  while (used.has(slot)) slot++
  return slot
}

const osImage = 'Ubuntu 22.04.5 LTS'

const osRelease = `PRETTY_NAME="${osImage}"
NAME="Ubuntu"
VERSION_ID="22.04"
ID=ubuntu
ID_LIKE=debian
`

/** Configures the primary NIC; the agent must not touch it. */
const cloudInit = (macAddress: string) => `network:
  version: 2
  ethernets:
    ${primaryName}:
      match:
        macaddress: "${macAddress}"
      dhcp4: true
      set-name: ${primaryName}
`

async function makeRoot(root: string, server: Server, macAddress: string): Promise<void> {
  const directories = [
    ...['etc/netplan', 'etc/systemd/network', 'etc/sysctl.d', 'etc/udev/rules.d', 'var/lib', 'run'],
    ...['sys/class/dmi/id', 'proc/sys/kernel/random', 'proc/sys/net/ipv4/conf', 'proc/sys/net/ipv6/conf'],
  ]
  for (const directory of directories) await mkdir(join(root, directory), { recursive: true })
  await writeFile(join(root, 'etc/os-release'), osRelease)
  await writeFile(join(root, 'etc/hostname'), `${server.name}\n`)
  await writeFile(join(root, 'etc/netplan/50-cloud-init.yaml'), cloudInit(macAddress), { mode: 0o600 })
  await writeFile(join(root, 'sys/class/dmi/id/product_uuid'), `${server.id}\n`, { mode: 0o400 })
}
