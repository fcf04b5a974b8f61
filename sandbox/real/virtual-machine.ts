/**
 * A node that is a virtual machine: a real kernel with systemd, udev and Netplan. Its NICs are tap devices on the bridges of the
 * fabric, plugged into the running machine as Nova does. Its kubelet stays that of the sandbox.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../src/runtime/errors.ts'
import type { Cleanup } from '../lifecycle/cleanup.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import type { ContainerExit, RunningContainer } from '../nodes/container.ts'
import { bridgeOf, type Fabric, fabricLinkOf } from '../nodes/fabric.ts'
import type { Container, HostNic, HostOptions, NodeHost, ScriptResult } from '../nodes/host.ts'
import { MountFailure } from '../nodes/volumes.ts'
import { type Rig, startRig } from './rig.ts'

export interface MachinesOptions {
  state: StateDir
  fabric: Fabric
  cleanup: Cleanup
  /** Called before and after the first boot of each machine. */
  progress: (line: string) => void
}

/** Starts the rig of virtual machines. Returns what creates one for a node. */
export async function startVirtualMachines(options: MachinesOptions): Promise<(options: HostOptions) => NodeHost> {
  const { state, fabric, cleanup, progress } = options
  const rig = await cleanup.track(startRig('vm', state, fabric.namespace), started => started.stop())
  return host => virtualMachine(rig, host, progress)
}

function virtualMachine(rig: Rig<unknown>, options: HostOptions, progress: (line: string) => void): NodeHost {
  const { server, fabric, primary } = options
  const { name } = server
  let facts = { bootID: '', osImage: '' }
  let containers = 0

  async function start({ dir, spec, env }: Container): Promise<RunningContainer> {
    const [messageFile, logFile] = [join(dir, 'termination-log'), join(dir, 'log')]
    await mkdir(dir, { recursive: true })
    await Promise.all([writeFile(messageFile, ''), writeFile(logFile, '')])
    const id = `container-${++containers}`
    const [container, ...others] = spec.containers
    const values = Object.entries(env).map(([key, value]) => ({ name: key, value }))
    const pod = { ...spec, containers: [{ ...container, env: values }, ...others] }
    const run = async (): Promise<ContainerExit> => {
      const result = await rig.call('runContainer', name, pod, id)
      const { code, output, message } = result as { code: number; output: string; message: string }
      await Promise.all([writeFile(messageFile, message), writeFile(logFile, output)])
      return { exitCode: code }
    }
    return {
      startedAt: new Date(),
      logFile,
      messageFile,
      // The machine was switched off.
      ended: run().catch(async (error): Promise<ContainerExit> => {
        await writeFile(logFile, `${messageOf(error)}\n`)
        return { exitCode: 137, signal: 'SIGKILL' }
      }),
      signal: signal => void rig.call('signal', name, id, signal).catch(() => {}),
    }
  }

  return {
    namespace: fabric.namespace,
    get osImage() {
      return facts.osImage
    },
    get bootID() {
      return facts.bootID
    },
    async boot(nics) {
      const isFirst = facts.bootID === ''
      if (isFirst) progress(`booting the virtual machine ${name} (QEMU emulates it: 30 seconds to some minutes)`)
      const input = { uuid: server.id, primary: deviceOf(primary), nics: nics.map(deviceOf), files: filesOf(options) }
      facts = (await rig.call('boot', name, input)) as typeof facts
      if (isFirst) progress(`${name} is up: ${facts.osImage}`)
    },
    plug: async nic => void (await rig.call('plug', name, deviceOf(nic))),
    unplug: async portId => void (await rig.call('unplug', name, fabricLinkOf(portId))),
    async mounts({ spec }) {
      try {
        await rig.call('checkVolumes', name, spec)
      } catch (error) {
        throw new MountFailure(`MountVolume.SetUp failed: ${messageOf(error)}`)
      }
      return []
    },
    start,
    run: async script => (await rig.call('run', name, script)) as ScriptResult,
    remove: async () => void (await rig.call('remove', name)),
  }
}

/** The device of a NIC in QEMU. Root ports of the machine count from 1; the primary NIC needs none. */
function deviceOf({ portId, subnetId, macAddress, mtu, slot }: HostNic) {
  return { name: fabricLinkOf(portId), macAddress, network: bridgeOf(subnetId), slot: slot - 3, mtu }
}

/** As cloud-init writes them for a subnet without DHCP. */
function filesOf({ server, address, subnet, primary }: HostOptions): Record<string, string> {
  const prefixLength = subnet.cidr.split('/')[1]
  return {
    '/etc/hostname': `${server.name}\n`,
    '/etc/netplan/50-cloud-init.yaml': `network:
  version: 2
  ethernets:
    primary:
      match: {macaddress: "${primary.macAddress}"}
      addresses: [${address}/${prefixLength}]
      routes: [{to: default, via: ${subnet.gatewayIp}}]
`,
  }
}
