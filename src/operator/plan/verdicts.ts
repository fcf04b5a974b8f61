/**
 * The verdict on a port that is not delivered yet: selected, or the first reason against it. Pure.
 *
 * Status, owner and baseline apply to new ports only. They never remove a delivered port.
 */
import { contains, formatCidr, parseCidr, parseIp } from '../../contract/address.ts'
import { type Interface, type InterfaceNames, interfaceName } from '../../contract/interfaces.ts'
import type { VerdictReason } from '../../contract/reasons/catalogue.ts'
import { shownName, truncate } from '../../contract/truncate.ts'
import { shared } from '../../runtime/shared-text.ts'
import type { Port, PortSecurity, Subnet } from '../cloud.ts'
import { pairsBeyond } from './address-pairs.ts'
import type { PlanInput, SelectedSubnet, SelectionRules, SubnetPlaces } from './observed-state.ts'

/** On a port, or on a VM when there is no port. */
export interface Verdict {
  portId?: string
  vm: string
  vmName?: string
  reason: VerdictReason
  message: string
  /** The interface of the port. */
  name?: string
  /** Of a selected port. */
  portSecurity?: PortSecurity
}

/** The VM with its name, and the port if there is one. */
export function subjectOf({ portId, vm, vmName = vm }: Verdict): string {
  const subject = vmName === vm ? vm : `${truncate(vmName, maxVmName)} (${vm})`
  return portId === undefined ? subject : `port ${portId} of ${subject}`
}

/** Leaves room for the reason in the status. */
const maxVmName = 63

/** The verdicts of one reason. */
export interface ReasonGroup {
  reason: VerdictReason
  count: number
  /** Of the verdicts on ports. */
  portIds: readonly string[]
}

/** In the order of their reasons. */
export function byReason(verdicts: readonly Verdict[]): readonly ReasonGroup[] {
  const grouped = [...Map.groupBy(verdicts, ({ reason }) => reason)].map(([reason, all]) => ({
    ...{ reason, count: all.length },
    portIds: all.flatMap(({ portId }) => portId ?? []),
  }))
  return grouped.sort((a, b) => (a.reason < b.reason ? -1 : 1))
}

/** Verdicts with some of the reasons, in their order. Most are selected ports, which nobody reads one by one. */
export function verdictsWith(
  verdicts: readonly Verdict[],
  has: (reason: VerdictReason) => boolean,
): readonly Verdict[] {
  return byReason(verdicts).some(({ reason }) => has(reason)) ? verdicts.filter(({ reason }) => has(reason)) : []
}

export interface Refusal {
  reason: VerdictReason
  message: string
}

/** Allowed difference between the clocks of Neutron and of the Kubernetes API server. */
const clockSkewMs = 5 * 60_000

export function refusalOfNew(port: Port, rules: SelectionRules): Refusal | undefined {
  const { owner, createdAt } = port
  if (owner === '') return { reason: 'PortNotBound', message: 'the port has no device owner yet' }
  if (!rules.owners.some(pattern => matches(pattern, owner)))
    return { reason: 'DeviceOwnerNotAllowed', message: `the device owner of the port is ${owner}` }
  const status = port.status.toUpperCase()
  if (status !== '' && !rules.allowedStatuses.includes('*') && !rules.allowedStatuses.includes(status))
    return { reason: 'PortStatusNotAllowed', message: `the status of the port is ${status}` }
  if (rules.baseline !== undefined && !(createdAtMs(port) >= rules.baseline - clockSkewMs)) {
    const age = createdAt ? `was created at ${createdAt}` : 'has no creation time'
    return { reason: 'PortTooOld', message: `the port ${age}` }
  }
  return undefined
}

/** NaN without a creation time. Neutron may omit the time zone: it is UTC. */
function createdAtMs({ createdAt = '' }: Port): number {
  return Date.parse(/T.*[Z+-]/.test(createdAt) ? createdAt : `${createdAt}Z`)
}

/** Orders ports by creation time. A port without one comes last. */
export function byCreation(a: Port, b: Port): number {
  const [first, second] = [createdAtMs(a), createdAtMs(b)]
  if (Number.isNaN(first) || Number.isNaN(second)) return Number(Number.isNaN(first)) - Number(Number.isNaN(second))
  return first - second
}

function matches(pattern: string, owner: string): boolean {
  return pattern.endsWith('*') ? owner.startsWith(pattern.slice(0, -1)) : owner === pattern
}

