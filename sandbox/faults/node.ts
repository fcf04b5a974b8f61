/**
 * Faults of nodes: their disk, their links, their NICs and the agents that run on them.
 */
import type { KubeClient } from '../../src/kube/client.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { attachedPorts } from '../cloud/attach.ts'
import { type CloudState, type Port, portsOf } from '../cloud/state.ts'
import type { HostKind } from '../control/status.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { type Fabric, fabricLinkOf } from '../nodes/fabric.ts'
import type { SandboxNode } from '../nodes/node.ts'
import type { FaultInjector, FaultTarget } from './active-faults.ts'
import type { NodeFaultName } from './catalogue.ts'
import { fillDisk, makeReadOnly } from './disk.ts'
import { addDuplicateHost } from './duplicate-address.ts'
import { killAgents } from './kill-agents.ts'
import { unplugWhenUp } from './unplug.ts'

export interface NodeFaultContext {
  state: StateDir
  cloudState: CloudState
  fabric: Fabric
  nodes: ReadonlyMap<string, SandboxNode>
  biz: KubeClient
  /** Delay until a hot-plugged NIC appears. */
  nicDelay: { ms: number }
  host: HostKind
  log: Log
}

const lateMs = 20_000

export function nodeInjectors(context: NodeFaultContext): Record<NodeFaultName, FaultInjector> {
  const { state, cloudState, fabric, nodes, biz, nicDelay, host, log } = context
  const targets = ({ node }: FaultTarget) =>
    [...nodes.values()].filter(({ name }) => node === undefined || name === node)

  /** Starts the fault on each target node; if one fails, stops it on all. */
  const onEachNode =
    (start: (node: SandboxNode) => Promise<() => Promise<void>>): FaultInjector =>
    async target => {
      const stops: (() => Promise<void>)[] = []
      const stopAll = async () => {
        for (const stop of stops.splice(0)) await stop()
      }
      try {
        for (const node of targets(target)) stops.push(await start(node))
      } catch (error) {
        await stopAll()
        throw error
      }
      return stopAll
    }

  /**
   * Calls back for each port attached while the fault is active. The returned function resolves when no call is running: one
   * that ends later would undo the recovery.
   */
  function onNewPort(node: SandboxNode, affect: (port: Port) => Promise<void>): () => Promise<void> {
    let stopped = false
    const running: Promise<void>[] = []
    const known = new Set(attachedPorts(cloudState, node.server).map(({ id }) => id))
    cloudState.onPortsChange(() => {
      for (const port of stopped ? [] : attachedPorts(cloudState, node.server)) {
        if (known.has(port.id)) continue
        known.add(port.id)
        running.push(affect(port).catch(error => log.warn('fault does not affect new port', { port: port.id, error })))
      }
    })
    return async () => {
      stopped = true
      await Promise.all(running)
    }
  }

  const setCarrier = (port: Pick<Port, 'id'>, state: 'up' | 'down') =>
    fabric.machine.ip(fabric.namespace, [`link set ${fabricLinkOf(port.id)} ${state}`])

  const notOn = (kind: HostKind, injector: FaultInjector): FaultInjector =>
    host === kind ? () => Promise.reject(new Error(`this fault is not available; the nodes are ${kind}`)) : injector
  /** For faults that need processes, mounts or netlink events of the nodes in the kernel of this machine. */
  const inNamespaces = (injector: FaultInjector) => notOn('simulated', notOn('virtual machines', injector))

  return {
    'killed-agent': inNamespaces(async target =>
      killAgents(
        biz,
        targets(target).map(({ name, namespace }) => ({ name, namespace })),
        log,
      ),
    ),
    'full-disk': inNamespaces(onEachNode(node => fillDisk(state, node))),
    'read-only-etc': inNamespaces(onEachNode(node => makeReadOnly(state, node))),
    'late-nics': async () => {
      const usual = nicDelay.ms
      nicDelay.ms = lateMs
      return async () => {
        nicDelay.ms = usual
      }
    },
    'unplugged-nics': inNamespaces(onEachNode(node => unplugWhenUp(cloudState, node, log))),
    // A guest does not see that its tap device is down.
    'no-carrier': notOn(
      'virtual machines',
      onEachNode(async node => {
        const down = new Set<string>()
        const takeDown = async (port: Port) => {
          down.add(port.id)
          await node.syncNics()
          await setCarrier(port, 'down')
        }
        for (const port of attachedPorts(cloudState, node.server)) await takeDown(port)
        const stop = onNewPort(node, takeDown)
        return async () => {
          await stop()
          for (const id of down) if (cloudState.ports.has(id)) await setCarrier({ id }, 'up')
        }
      }),
    ),
    'duplicate-address': onEachNode(async node => {
      const duplicate = await addDuplicateHost(state, fabric, node)
      const stop = onNewPort(node, duplicate.addAddresses)
      for (const port of attachedPorts(cloudState, node.server)) await duplicate.addAddresses(port)
      return async () => {
        await stop()
        await duplicate.remove()
      }
    }),
    'cut-off-node': onEachNode(async node => {
      const primary = portsOf(cloudState, node.server).find(port => port.fixedIps[0]?.ipAddress === node.address)
      if (!primary) throw new Error(`${node.name} has no primary port`)
      await setCarrier(primary, 'down')
      return () => setCarrier(primary, 'up')
    }),
  }
}
