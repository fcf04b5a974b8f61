/**
 * Addresses that the node needs elsewhere: next hops, DNS servers, other Nodes and Services. A NIC that had one would answer
 * in their place, because the kernel delivers packets for its own addresses locally.
 *
 * Pure.
 */

import { canonical, contains, hostPart, networkOf, parseCidr, parseIp } from '../../contract/address.ts'
import type { NodeAddress } from '../../contract/agent-input.ts'
import { isLoopback } from '../../contract/special-addresses.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { type FileState, type Link, linkByIndex, type Observed } from '../state/observed.ts'
import { isKernelTable } from '../state/records.ts'

export interface NeededAddressesInput {
  observed: Observed
  /** Requested addresses that other Nodes have. */
  addressesOfNodes?: readonly NodeAddress[]
  serviceCIDRs?: readonly string[]
  /** Devices of requested NICs, and of NICs that multinic has configured. */
  ours: ReadonlySet<number>
  tables: ReadonlySet<number>
}

/** Who needs an address of the NIC; undefined when nobody does. `configured`: the NIC has the address already, from multinic. */
export function neededElsewhere(
  nic: Pick<DesiredNic, 'addresses' | 'macAddress'>,
  input: NeededAddressesInput,
  configured: (cidr: string) => boolean,
): string | undefined {
  for (const { cidr } of nic.addresses) {
    const host = hostPart(cidr)
    const who =
      ofNode(host, input) ??
      ofService(host, input) ??
      (input.observed.resolvers?.includes(host) ? 'is a DNS server of this node (/etc/resolv.conf)' : undefined) ??
      nextHop(host, input) ??
      // The kernel may still have the entry from before.
      (configured(cidr) ? undefined : neighbour(host, nic.macAddress, input))
    if (who !== undefined) return `${host} ${who}`
  }
  return undefined
}

function ofNode(host: string, { addressesOfNodes = [] }: NeededAddressesInput): string | undefined {
  const found = addressesOfNodes.find(({ address }) => canonical(address) === host)
  return found && `is the address of the Node ${found.nodeName}`
}

function ofService(host: string, { serviceCIDRs = [] }: NeededAddressesInput): string | undefined {
  const ip = parseIp(host)
  const range = serviceCIDRs.flatMap(text => parseCidr(text) ?? []).find(cidr => ip && contains(cidr, ip))
  return range && `is in the range of Services ${networkOf(range)}`
}

/** Our gateways are next hops in our tables, and on our devices, only. */
function nextHop(host: string, { observed, tables, ours }: NeededAddressesInput): string | undefined {
  const route = observed.routes.find(
    ({ table, gateway, gateways = [], devices }) =>
      (isKernelTable(table) || !tables.has(table)) &&
      [gateway, ...gateways].some(text => text !== undefined && canonical(text) === host) &&
      !(devices.length > 0 && devices.every(device => ours.has(device))),
  )
  if (!route) return undefined
  const names = route.devices.map(device => linkByIndex(observed, device)?.name ?? 'another device')
  return `is the next hop of the route to ${route.destination} on ${names.join(' and ')}`
}

/** A machine that the node has talked to, or tries to reach, in a network of another device. */
function neighbour(host: string, macAddress: string, { observed, ours }: NeededAddressesInput): string | undefined {
  const ip = parseIp(host)
  if (!ip) return undefined
  const found = observed.neighbours.find(
    entry =>
      !ours.has(entry.ifindex) &&
      canonical(entry.address) === host &&
      !entry.states.includes('FAILED') &&
      entry.macAddress !== macAddress &&
      observed.addresses.some(({ ifindex, cidr }) => {
        const network = parseCidr(cidr)
        return ifindex === entry.ifindex && network !== undefined && contains(network, ip)
      }),
  )
  if (!found) return undefined
  const device = linkByIndex(observed, found.ifindex)?.name ?? 'another device'
  const owner = found.macAddress === undefined ? 'a machine' : `the machine ${found.macAddress}`
  return `is the address of ${owner} on ${device}, in the neighbour table of this node`
}

/** Servers in a resolv.conf, in canonical notation. A resolver on the node itself has a loopback address. */
export function resolversIn(file: FileState | undefined): string[] {
  return (file?.text ?? '').split('\n').flatMap(line => {
    const [, server = ''] = /^\s*nameserver\s+([^\s#;%]+)/.exec(line) ?? []
    const address = canonical(server)
    return address === undefined || server.includes('/') || isLoopback(address) ? [] : [address]
  })
}

/** Reports whether multinic has configured the address on the link. */
export function isConfiguredOn(
  link: Pick<Link, 'ifindex'>,
  recorded: readonly string[],
  observed: Observed,
): (cidr: string) => boolean {
  return cidr =>
    recorded.includes(cidr) && observed.addresses.some(entry => entry.ifindex === link.ifindex && entry.cidr === cidr)
}
