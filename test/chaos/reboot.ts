/**
 * A reboot during chaos. The NICs that were configured must be there after the boot, before any agent runs (G10).
 */
import type { NodeConfig } from '../../src/contract/node-config.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'

/** Returns the violations. */
export async function rebootAndCompare(system: TestSandbox, vm: string): Promise<string[]> {
  const { sandbox } = system
  const readConfig = () => system.nodeConfig(vm).catch(() => undefined)
  const config = await readConfig()
  const before = await nicsOf(system, vm, verifiedIn(config))
  await sandbox.reboot(vm)
  const after = new Set(await nicsOf(system, vm, verifiedIn(config)))
  // A new request may have changed the files just before the reboot.
  if ((await readConfig())?.metadata.generation !== config?.metadata.generation) return []
  const lost = before.filter(nic => !after.has(nic))
  return lost.length === 0
    ? []
    : [`G10: ${vm} booted without ${lost.join(' and ')}; it has ${[...after].join(' and ')}`]
}

/** MAC addresses of the interfaces that an agent has verified for the current request. */
function verifiedIn(config: NodeConfig | undefined): Set<string> {
  const { status, metadata } = config ?? {}
  const isCurrent = status?.state === 'Configured' && status.observedGeneration === metadata?.generation
  const verified = isCurrent ? (status.interfaceStatuses ?? []) : []
  return new Set(
    verified.flatMap(({ status: state, pending, macAddress }) =>
      state === 'Configured' && !pending && macAddress !== undefined ? [macAddress] : [],
    ),
  )
}

/** Those that the cloud still has. */
async function nicsOf({ sandbox, nodeState }: TestSandbox, vm: string, macAddresses: Set<string>): Promise<string[]> {
  const attached = new Set([...sandbox.cloudState.ports.values()].map(port => port.macAddress))
  const { nics } = await nodeState(vm)
  return nics
    .filter(({ macAddress }) => macAddresses.has(macAddress) && attached.has(macAddress))
    .map(({ name, macAddress, mtu, addresses }) => `${name} ${macAddress} ${mtu} ${addresses.toSorted()}`)
}
