/**
 * A node: a network namespace with a primary NIC, further NICs that come and go with the ports of its VM, and a root directory
 * of its own. A reboot gives it a new boot id and bare NICs, and applies only what is in its own files.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../src/telemetry/log.ts'
import { type Port, portsOf, type Server, setPortStatus, type World } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { boot } from './boot.ts'
import type { ContainerOptions, RunningContainer } from './container.ts'
import type { Fabric } from './fabric.ts'

/** What a Pod asks for; where it runs is the node's. */
export type Container = Omit<ContainerOptions, 'namespace' | 'hostname' | 'mark'>

export interface SandboxNode {
  readonly name: string
  readonly server: Server
  readonly namespace: string
  /** What stands for / of the node. */
  readonly root: string
  readonly address: string
  readonly bootId: string
  readonly osImage: string
  /** Where a path of the node is on this machine. */
  hostPath(path: string): string
  start(container: Container): Promise<RunningContainer>
  /** Makes the NICs equal to the ports of the VM. Resolves when they are. */
  wire(): Promise<void>
  /** Takes a port's NIC out of the guest although the port stays attached. */
  pull(portId: string): Promise<void>
  /** Puts all such NICs back, bare as hot-plugged ones. */
  putBack(): Promise<void>
  /** Everything in the namespace ends, a new boot begins. */
  reboot(): Promise<void>
  remove(): Promise<void>
}

export interface NodeOptions {
  state: StateDir
  world: World
  fabric: Fabric
  server: Server
  /** The port of the NIC that the node is reached by. */
  primary: Port
  /** How long a hot-plugged NIC takes to appear. */
  nicDelayMs: () => number
  log: Log
}

const primaryName = 'ens3'

