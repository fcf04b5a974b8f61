/**
 * Waits until objects, kernel and inventory have the state that the model and the cloud request.
 */
import assert from 'node:assert/strict'
import { findSubnet } from '../../sandbox/cloud/state.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { NodeConfig } from '../../src/contract/node-config.ts'
import { eventually } from '../support/eventually.ts'
import type { NodeState, TestSandbox } from '../system/sandbox.fixture.ts'
import { type Model, type ModelPort, requestedPorts } from './model.ts'
import { actAsAdministrator } from './steps.ts'

/** Time limit to reach the requested state after the end of all faults. */
const convergenceMs = 240_000

export async function waitForRequestedState(system: TestSandbox, model: Model): Promise<void> {
  const { sandbox } = system
  const done = new AbortController()
  const administrator = actAsAdministrator(sandbox, model, done.signal)
  try {
    await eventually(
      async () => {
        const status = await sandbox.status()
        assert.ok(status.ready, `the system is not ready: ${JSON.stringify(status.nodes)}`)
        for (const vm of sandbox.nodes.keys()) await assertRequestedState(system, model, vm)
      },
      { within: convergenceMs, every: 500 },
    )
  } finally {
    done.abort()
    await administrator
  }
}

/** The node config, the kernel and the inventory have exactly the requested ports, each as the cloud has it. */
async function assertRequestedState(system: TestSandbox, model: Model, vm: string): Promise<void> {
  const state = await system.nodeState(vm)
  const ports = requestedPorts(model, vm)
  const interfaces = ports.length === 0 ? [] : (await system.nodeConfig(vm)).spec.interfaces
  assert.deepEqual(
    interfaces.map(nic => nic.macAddress).toSorted(),
    ports.map(port => port.macAddress).toSorted(),
    `ports in the node config of ${vm}`,
  )
  const requested = ports.map(port => requestedNic(system.sandbox, port, interfaces)).toSorted(byName)
  assert.deepEqual(observedNics(state), requested, `NICs of ${vm}`)
  if (ports.length === 0) return
  const inInventory = (await system.inventory(vm)).interfaces?.map(nic => `${nic.name} ${nic.macAddress}`)
  assert.deepEqual(
    inInventory?.toSorted(),
    requested.map(nic => `${nic.name} ${nic.macAddress}`),
    `NICs of ${vm} in the inventory`,
  )
}

interface Nic {
  name: string
  macAddress: string
  mtu: number | undefined
  addresses: string[]
  /** In the routing table of the NIC. */
  routes: string[]
}

/** Ports become NICs with the names in the node config: which one gets which index is a decision of the operator. */
function requestedNic({ cloudState }: Sandbox, port: ModelPort, interfaces: NodeConfig['spec']['interfaces']): Nic {
  const { cidr, gatewayIp, hostRoutes, networkId } = findSubnet(cloudState, port.subnet)
  const [name = '', prefix] = [interfaces.find(nic => nic.portId === port.id)?.name, cidr.split('/')[1]]
  const fixedIps = cloudState.ports.get(port.id)?.fixedIps ?? []
  return {
    name,
    macAddress: port.macAddress,
    mtu: cloudState.networks.get(networkId)?.mtu,
    addresses: fixedIps.map(({ ipAddress }) => `${ipAddress}/${prefix}`).toSorted(),
    routes: [
      `${cidr} dev ${name}`,
      ...(gatewayIp ? [`default via ${gatewayIp} dev ${name}`] : []),
      ...hostRoutes.map(({ destination, nexthop }) => `${destination} via ${nexthop} dev ${name}`),
    ].toSorted(),
  }
}

function observedNics({ nics, routes }: NodeState): Nic[] {
  return nics
    .filter(({ name }) => name.startsWith('multinic'))
    .map(({ name, macAddress, mtu, addresses }) => {
      const table = `10${name.slice(-1)}: `
      const own = routes.filter(route => route.startsWith(table)).map(route => route.slice(table.length))
      return { name, macAddress, mtu, addresses: addresses.toSorted(), routes: [...new Set(own)].toSorted() }
    })
    .toSorted(byName)
}

function byName(a: Nic, b: Nic): number {
  return a.name < b.name ? -1 : 1
}
