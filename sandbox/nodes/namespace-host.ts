/**
 * A node in a network namespace, with a directory for its files. A boot creates a new boot id and unconfigured NICs, and applies
 * only the files of the node.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Server } from '../cloud/state.ts'
import { boot } from './boot.ts'
import type { RunningContainer } from './container.ts'
import type { Container, HostNic, HostOptions, NodeHost } from './host.ts'
import { mountsOf } from './volumes.ts'

const primaryName = 'ens3'

export function namespaceHost({ state, fabric, server, root, address, subnet, primary, log }: HostOptions): NodeHost {
  const { machine } = fabric
  // The name of the VM may change; that of the node does not.
  const hostname = server.name
  const namespace = `${state.prefix}${hostname}`
  const prefixLength = subnet.cidr.split('/')[1]
  const plugged = new Set<string>()
  /** Containers of this boot, also those that are starting. */
  const containers = new Set<Promise<RunningContainer>>()
  let bootID = ''

  async function plug({ slot, ...nic }: HostNic): Promise<void> {
    await fabric.plug(namespace, { ...nic, name: `ens${slot}` })
    plugged.add(nic.portId)
  }

  async function unplug(portId: string): Promise<void> {
    plugged.delete(portId)
    await fabric.unplug(portId)
  }

  function start(container: Container): Promise<RunningContainer> {
    const started = machine.start({
      ...container,
      ...{ namespace, hostname, sysClass: join(root, 'sys/class') },
    })
    containers.add(started)
    const forget = () => containers.delete(started)
    started.then(({ ended }) => ended).then(forget, forget)
    return started
  }

  /** A container that was starting may have entered the old namespace after its processes were killed. */
  async function powerOff(): Promise<void> {
    for (const portId of plugged) await unplug(portId)
    await machine.removeNamespace(namespace)
    const started = await Promise.allSettled(containers)
    for (const result of started) if (result.status === 'fulfilled') result.value.signal('SIGKILL')
    await Promise.allSettled(started.map(result => result.status === 'fulfilled' && result.value.ended))
  }

  async function powerOn(): Promise<void> {
    await machine.addNamespace(namespace)
    await plug(primary)
    await machine.ip(namespace, [
      `link set ${primaryName} up`,
      `addr add ${address}/${prefixLength} dev ${primaryName}`,
      `route add default via ${subnet.gatewayIp} dev ${primaryName} proto dhcp src ${address} metric 100`,
    ])
    bootID = randomUUID()
    await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), `${bootID}\n`)
  }

  return {
    namespace,
    osImage,
    get bootID() {
      return bootID
    },
    async boot(nics) {
      const hasFiles = existsSync(root)
      if (!hasFiles) await makeRoot(root, server, primary.macAddress)
      await powerOff()
      await powerOn()
      for (const nic of nics) await plug(nic)
      if (hasFiles) await boot({ machine, namespace, root, log })
    },
    plug,
    unplug,
    mounts: pod => mountsOf(pod, path => machine.hostPath(root, path)),
    start,
    remove: () => machine.removeNamespace(namespace),
  }
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
    ...['etc/netplan', 'etc/multinic', 'etc/systemd/network', 'etc/systemd/system'],
    ...['etc/sysctl.d', 'etc/udev/rules.d', 'var/lib', 'run'],
    ...[
      'sys/class/dmi/id',
      'sys/class/net',
      'proc/sys/kernel/random',
      'proc/sys/net/ipv4/conf',
      'proc/sys/net/ipv6/conf',
    ],
  ]
  for (const directory of directories) await mkdir(join(root, directory), { recursive: true })
  await writeFile(join(root, 'etc/os-release'), osRelease)
  await writeFile(join(root, 'etc/hostname'), `${server.name}\n`)
  await writeFile(join(root, 'etc/netplan/50-cloud-init.yaml'), cloudInit(macAddress), { mode: 0o600 })
  await writeFile(join(root, 'sys/class/dmi/id/product_uuid'), `${server.id}\n`, { mode: 0o400 })
}
