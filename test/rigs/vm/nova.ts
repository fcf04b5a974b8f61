/**
 * A guest that Nova boots from images in Glance, in a cloud with a hypervisor. Its NICs are ports of Neutron.
 */
import { mkdtempSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { virsh } from '../openstack/hypervisor.ts'
import type { OpenStack } from '../openstack/rig.ts'
import { run } from '../process.ts'
import { buildPayload, runAgent } from './container.ts'
import { guestAgent } from './guest-agent.ts'
import type { GuestKind } from './kinds.ts'
import { imageFacts, kernelCommandLine, type Shell, shellOf, writeToDisk } from './machine.ts'
import { type Guest, nodeObject, primaryAddress, primaryMacAddress, primaryRouter } from './rig.ts'
import { waitForBoot } from './state.ts'

export interface NovaGuest extends Shell, Pick<Guest, 'agent'> {
  /** ID of the server in Nova, and UUID of the machine. */
  id: string
}

const bootWithin = 15 * 60_000
const payloadFile = '/payload.ext4'
const flavor = { name: 'guest', id: 'guest', vcpus: 1, ram: 768, disk: 0 }

/** As cloud-init writes it for a subnet without DHCP. */
const primaryFile = `network:
  version: 2
  ethernets:
    primary:
      match: {macaddress: "${primaryMacAddress}"}
      addresses: [${primaryAddress}/24]
      routes: [{to: default, via: ${primaryRouter}}]
`

export async function bootNovaGuest(cloud: OpenStack, kind: GuestKind): Promise<NovaGuest> {
  const built = (await run(join(import.meta.dirname, 'image.sh'), [kind])).stdout.trim()
  const image = await uploadImage(cloud, built)
  await cloud.api.call('nova', 'POST', '/v2.1/flavors', { flavor })
  const networkId = await cloud.createNetwork({ name: 'primary', mtu: 1500 })
  const subnetId = await cloud.createSubnet({ name: 'primary', networkId, cidr: '10.0.2.0/24', gateway: primaryRouter })
  const fixedIps = [{ subnetId, address: primaryAddress }]
  const portId = await cloud.createPort({ networkId, fixedIps, macAddress: primaryMacAddress })
  const id = await cloud.bootServer({ name: 'node-1', image, flavor: flavor.id, nics: [{ portId }] })
  const agent = guestAgent(async (execute, args) => {
    const command = JSON.stringify({ execute, arguments: args })
    return JSON.parse(await virsh('qemu-agent-command', '--timeout', '300', id, command)).return
  })
  const shell = shellOf(() => agent)
  await eventually(() => shell.exec('true'), { within: bootWithin, every: 1_000 })
  await waitForBoot(shell)
  await shell.exec(`mount -o loop,ro ${payloadFile} /payload`)
  const node = nodeObject(imageFacts(built).manager, id)
  return {
    ...shell,
    id,
    agent: (action, interfaces, settings = {}) => runAgent(shell, { node, action, interfaces, settings }),
  }
}

/** The router of a network: an address on the bridge of Nova and Neutron, which exists from the first port on. */
export async function addRouter(networkId: string, address: string): Promise<void> {
  await run('ip', ['address', 'add', address, 'dev', `brq${networkId.slice(0, 11)}`])
}

/** Nova has no second disk for the agent's image, so that is a file on the first. */
async function uploadImage({ api }: OpenStack, built: string): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'nova-guest-'))
  const [disk, compact] = [join(dir, 'root.ext4'), join(dir, 'root.qcow2')]
  await run('cp', ['--sparse=always', '--reflink=auto', join(built, 'root.ext4'), disk])
  await writeToDisk(disk, { '/etc/netplan/50-cloud-init.yaml': primaryFile })
  const payload = await buildPayload(dir, imageFacts(built).arch)
  await run('debugfs', ['-w', '-R', `write ${payload} ${payloadFile}`, disk])
  await run('qemu-img', ['convert', '-O', 'qcow2', disk, compact])
  const upload = async (name: string, file: string, properties: Record<string, string>): Promise<string> => {
    const { id } = await api.call('glance', 'POST', '/v2/images', { name, ...properties })
    await api.call('glance', 'PUT', `/v2/images/${id}/file`, await readFile(file))
    return id
  }
  const format = (name: string) => ({ disk_format: name, container_format: name })
  const id = await upload('root', compact, {
    disk_format: 'qcow2',
    container_format: 'bare',
    kernel_id: await upload('kernel', join(built, 'vmlinuz'), format('aki')),
    ramdisk_id: await upload('initrd', join(built, 'initrd.img'), format('ari')),
    os_command_line: kernelCommandLine(built),
    hw_qemu_guest_agent: 'yes',
    hw_video_model: 'none',
  })
  await rm(dir, { recursive: true })
  return id
}
