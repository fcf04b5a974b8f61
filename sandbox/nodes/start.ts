/**
 * Starts the nodes of a sandbox, one for each server of the cloud, with their network and their kubelets.
 */
import { readFileSync } from 'node:fs'
import type { KubeClient } from '../../src/kube/client.ts'
import { createInformer } from '../../src/kube/informer.ts'
import { pods } from '../../src/kube/resources.ts'
import { explain, messageOf } from '../../src/runtime/errors.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { primarySubnet } from '../cloud/attach.ts'
import { addPort, type CloudState, findSubnet, portsOf } from '../cloud/state.ts'
import type { Cleanup } from '../lifecycle/cleanup.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { startVirtualMachines } from '../real/virtual-machine.ts'
import { file } from './container.ts'
import { createFabric, type Fabric } from './fabric.ts'
import { type Kubelet, startKubelet } from './kubelet.ts'
import { type Machine, namespaceMachine } from './machine.ts'
import { namespaceHost } from './namespace-host.ts'
import { createNode, type SandboxNode } from './node.ts'
import type { Image } from './pod-worker.ts'

export interface NodesOptions {
  state: StateDir
  cloudState: CloudState
  /** Client of the Biz cluster. */
  kube: KubeClient
  /** Path of the bundled agent. */
  agent: string
  /** Instead of the kubelet of the sandbox. */
  startRealKubelet?: ((node: SandboxNode) => Promise<Kubelet>) | undefined
  simulated?: boolean | undefined
  /** Nodes are virtual machines. */
  vm?: boolean | undefined
  nicDelayMs: number
  cleanup: Cleanup
  log: Log
  progress: (line: string) => void
}

export interface RunningNodes {
  machine: Machine
  fabric: Fabric
  nodes: ReadonlyMap<string, SandboxNode>
  /** Delay until a hot-plugged NIC appears; can be changed. */
  nicDelay: { ms: number }
  podLog(namespace: string, name: string, previous: boolean): string | undefined
  reboot(node: string): Promise<void>
  /** Errors of failed reboots, by node, until a reboot succeeds. */
  failedReboots: ReadonlyMap<string, string>
}

export async function startNodes(options: NodesOptions): Promise<RunningNodes> {
  const { state, cloudState, kube, cleanup, log } = options
  const { machine, image } = await machineFor(options)
  const fabric = await cleanup.track(createFabric(state, machine), created => created.remove())
  const nicDelay = { ms: options.nicDelayMs }
  const nodes = await createNodes(options, fabric, () => nicDelay.ms)
  const kubelets = new Map<string, Kubelet>()
  const failedReboots = new Map<string, string>()
  // Simulated nodes can be many: they share one watch.
  const shared = machine.simulated ? createInformer(kube, pods, { log }) : undefined
  await Promise.all(
    [...nodes.values()].map(async node => {
      cleanup.add(() => node.remove())
      const starting =
        options.startRealKubelet?.(node) ??
        startKubelet({ kube, node, image, dir: state.path('pods', node.name), log, pods: shared })
      kubelets.set(node.name, await cleanup.track(starting, kubelet => kubelet.stop()))
    }),
  )
  const watching = new AbortController()
  cleanup.add(async () => watching.abort())
  await shared?.start(watching.signal)
  cloudState.onPortsChange(
    coalesced(() => {
      for (const node of nodes.values()) node.syncNics().catch(error => log.error('cannot sync NICs', { error }))
    }),
  )
  return {
    machine,
    fabric,
    nodes,
    nicDelay,
    podLog(namespace, name, previous) {
      const files = [...kubelets.values()].map(kubelet => kubelet.logFile(namespace, name, previous))
      const found = files.find(each => each !== undefined)
      return found === undefined ? undefined : readFileSync(found, 'utf8')
    },
    async reboot(name) {
      const kubelet = kubelets.get(name)
      if (!kubelet) throw new Error(`node ${name} not found; the nodes are ${[...nodes.keys()].join(', ')}`)
      try {
        await kubelet.reboot()
        failedReboots.delete(name)
      } catch (error) {
        failedReboots.set(name, messageOf(error))
        throw explain(`${name} is down: reboot failed`, error)
      }
    },
    failedReboots,
  }
}

/** What the nodes run on, and the agent image for it. */
async function machineFor(options: NodesOptions): Promise<{ machine: Machine; image: Image }> {
  const { state, simulated, agent } = options
  if (simulated) {
    const { agentEntrypoint, simulatedMachine } = await import('./simulated/machine.ts')
    return { machine: simulatedMachine(), image: { entrypoint: [agentEntrypoint], mounts: [] } }
  }
  const image = {
    entrypoint: ['/multinic/node', '/multinic/agent.cjs'],
    mounts: [file(process.execPath, '/multinic/node'), file(agent, '/multinic/agent.cjs')],
  }
  return { machine: namespaceMachine(state), image }
}

async function createNodes(
  { state, cloudState, log, vm, cleanup, progress }: NodesOptions,
  fabric: Fabric,
  nicDelayMs: () => number,
): Promise<Map<string, SandboxNode>> {
  for (const { id, cidr, gatewayIp, networkId } of cloudState.subnets.values())
    await fabric.addSubnet({ id, cidr, gatewayIp, mtu: cloudState.networks.get(networkId)?.mtu ?? 1500 })
  const subnet = findSubnet(cloudState, primarySubnet)
  const hostOf = vm ? await startVirtualMachines({ state, fabric, cleanup, progress }) : namespaceHost
  const created = await Promise.all(
    [...cloudState.servers.values()].map(server => {
      // A real Nova has created it with the server.
      const existing = portsOf(cloudState, server).find(port => port.fixedIps[0]?.subnetId === subnet.id)
      const primary = existing ?? addPort(cloudState, { server, subnet })
      return createNode({ state, cloudState, fabric, server, primary, nicDelayMs, log, hostOf })
    }),
  )
  return new Map(created.map(node => [node.name, node]))
}

/** Several calls in the same turn of the event loop run the action once. */
function coalesced(action: () => void): () => void {
  let scheduled = false
  return () => {
    if (scheduled) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      action()
    })
  }
}
