/**
 * Real kubelets for the nodes of a sandbox, with containerd and runc. Containers run in the network namespace of the node and
 * see its files. The kubelet itself stays in the network namespace of the API server, which has the addresses of the nodes.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { buildImage } from '../../../scripts/image.ts'
import { currentIsolation } from '../isolation.ts'
import { run, waitForAnswer } from '../process.ts'
import type { ControlPlane } from './control-plane.ts'
import { isReady, type Machine, type NodePrograms, preparePrograms } from './node-programs.ts'

export interface SandboxNodeInfo {
  name: string
  /** System UUID. */
  uuid: string
  bootID: string
  netns: string
  /** Directory with its files. */
  root: string
  address: string
}

/** The methods for the sandbox. A node that is powered off keeps its images and its Pods. */
export function sandboxKubelets(cp: ControlPlane, dir: string) {
  const nodes = new Map<string, NodePrograms>()
  const machines = new Map<string, Machine>()
  let image: Promise<string> | undefined

  async function agentImage(): Promise<string> {
    const archive = join(dir, 'agent.tar')
    await buildImage('agent', archive, { compress: false, tags: ['sandbox'] })
    return archive
  }

  async function prepare({ name, address, root }: SandboxNodeInfo): Promise<NodePrograms> {
    image ??= agentImage()
    const disk = join(dir, `kubelet-${name}`)
    await mkdir(disk, { mode: 0o711 })
    await run('ip', ['address', 'add', `${address}/32`, 'dev', 'lo'])
    // Faults of the disk are mounts below it.
    await run('mount', ['--bind', root, root])
    await run('mount', ['--make-shared', root])
    return preparePrograms(cp, {
      ...{ name, address, disk, root, cgroup: `${currentIsolation()}/${name}`, images: [await image] },
      // They share the loopback device, and their nodes have no DNS server.
      kubelet: { healthzPort: 0, resolvConf: '' },
    })
  }

  async function powerOn({ name, netns, uuid, bootID }: SandboxNodeInfo): Promise<Machine> {
    const programs = nodes.get(name)
    if (!programs) throw new Error(`node ${name} was not added`)
    const machine = await programs.start({ netns, uuid, bootID })
    machines.set(name, machine)
    return machine
  }

  async function powerOff(name: string): Promise<void> {
    await machines.get(name)?.powerOff()
    machines.delete(name)
  }

  return {
    /** Resolves when the node is Ready. */
    async addKubelet(node: SandboxNodeInfo): Promise<void> {
      const { name, bootID } = node
      nodes.set(name, await prepare(node))
      const { kubelet } = await powerOn(node)
      await waitForAnswer(`kubelet of ${name}`, kubelet, () => isReady(cp, name, bootID))
    },
    /** Resolves when the kubelet runs: it may not reach the API server. */
    powerOnKubelet: async (node: SandboxNodeInfo): Promise<void> => void (await powerOn(node)),
    powerOffKubelet: powerOff,
    async removeKubelet({ name, root }: SandboxNodeInfo): Promise<void> {
      await powerOff(name)
      await run('umount', ['--lazy', root])
    },
  }
}
