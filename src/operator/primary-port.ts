/**
 * Recognizes the primary port of a VM: the port that it got first, outside the selected subnets. Pure.
 *
 * Without this, the remedy for the primary port would be to give it an address in a selected subnet. That can cut off the
 * node.
 */
import type { Port, Subnet } from './cloud.ts'
import { addressesIn, byCreation, type Refusal } from './verdicts.ts'

export interface PortsOfVm {
  /** Ports that are not delivered, with the reason if one speaks against them. */
  undelivered: readonly { port: Port; refusal?: Refusal | undefined }[]
  /** Ports that the list shows and that are delivered. */
  delivered: readonly Port[]
}

/**
 * The oldest port outside the selected subnets, unless a selected or delivered port is older. Ports that are created with
 * their server may have the same creation time.
 */
export function primaryPortOf({ undelivered, delivered }: PortsOfVm, subnets: readonly Subnet[]): Port | undefined {
  const [oldest] = undelivered
    .filter(({ port, refusal }) => isAboutAddress(refusal) && isOutside(port, subnets))
    .map(({ port }) => port)
    .toSorted((a, b) => byCreation(a, b) || (a.id < b.id ? -1 : 1))
  const selected = undelivered.filter(({ refusal }) => refusal === undefined).map(({ port }) => port)
  return oldest && [...selected, ...delivered].every(port => byCreation(oldest, port) <= 0) ? oldest : undefined
}

/** The primary port is often older than the object. A port that is foreign or not bound yet is never the primary port. */
function isAboutAddress(refusal: Refusal | undefined): boolean {
  return refusal?.reason === 'NoAddress' || refusal?.reason === 'BeforeBaseline'
}

function isOutside(port: Port, subnets: readonly Subnet[]): boolean {
  const match = addressesIn(port, subnets)
  return 'reason' in match && match.reason === 'NoAddress'
}

export const primaryPort: Refusal = {
  reason: 'PrimaryPort',
  message: 'the port is the primary port of the node; MultiNIC does not manage it',
}
