/**
 * Real virtual machines as nodes: a kernel that boots, udev that names, PCI hot-plug, real reboots and power cuts.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { backendLabel } from '../../../src/contract/backend.ts'
import type { WireInterface } from '../../../src/contract/interfaces.ts'
import type { Action } from '../../../src/controller/plan/observed.ts'
import type { NodeObject } from '../../../src/kube/types.ts'
import type { AddressPair } from '../../../src/operator/cloud.ts'
import { messageOf } from '../../../src/runtime/errors.ts'
import { portSecurity } from '../port-security.ts'
import { run } from '../process.ts'
import { type BootedGuest, describe, storeBooted } from './booted.ts'
import { type AgentResult, buildPayload, fileLabel, runAgent } from './container.ts'
import type { GuestKind } from './kinds.ts'
import { createMachine, imageFacts, type Machine } from './machine.ts'
import { createNetwork, type Network, type NetworkOptions, type Nic } from './network.ts'
import { waitForBoot } from './state.ts'

export { type GuestKind, guestKinds } from './kinds.ts'
export { about, apartFrom, sameState, stateOf, waitForBoot, withoutSlotNames } from './state.ts'

export interface GuestOptions {
  kind: GuestKind
  networks: readonly NetworkOptions[]
  /** IPv6 prefix of the network of the primary NIC. */
  primaryPrefix?: string
  /** NICs that the guest has at its first boot. */
  nics?: readonly Nic[]
  /** Addresses of the ports by name of the NIC: these ports send and receive nothing else. Without it, all ports are open. */
  portSecurity?: Readonly<Record<string, readonly string[]>>
  files?: Readonly<Record<string, string>>
  kernel?: readonly string[]
  uefi?: boolean
  /** Adds files to the root directory of the second disk, which a test mounts on /payload. */
  payload?: (root: string) => Promise<void>
}

export interface Guest extends Machine {
  networks: Network[]
  /** With `portSecurity`: replaces the allowed address pairs of this NIC's port, and removes those of other ports. */
  allowAddressPairs(nic: string, pairs: readonly AddressPair[]): Promise<void>
  agent(action: Action, interfaces: readonly WireInterface[], settings?: Record<string, string>): Promise<AgentResult>
}

export const systemUUID = '11111111-2222-4333-8444-555555555555'
export const primaryMacAddress = 'fa:16:3e:00:00:01'
const primary = { name: 'primary-0', macAddress: primaryMacAddress, network: 'primary', slot: 0 }
/** The DHCP server of the primary network has one address to lease. */
export const primaryAddress = '10.0.2.15'
export const primaryRouter = '10.0.2.2'

/** Boots a guest for one test. Afterwards nothing of it is left, and the test shows its cost. */
export async function startGuest(
  t: TestContext,
  { kind, networks, primaryPrefix, nics = [], portSecurity: secured, payload: add, ...options }: GuestOptions,
): Promise<Guest> {
  const started = performance.now()
  const dir = mkdtempSync(join(tmpdir(), 'guest-'))
  const image = (await run(join(import.meta.dirname, 'image.sh'), [kind])).stdout.trim()
  const { arch, manager, parameters } = imageFacts(image)
  const payload = await buildPayload(dir, arch, async root => {
    await add?.(root)
    if (parameters.includes('selinux=1')) await run('chcon', ['--recursive', fileLabel, root])
  })
  const all: NetworkOptions[] = [
    {
      name: 'primary',
      addresses: [`${primaryRouter}/24`],
      dhcp: [primaryAddress, primaryAddress],
      ...(primaryPrefix && { prefix: primaryPrefix }),
    },
    ...networks,
  ]
  const made: Network[] = []
  for (const network of all) made.push(await createNetwork(dir, network))
  const machine = await createMachine({ dir, image, payload, primary, uuid: systemUUID, ...options })
  machine.nics.push(...nics)
  let booted: BootedGuest | undefined
  t.after(async () => {
    if (!passed(t)) t.diagnostic(await lastMessages(machine))
    else if (booted) storeBooted(booted)
    const cpu = machine.cpuSeconds()
    await machine.remove()
    for (const network of made) await network.close()
    t.diagnostic(`${kind}: ${Math.round((performance.now() - started) / 1000)} s, ${Math.round(cpu)} s of CPU`)
  })
  await machine.start()
  const secure = (pairs: Readonly<Record<string, readonly AddressPair[]>> = {}) => {
    const addresses = { [primary.name]: [primaryAddress], ...secured }
    return securePorts([primary, ...nics], addresses, pairs)
  }
  if (secured) await secure()
  await waitForBoot(machine)
  booted = await describe(machine, options.uefi ? `${kind} (UEFI)` : kind)
  return {
    ...machine,
    networks: made,
    allowAddressPairs: (nic, pairs) => secure({ [nic]: pairs }),
    agent: (action, interfaces, settings = {}) =>
      runAgent(machine, { node: nodeObject(manager, systemUUID), action, interfaces, settings }),
  }
}

/** The types of Node 24 do not have it yet. */
function passed(t: TestContext): boolean {
  return (t as TestContext & { passed: boolean }).passed
}

async function lastMessages(machine: Machine): Promise<string> {
  try {
    return (
      await machine.run('journalctl -b --no-pager -o short-monotonic | grep -v qemu-ga | tail -60', { within: 60_000 })
    ).stdout
  } catch (error) {
    return `no journal from the guest: ${messageOf(error)}`
  }
}

async function securePorts(
  nics: readonly Nic[],
  addresses: Readonly<Record<string, readonly string[]>>,
  pairs: Readonly<Record<string, readonly AddressPair[]>>,
): Promise<void> {
  const ports = nics.map(({ name, macAddress }) => ({
    ...{ device: name, macAddress, addresses: addresses[name] ?? [] },
    allowedAddressPairs: pairs[name] ?? [],
  }))
  await run('nft', ['-f', '-'], { input: portSecurity(ports) })
}

/** What a kubelet in the guest would report. */
export function nodeObject(manager: string, systemUUID: string): NodeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-1', labels: { [backendLabel]: manager } },
    status: { addresses: [{ type: 'InternalIP', address: primaryAddress }], nodeInfo: { systemUUID } },
  }
}

/** A request for a NIC, as the controller writes it. */
export function interfaceFor({ macAddress, name }: Nic, index: number, more: Partial<WireInterface>): WireInterface {
  return { id: index, name: `multinic${index}`, macAddress, portId: name, ...more }
}

/** As on servers of the RHEL family: otherwise NetworkManager keeps trying DHCP on NICs without a profile. */
export function noAutomaticConnections(kind: GuestKind): Record<string, string> {
  if (!kind.endsWith('networkmanager')) return {}
  return { '/etc/NetworkManager/conf.d/server.conf': '[main]\nno-auto-default=*\n' }
}
