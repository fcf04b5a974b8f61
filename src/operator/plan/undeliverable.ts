/**
 * Ports that a node cannot have as the cloud has them: a value that no interface can have, or the MAC address or an address
 * of another interface. Viola and the agent would refuse the whole node for one. Pure.
 *
 * Of two interfaces the delivered one stays, else that of the older port.
 */
import { canonical, hostPart, parseCidr, parseIp } from '../../contract/address.ts'
import { addressesOf, completeInterfaces, type Interface, toWireInterface } from '../../contract/interfaces.ts'
import { equalJson } from '../../contract/json.ts'
import { interfaceSchema } from '../../contract/node-config.ts'
import { fieldErrors } from '../../contract/problem.ts'
import type { Port } from '../cloud.ts'
import { byAge, type Candidate } from './interface-indexes.ts'
import { identityOf, type PlanInput } from './observed-state.ts'
import type { DeliveredInterface } from './removals.ts'
import { addressesIn, interfaceOf, type Refusal } from './verdicts.ts'

/** Ports that are interfaces of a node already, also if they were created again with the same MAC address. */
export function deliveredPorts(all: readonly DeliveredInterface[], ports: readonly Port[]): (port: Port) => boolean {
  const attached = new Set(ports.map(port => `${port.serverId} ${port.id}`))
  const ids = new Set<string | undefined>()
  const macAddresses = new Set<string>()
  for (const { vmId, nic, outcome } of all) {
    const kept = outcome.action === 'keep' ? outcome.port?.id : undefined
    ids.add(nic.portId).add(kept)
    // Another port with the MAC address of an attached one is not the same port.
    if (kept === undefined && !attached.has(`${vmId} ${nic.portId}`)) macAddresses.add(`${vmId} ${nic.macAddress}`)
  }
  return port => ids.has(port.id) || macAddresses.has(`${port.serverId} ${port.macAddress}`)
}

export interface RefusedCandidate extends Refusal {
  portId: string
}

/** The candidates that the node can have beside its interfaces, and a refusal for each of the others. */
export function withoutRivals(
  candidates: readonly Candidate[],
  interfaces: readonly Interface[],
  observed: PlanInput,
): { deliverable: Candidate[]; refused: RefusedCandidate[] } {
  const together = [...interfaces]
  const deliverable: Candidate[] = []
  const refused: RefusedCandidate[] = []
  for (const candidate of candidates.toSorted((a, b) => byAge(a.port, b.port))) {
    const { port, match } = candidate
    const nic = interfaceOf(match.index ?? 0, port, match, observed)
    const refusal = invalidValue(nic) ?? conflict(nic, together, interfaces)
    if (refusal) refused.push({ portId: port.id, ...refusal })
    else {
      together.push(nic)
      deliverable.push(candidate)
    }
  }
  return { deliverable, refused }
}

export interface Update {
  /** As the cluster has it. */
  delivered: Interface
  /** As the cloud has it now. */
  planned: Interface
  port?: Port
}

export function unchanged(nic: Interface): Update {
  return { delivered: nic, planned: nic }
}

/** The same object if nothing changed. */
export function updateOf(nic: Interface, port: Port, observed: PlanInput): Update {
  const match = addressesIn(port, observed.places)
  if (!('subnet' in match)) return unchanged(nic)
  const planned = interfaceOf(nic.index, port, match, observed, nic)
  return { delivered: nic, planned: equalJson(planned, nic) ? nic : planned, port }
}

/** The interfaces of a node with each update that is possible. The others stay as delivered, with a refusal by `identityOf`. */
export function possibleUpdates(updates: readonly Update[]): {
  interfaces: Interface[]
  refused: ReadonlyMap<string, Refusal>
} {
  const interfaces = updates.map(({ planned }) => planned)
  const refused = new Map<string, Refusal>()
  const changed = updates
    .flatMap(({ delivered, planned, port }, position) =>
      planned === delivered || !port ? [] : [{ delivered, planned, port, position }],
    )
    // First those whose own port is gone, then the ports from the youngest.
    .toSorted((a, b) => Number(isOwn(a)) - Number(isOwn(b)) || byAge(b.port, a.port))
  /** An interface that stays as delivered may conflict with an update that was possible without it. */
  for (let before = -1; before < refused.size; ) {
    before = refused.size
    for (const { delivered, planned, position } of changed) {
      if (interfaces[position] === delivered) continue
      const others = interfaces.filter((_, other) => other !== position)
      const refusal = invalidValue(planned) ?? conflict(planned, others, others)
      if (!refusal) continue
      interfaces[position] = delivered
      refused.set(identityOf(delivered), {
        ...refusal,
        message: `${delivered.name} stays as it is: ${refusal.message}`,
      })
    }
  }
  return { interfaces, refused }
}

function isOwn({ delivered, planned }: Update): boolean {
  return delivered.portId === planned.portId
}

/** What the schema, Viola or the agent would refuse. */
function invalidValue(nic: Interface): Refusal | undefined {
  const wire = toWireInterface(nic)
  const at = 'interface'
  const schema = interfaceSchema.safeParse(wire)
  const [first] = [
    ...completeInterfaces([wire], at).errors,
    ...mixedRoutes(nic),
    ...(schema.success ? [] : fieldErrors(schema.error)),
  ]
  if (!first) return undefined
  return { reason: 'PortInvalid', message: `${first.path.replace(`${at}[0].`, '')}: ${first.message}` }
}

function mixedRoutes({ routes = [] }: Interface): { path: string; message: string }[] {
  return routes
    .filter(({ destination, nexthop }) => parseCidr(destination)?.family !== parseIp(nexthop)?.family)
    .map(({ destination, nexthop }) => ({
      path: 'routes',
      message: `${nexthop} and ${destination} must be of the same address family`,
    }))
}

/** `numbered`: those of the others whose names are final. */
function conflict(nic: Interface, others: readonly Interface[], numbered: readonly Interface[]): Refusal | undefined {
  const own = new Set(hostsOf(nic))
  for (const other of others) {
    const rival = `port ${identityOf(other)}${numbered.includes(other) ? ` (${other.name})` : ''} of the same VM`
    // The port of one interface got the MAC address of another interface, whose own port is gone.
    const isSamePort = nic.portId !== undefined && other.portId === nic.portId
    if (isSamePort || other.macAddress === nic.macAddress)
      return { reason: 'MacNotUnique', message: `${rival} has the same MAC address ${nic.macAddress}` }
    const address = hostsOf(other).find(host => own.has(host))
    if (address !== undefined)
      return { reason: 'AddressNotUnique', message: `${rival} has the same address ${address}` }
  }
  return undefined
}

function hostsOf(nic: Interface): string[] {
  return addressesOf(nic).map(text => canonical(hostPart(text)) ?? text)
}
