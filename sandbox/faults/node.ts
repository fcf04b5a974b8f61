/**
 * The faults of nodes: their disk, their cables, their NICs and the agents that run on them.
 */
import type { KubeClient } from '../../src/kube/client.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { attachedPorts } from '../cloud/attach.ts'
import { type Port, portsOf, type World } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { cableOf, type Fabric } from '../nodes/fabric.ts'
import type { SandboxNode } from '../nodes/node.ts'
import type { Switch, Target } from './active-faults.ts'
import type { NodeFault } from './catalogue.ts'
import { fillDisk, makeReadOnly } from './disk.ts'
import { addIntruder } from './duplicate-address.ts'
import { killAgents } from './kill-agents.ts'
import { pullWhenUp } from './unplug.ts'

export interface NodePlaces {
  state: StateDir
  world: World
  fabric: Fabric
  nodes: ReadonlyMap<string, SandboxNode>
  biz: KubeClient
  /** How long a hot-plugged NIC takes to appear. */
  nicDelay: { ms: number }
  log: Log
}

const lateMs = 20_000

export function nodeSwitches(places: NodePlaces): Record<NodeFault, Switch> {
  const { state, world, fabric, nodes, biz, nicDelay, log } = places
  const chosen = ({ node }: Target) => [...nodes.values()].filter(({ name }) => node === undefined || name === node)

  /** The same for each chosen node; when one cannot have it, none keeps it. */
  const each =
    (begin: (node: SandboxNode) => Promise<() => Promise<void>>): Switch =>
    async target => {
      const ends: (() => Promise<void>)[] = []
      const endAll = async () => {
        for (const end of ends.splice(0)) await end()
      }
      try {
        for (const node of chosen(target)) ends.push(await begin(node))
      } catch (error) {
        await endAll()
        throw error
      }
      return endAll
    }

  /** Told of each port that comes while the fault is there, once its NIC is in the guest. */
  function following(node: SandboxNode, heed: (port: Port) => Promise<void>): () => void {
    let over = false
    const known = new Set(attachedPorts(world, node.server).map(({ id }) => id))
    world.onPorts(() => {
      for (const port of over ? [] : attachedPorts(world, node.server)) {
        if (known.has(port.id)) continue
        known.add(port.id)
        heed(port).catch(error => log.warn('a fault missed a new port', { port: port.id, error }))
      }
    })
    return () => {
      over = true
    }
  }

  const cable = (port: Pick<Port, 'id'>, way: 'up' | 'down') =>
    fabric.machine.ip(fabric.namespace, [`link set ${cableOf(port.id)} ${way}`])

  /** Of processes, disks and messages of a kernel, which a machine in memory does not have. */
  const ofRealNodes = (begin: Switch): Switch =>
    fabric.machine.simulated
      ? () => Promise.reject(new Error('this fault needs real nodes; those of this sandbox are simulated'))
      : begin

  return {
    'killed-agent': ofRealNodes(async target =>
      killAgents(
        biz,
        chosen(target).map(({ name, namespace }) => ({ name, namespace })),
        log,
      ),
    ),
    'full-disk': ofRealNodes(each(node => fillDisk(state, node))),
    'read-only-etc': ofRealNodes(each(makeReadOnly)),
    'late-nics': async () => {
      const usual = nicDelay.ms
      nicDelay.ms = lateMs
      return async () => {
        nicDelay.ms = usual
      }
    },
    'unplugged-nics': ofRealNodes(each(node => pullWhenUp(world, node, log))),
    'no-carrier': each(async node => {
      const down = new Set<string>()
      const take = async (port: Port) => {
        down.add(port.id)
        await node.wire()
        await cable(port, 'down')
      }
      for (const port of attachedPorts(world, node.server)) await take(port)
      const stop = following(node, take)
      return async () => {
        stop()
        for (const id of down) if (world.ports.has(id)) await cable({ id }, 'up')
      }
    }),
    'duplicate-address': each(async node => {
      const intruder = await addIntruder(state, fabric, node)
      const stop = following(node, intruder.take)
      for (const port of attachedPorts(world, node.server)) await intruder.take(port)
      return async () => {
        stop()
        await intruder.remove()
      }
    }),
    'cut-off-node': each(async node => {
      const primary = portsOf(world, node.server).find(port => port.fixedIps[0]?.ipAddress === node.address)
      if (!primary) throw new Error(`${node.name} has no primary port`)
      await cable(primary, 'down')
      return () => cable(primary, 'up')
    }),
  }
}