export async function createNode(options: NodeOptions): Promise<SandboxNode> {
  const { state, world, fabric, server, primary } = options
  const { machine } = fabric
  const log = options.log.with({ node: server.name })
  const namespace = `${state.prefix}${server.name}`
  const root = state.path('nodes', server.name)
  const primaryIp = primary.fixedIps[0]
  const subnet = primaryIp && world.subnets.get(primaryIp.subnetId)
  if (!primaryIp || !subnet) throw new Error(`the primary port of ${server.name} has no address`)
  const address = primaryIp.ipAddress
  const prefixLength = subnet.cidr.split('/')[1]
  /** Which slot a port's NIC is in: a slot gives it its kernel name. */
  const slots = new Map<string, number>()
  const pulled = new Set<string>()
  let bootId = randomUUID()
  let work: Promise<void> = Promise.resolve()

  async function powerOn(): Promise<void> {
    await machine.addNamespace(namespace)
    await plug(primary, primaryName)
    await machine.ip(namespace, [
      `link set ${primaryName} up`,
      `addr add ${address}/${prefixLength} dev ${primaryName}`,
      `route add default via ${subnet?.gatewayIp} dev ${primaryName} proto dhcp src ${address} metric 100`,
    ])
    await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), `${bootId}\n`)
  }

  async function plug(port: Port, name: string): Promise<void> {
    const mtu = world.networks.get(port.networkId)?.mtu ?? 1500
    const subnetId = port.fixedIps[0]?.subnetId ?? ''
    await fabric.plug(namespace, { portId: port.id, subnetId, mac: port.macAddress, mtu, name })
    setPortStatus(world, port.id, 'ACTIVE')
    log.debug('a NIC appeared', { name, mac: port.macAddress })
  }

  /** Looks again now and then: how long it takes may change meanwhile. */
  async function hotPlugged(): Promise<void> {
    const since = performance.now()
    const left = () => options.nicDelayMs() - (performance.now() - since)
    while (left() > 0) await sleep(Math.min(left(), 100))
  }

  async function wireNow(): Promise<void> {
    const wanted = portsOf(world, server).filter(port => port.id !== primary.id)
    for (const id of slots.keys()) {
      if (wanted.some(port => port.id === id)) continue
      slots.delete(id)
      if (!pulled.delete(id)) await fabric.unplug(id)
      log.debug('a NIC went away', { port: id })
    }
    const fresh = wanted.filter(port => !slots.has(port.id))
    if (fresh.length === 0) return
    await hotPlugged()
    for (const port of fresh) {
      if (!world.ports.has(port.id)) continue
      const slot = freeSlot(slots)
      slots.set(port.id, slot)
      await plug(port, `ens${slot}`)
    }
  }

  async function pullNow(id: string): Promise<void> {
    if (!slots.has(id) || pulled.has(id)) return
    pulled.add(id)
    await fabric.unplug(id)
  }

  async function putBackNow(): Promise<void> {
    for (const id of pulled) {
      pulled.delete(id)
      const [slot, port] = [slots.get(id), world.ports.get(id)]
      if (slot !== undefined && port) await plug(port, `ens${slot}`)
    }
  }

  async function rebootNow(): Promise<void> {
    for (const id of [...slots.keys(), primary.id]) if (!pulled.has(id)) await fabric.unplug(id)
    await machine.removeNamespace(namespace)
    bootId = randomUUID()
    await powerOn()
    for (const [id, slot] of slots) {
      const port = world.ports.get(id)
      if (port && !pulled.has(id)) await plug(port, `ens${slot}`)
      else if (!port) slots.delete(id)
    }
    await boot({ machine, namespace, root, log })
  }

  /** One thing at a time; a failure of one does not stop the next. */
  function inTurn(task: () => Promise<void>): Promise<void> {
    const done = work.then(task)
    work = done.catch(error => log.error('the node could not be changed', { error }))
    return done
  }

  /** Its disk is from an earlier life: it boots from it. */
  async function bootAgain(): Promise<void> {
    for (const port of portsOf(world, server).filter(({ id }) => id !== primary.id)) {
      const slot = freeSlot(slots)
      slots.set(port.id, slot)
      await plug(port, `ens${slot}`)
    }
    await boot({ machine, namespace, root, log })
  }

  const isKept = existsSync(root)
  if (!isKept) await makeRoot(root, server, primary.macAddress)
  await powerOn()
  if (isKept) await bootAgain()

  return {
    name: server.name,
    server,
    namespace,
    root,
    address,
    osImage,
    get bootId() {
      return bootId
    },
    hostPath: path => machine.hostPath(root, path),
    start: container => machine.start({ ...container, namespace, hostname: server.name }),
    wire: () => inTurn(wireNow),
    pull: portId => inTurn(() => pullNow(portId)),
    putBack: () => inTurn(putBackNow),
    reboot: () => inTurn(rebootNow),
    remove: () => inTurn(() => machine.removeNamespace(namespace)),
  }
}

function freeSlot(slots: Map<string, number>): number {
  const taken = new Set(slots.values())
  let slot = 4
  while (taken.has(slot)) slot++
  return slot
}

const osImage = 'Ubuntu 22.04.5 LTS'

const osRelease = `PRETTY_NAME="${osImage}"
NAME="Ubuntu"
VERSION_ID="22.04"
ID=ubuntu
ID_LIKE=debian
`

/** Not ours and never to be touched: how the primary NIC came to be. */
const cloudInit = (mac: string) => `network:
  version: 2
  ethernets:
    ${primaryName}:
      match:
        macaddress: "${mac}"
      dhcp4: true
      set-name: ${primaryName}
`

async function makeRoot(root: string, server: Server, primaryMac: string): Promise<void> {
  const directories = [
    ...['etc/netplan', 'etc/systemd/network', 'etc/sysctl.d', 'var/lib', 'run'],
    ...['sys/class/dmi/id', 'proc/sys/kernel/random', 'proc/sys/net/ipv4/conf', 'proc/sys/net/ipv6/conf'],
  ]
  for (const directory of directories) await mkdir(join(root, directory), { recursive: true })
  await writeFile(join(root, 'etc/os-release'), osRelease)
  await writeFile(join(root, 'etc/hostname'), `${server.name}\n`)
  await writeFile(join(root, 'etc/netplan/50-cloud-init.yaml'), cloudInit(primaryMac), { mode: 0o600 })
  await writeFile(join(root, 'sys/class/dmi/id/product_uuid'), `${server.id}\n`, { mode: 0o400 })
}
