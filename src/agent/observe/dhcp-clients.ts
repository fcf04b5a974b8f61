/**
 * DHCP clients that the agent can neither ask nor stop, known by their sockets in the node's network namespace: dhclient,
 * dhcpcd, udhcpc, or a networkd that the agent does not reach.
 *
 * Pure.
 */
import { hostPart, parseIp } from '../../contract/address.ts'
import type { Address, Link } from '../state/observed.ts'

/** The tables of /proc/net. */
export interface SocketTables {
  packet: string
  udp: string
  udp6: string
}

const ipv4Frames = '0800'
const allFrames = '0003'
const anyAddress = '00000000:0044'

/** The evidence for a client, by ifindex. */
export function findDhcpClients(
  { packet, udp, udp6 }: SocketTables,
  links: readonly Link[],
  addresses: readonly Address[],
): Record<number, string> {
  const frames = rowsOf(packet).map(columns => ({ protocol: columns[3] ?? '', ifindex: Number(columns[4]) }))
  const bound = new Set([...rowsOf(udp), ...rowsOf(udp6)].map(columns => columns[1] ?? ''))
  const evidenceOf = ({ ifindex }: Link): string | undefined => {
    const has = (protocol: string) => frames.some(socket => socket.ifindex === ifindex && socket.protocol === protocol)
    if (has(allFrames) && bound.has(anyAddress)) return 'dhclient has a packet socket on it'
    if (has(ipv4Frames)) return 'a client such as udhcpc or dhcpcd has a packet socket on it'
    const address = addresses.find(entry => entry.ifindex === ifindex && bound.has(portOf(entry)))
    return address && `a client such as networkd or dhcpcd has the DHCP port of ${hostPart(address.cidr)}`
  }
  return Object.fromEntries(
    links.flatMap(link => {
      const evidence = evidenceOf(link)
      return evidence === undefined ? [] : [[link.ifindex, evidence] as const]
    }),
  )
}

function rowsOf(table: string): string[][] {
  return table
    .split('\n')
    .slice(1)
    .map(line => line.trim().split(/\s+/))
}

/** The DHCP client port of the address as /proc/net prints it: groups of four bytes, each with its lowest byte first. */
function portOf({ family, cidr }: Address): string {
  const digits = (parseIp(hostPart(cidr))?.value ?? 0n).toString(16).padStart(family === 4 ? 8 : 32, '0')
  const groups = digits.match(/.{8}/g) ?? []
  const reversed = groups.map(group => (group.match(/../g) ?? []).reverse().join(''))
  return `${reversed.join('').toUpperCase()}:${family === 4 ? '0044' : '0222'}`
}
