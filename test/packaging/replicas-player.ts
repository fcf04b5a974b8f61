/**
 * Attaches and detaches ports in turn on all nodes, one change after the other, and remembers when each NIC was ready.
 */
import assert from 'node:assert/strict'
import { addPort, type Port, removePort, setPortStatus } from '../../sandbox/cloud/state.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { eventually } from '../support/eventually.ts'
import { biz, type Machine, type Replicated } from './replicas.fixture.ts'

const within = 240_000
/** A node with this many NICs loses one in its next turn. */
const maxAttached = 3

export interface Nic {
  machine: Machine
  port: Port
  address: string
  attached: boolean
}

export interface Change {
  nic: Nic
  startedAt: number
  endedAt: number
}

export interface Player {
  /** All NICs, also detached ones. */
  nics: readonly Nic[]
  changes: readonly Change[]
  /** Leaves this node out from its next turn on. */
  avoid(machine: Machine | undefined): void
  /** Attaches or detaches a port of a node, and does not wait for the NIC. */
  begin(machine: Machine): Nic
  /** All NICs of the node are as their ports request. */
  assertConfigured(machine: Machine): Promise<void>
  /** Waits for a change that starts after this call, and returns it. */
  nextChange(): Promise<Change>
  /** Finishes the current change, and throws what went wrong. */
  stop(): Promise<void>
}

export function startPlayer({ kube, cloudState, subnet, machines }: Replicated): Player {
  const nics: Nic[] = []
  const changes: Change[] = []
  let avoided: Machine | undefined
  let stopped = false
  let failure: unknown

  /** Every port has an address of its own, by which the kernel's events name it. */
  function attach(machine: Machine): Nic {
    const macAddress = machine.macs.shift() ?? assert.fail('no free NIC')
    const address = subnet.cidr.replace('.0/24', `.${nics.length + 10}`)
    const port = addPort(cloudState, { server: machine.server, subnet, macAddress, address })
    setPortStatus(cloudState, port.id, 'ACTIVE')
    const nic = { machine, port, address, attached: true }
    nics.push(nic)
    return nic
  }

  function detach(nic: Nic): Nic {
    removePort(cloudState, nic.port.id)
    nic.machine.macs.push(nic.port.macAddress)
    nic.attached = false
    return nic
  }

  function begin(machine: Machine): Nic {
    const [oldest, ...others] = attachedTo(nics, machine)
    return oldest && others.length + 1 >= maxAttached ? detach(oldest) : attach(machine)
  }

  async function assertConfigured(machine: Machine): Promise<void> {
    const config = await kube.get(nodeConfigs, { namespace: biz, name: machine.server.name })
    const { state, observedGeneration } = config?.status ?? {}
    const mine = attachedTo(nics, machine)
    const requested = (config?.spec.interfaces ?? []).map(nic => nic.portId).sort()
    assert.deepEqual(requested, mine.map(({ port }) => port.id).sort())
    assert.deepEqual(
      { state, observedGeneration },
      { state: 'Configured', observedGeneration: config?.metadata.generation },
    )
    assert.deepEqual(await addressesOf(machine), mine.map(({ address }) => address).sort())
  }

  const loop = (async () => {
    for (let turn = 0; !stopped; turn += 1) {
      const machine = machines[turn % machines.length] ?? assert.fail('no machines')
      if (machine === avoided) continue
      const startedAt = performance.now()
      const nic = begin(machine)
      await eventually(() => assertConfigured(machine), { within, every: 200 })
      changes.push({ nic, startedAt, endedAt: performance.now() })
    }
  })().catch(error => {
    failure = error
  })

  return {
    nics,
    changes,
    avoid: machine => {
      avoided = machine
    },
    begin,
    assertConfigured,
    async nextChange() {
      const from = performance.now()
      const find = () => {
        if (failure) throw failure
        return changes.find(({ startedAt }) => startedAt >= from) ?? assert.fail('no change yet')
      }
      return eventually(find, { within })
    },
    async stop() {
      stopped = true
      await loop
      if (failure) throw failure
    },
  }
}

function attachedTo(nics: readonly Nic[], machine: Machine): Nic[] {
  return nics.filter(nic => nic.machine === machine && nic.attached)
}

/** The addresses that the node has on our NICs. */
async function addressesOf({ node }: Machine): Promise<string[]> {
  const { stdout } = await node.exec('ip', ['-json', '-4', 'address', 'show', 'up'])
  const links = JSON.parse(stdout) as { ifname: string; addr_info: { local: string }[] }[]
  return links
    .filter(({ ifname }) => ifname.startsWith('multinic'))
    .flatMap(link => link.addr_info.map(({ local }) => local))
    .sort()
}