export interface Match {
  /** Position of the first matching subnet in the user's order. */
  order: number
  subnet: SelectedSubnet
  address: string
  /** All matching addresses with their prefix length, if there are several. */
  addresses: string[]
  /** The index of the subnets that the port has addresses in, and its alias. */
  index?: number
  alias?: string
  /** These subnets have different indexes. */
  conflicting?: readonly SelectedSubnet[]
}

/** The port's addresses in the selected subnets, or a refusal if it has none. */
export function addressesIn(port: Port, places: SubnetPlaces): Match | Refusal {
  const all = port.addresses
    .flatMap(({ subnetId, address }) => {
      const found = places.get(subnetId)
      return found ? [{ ...found, address }] : []
    })
    .sort((a, b) => a.order - b.order)
  const usable = all.filter(({ subnet }) => isOn(port, subnet))
  const [first] = usable
  if (first)
    return {
      ...first,
      addresses: usable.length > 1 ? usable.flatMap(withPrefix) : [],
      ...indexIn(usable.map(({ subnet }) => subnet)),
    }
  if (all.length > 0)
    return { reason: 'NetworkMismatch', message: 'the selected subnet belongs to another network than the port' }
  return { reason: 'NotSelected', message: 'the port has no address in a selected subnet' }
}

/** Of its addresses, a NIC gets those in such a subnet. */
function isOn({ networkId }: Port, subnet: Subnet): boolean {
  return subnet.networkId === networkId
}

/** Made once for thousands of ports. */
export function placesOf(subnets: readonly SelectedSubnet[]): SubnetPlaces {
  return new Map(subnets.map((subnet, order) => [subnet.id, { order, subnet }]))
}

function indexIn(subnets: readonly SelectedSubnet[]): Pick<Match, 'index' | 'alias' | 'conflicting'> {
  const numbered = subnets.filter(({ index }) => index !== undefined)
  const [index, ...others] = new Set(numbered.map(({ index }) => index))
  if (others.length > 0) return { conflicting: numbered }
  const alias = numbered[0]?.alias
  return { ...(index !== undefined && { index }), ...(alias && { alias }) }
}

function withPrefix({ address, subnet }: { address: string; subnet: Subnet }): string[] {
  const network = parseCidr(subnet.cidr)
  const ip = parseIp(address)
  if (!network || !ip || !contains(network, ip)) return []
  return [formatCidr({ family: ip.family, address: ip, prefix: network.prefix })]
}

/** The interface of a port. What the cloud omits stays as delivered: MTU, allowed address pairs, gateway and routes. */
export function interfaceOf(
  index: number,
  port: Port,
  match: Match,
  { source, networks, places }: Pick<PlanInput, 'source' | 'networks' | 'places'>,
  delivered?: Interface,
): Interface {
  const { subnet, address, addresses } = match
  const network = networks.get(port.networkId)
  const mtu = network?.mtu ?? delivered?.mtu
  const pairs = port.portSecurity ? pairsBeyond(port, subnetsOf(port, places)) : delivered?.allowedAddressPairs
  const before = delivered?.subnetId === subnet.id ? delivered : undefined
  const gateway = subnet.unknown?.includes('gateway') ? before?.gateway : subnet.gateway
  const routes = (subnet.unknown?.includes('routes') ? before?.routes : subnet.routes) ?? []
  // Under another number, the alias would promise what the name of the interface does not keep.
  const alias = index === match.index ? match.alias : undefined
  return {
    index,
    name: interfaceName(index),
    macAddress: port.macAddress.toLowerCase(),
    portId: port.id,
    address,
    cidr: subnet.cidr,
    ...(mtu !== undefined && { mtu }),
    ...(addresses.length > 0 && { addresses }),
    ...(gateway && { gateway }),
    ...(routes.length > 0 && { routes }),
    ...(pairs && pairs.length > 0 && { allowedAddressPairs: pairs }),
    networkId: port.networkId,
    subnetId: subnet.id,
    source,
    ...namesOf(subnet.name, network?.name, alias),
  }
}

/** The selected subnets that the port has addresses in. */
function subnetsOf(port: Port, places: SubnetPlaces): SelectedSubnet[] {
  const own = port.addresses.flatMap(({ subnetId }) => places.get(subnetId)?.subnet ?? [])
  return own.filter(subnet => isOn(port, subnet))
}

function namesOf(subnet: string, network = '', alias?: string): InterfaceNames {
  const [subnetName, networkName] = [shared(shownName(subnet)), shared(shownName(network))]
  return { ...(subnetName && { subnetName }), ...(networkName && { networkName }), ...(alias && { alias }) }
}
