/**
 * A real node in this isolation: kubelet, containerd and runc in their own namespaces, like a VM with a given name, system
 * UUID, boot ID and MAC addresses. eth0 is connected to the bridge of the control plane. The peers of eth1, eth2 … are p1, p2
 * … in a second namespace ("fabric"), where a test can set them down.
 */
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { removeCgroup } from '../cgroup.ts'
import { type RunOptions, type RunResult, run, waitForAnswer } from '../process.ts'
import { bridge, type ControlPlane } from './control-plane.ts'
import { isReady, type Machine, preparePrograms } from './node-programs.ts'
import { clusterDns, listRules, type PodNetwork, pointToPoint } from './pod-network.ts'

export interface NodeOptions {
  name: string
  /** System UUID. */
  uuid: string
  macs: readonly string[]
  /** OCI archives. */
  images?: readonly string[]
  bootID?: string
  /** The directory of the CNI plugins, and the configuration. Without it, Pods have no network of their own. */
  cni?: { plugins: string; config: object }
  /** Gives Pods an address of their own and the names and addresses of Services. */
  network?: PodNetwork
  /** Taints that the node registers itself with. */
  taints?: readonly object[]
}

export interface RigNode {
  name: string
  address: string
  bootID(): string
  /** The names of its network namespace, and of the namespace with the peers of its NICs. */
  netns: string
  fabric: string
  /** Runs a command in the VM as root. */
  exec(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>
  /** Powers the VM off without shutdown. Its peers get no packet any more, and no error. */
  powerOff(): Promise<void>
  /** Powers it on with a new boot ID: the disk stays, the kernel state does not. Calls back before any program of it runs. */
  powerOn(hasNics?: () => Promise<unknown>): Promise<void>
  powerCycle(): Promise<void>
  close(): Promise<void>
}

export async function startNode(cp: ControlPlane, options: NodeOptions): Promise<RigNode> {
  const { name, macs, network } = options
  const address = cp.nextAddress()
  const podCidr = network?.nextCidr()
  const disk = await mkdtemp(join(cp.dir, `node-${name}-`))
  // The directory contains secrets of Pods: other users must not list it, but programs of the VM run as any user.
  await chmod(disk, 0o711)
  const cgroup = `${cp.isolation}/${name}`
  const netns = `mn-${name}`
  const fabric = `mn-${name}-fab`
  const port = `mn${address.split('.').at(-1)}`
  const pods = podCidr && { cniVersion: '0.3.1', name: 'pods', plugins: [pointToPoint(podCidr)] }
  const cni = network && pods ? { plugins: network.plugins, config: pods } : options.cni
  const { taints } = options
  const programs = await preparePrograms(cp, {
    ...{ name, address, disk, cgroup, images: options.images ?? [], ...(cni && { cni }) },
    kubelet: { ...(taints && { registerWithTaints: taints }), ...(network && clusterDns) },
  })

  const boot = async (bootID: string, hasNics?: () => Promise<unknown>): Promise<Machine> => {
    await plug({ netns, fabric, port, address, macs })
    await hasNics?.()
    if (podCidr) await run('ip', ['route', 'replace', podCidr, 'via', address])
    else await redirectServiceAddress(netns, cp.server)
    const machine = await programs.start({ netns, bootID, uuid: options.uuid })
    await waitForAnswer(`kubelet of ${name}`, machine.kubelet, () => isReady(cp, name, bootID))
    if (network) {
      const proxy = machine.run('kube-proxy', await network.proxyCommand(name))
      await waitForAnswer(`kube-proxy of ${name}`, proxy, () =>
        run('ip', ['netns', 'exec', netns, 'nft', ...listRules]),
      )
    }
    return machine
  }

  let machine: Machine | undefined
  const powerOff = async (): Promise<void> => {
    // The network first: the kernel would close the connections of the killed processes, and their peers would notice.
    await run('ip', ['link', 'delete', port], { check: false })
    await machine?.powerOff()
    for (const namespace of [netns, fabric]) await run('ip', ['netns', 'delete', namespace], { check: false })
    await removeCgroup(cgroup)
    machine = undefined
  }

  const close = async () => {
    await powerOff()
    await rm(disk, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    machine = await boot(options.bootID ?? randomUUID())
  } catch (error) {
    await close()
    throw error
  }
  const powerOn: RigNode['powerOn'] = async hasNics => {
    machine = await boot(randomUUID(), hasNics)
  }
  const running = (): Machine => {
    if (!machine) throw new Error(`${name} is powered off`)
    return machine
  }
  return {
    name,
    address,
    netns,
    fabric,
    bootID: () => running().bootID,
    exec: (command, args, more) => running().exec(command, args, more),
    powerOff,
    powerOn,
    powerCycle: async () => {
      await powerOff()
      await powerOn()
    },
    close,
  }
}

interface PlugOptions {
  netns: string
  fabric: string
  /** Name of the port at the bridge. */
  port: string
  address: string
  macs: readonly string[]
}

async function plug({ netns, fabric, port, address, macs }: PlugOptions): Promise<void> {
  const last = Number(address.split('.').at(-1)).toString(16).padStart(2, '0')
  for (const namespace of [netns, fabric]) {
    await run('ip', ['netns', 'add', namespace])
    await run('ip', ['-n', namespace, 'link', 'set', 'lo', 'up'])
  }
  const macAddress = `fa:16:3e:88:00:${last}`
  const primary = ['name', 'eth0', 'address', macAddress, 'netns', netns]
  await run('ip', ['link', 'add', port, 'type', 'veth', 'peer', ...primary])
  await run('ip', ['link', 'set', port, 'master', bridge.name, 'up'])
  // OpenStack answers ARP also for a VM that is off. Otherwise connections to it would fail at once.
  await run('ip', ['neighbour', 'replace', address, 'lladdr', macAddress, 'nud', 'permanent', 'dev', bridge.name])
  await run('ip', ['-n', netns, 'address', 'add', `${address}/${bridge.prefix}`, 'dev', 'eth0'])
  await run('ip', ['-n', netns, 'link', 'set', 'eth0', 'up'])
  await run('ip', ['-n', netns, 'route', 'add', 'default', 'via', bridge.address])
  for (const [index, macAddress] of macs.entries()) {
    const peer = ['name', `eth${index + 1}`, 'address', macAddress, 'netns', netns]
    await run('ip', ['-n', fabric, 'link', 'add', `p${index + 1}`, 'type', 'veth', 'peer', ...peer])
    await run('ip', ['-n', fabric, 'link', 'set', `p${index + 1}`, 'up'])
  }
}

/** Without kube-proxy, redirects the service address of the API server to the real one. */
async function redirectServiceAddress(netns: string, server: string): Promise<void> {
  const target = server.replace('https://', '')
  const rule = `type nat hook output priority -100; ip daddr 10.0.0.1 tcp dport 443 dnat to ${target}`
  await run('nsenter', [`--net=/run/netns/${netns}`, 'nft', '-f', '-'], {
    input: `table ip kubernetes {\nchain output {\n${rule}\n}\n}\n`,
  })
}
