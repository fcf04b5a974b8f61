/**
 * The network of a guest and its files as lines that can be compared before and after a reboot. Leaves out what changes by
 * itself (indices, counters and lifetimes), how a link-local address was created, and the agent's backups of files.
 */
import assert from 'node:assert/strict'
import { canonicalTable } from '../../../src/agent/state/nftables.ts'
import { eventually } from '../../support/eventually.ts'
import type { Shell } from './machine.ts'

export type GuestState = Record<'links' | 'addresses' | 'routes' | 'rules' | 'nftables' | 'sysctls' | 'files', string[]>

const separator = '\n=====\n'
const sysctls = [
  ...['arp_ignore', 'arp_announce', 'rp_filter'].map(name => `ipv4/conf/*/${name}`),
  ...['accept_ra', 'accept_ra_defrtr', 'autoconf', 'disable_ipv6'].map(name => `ipv6/conf/*/${name}`),
]
const directories =
  'netplan systemd/network systemd/system udev/rules.d sysctl.d multinic NetworkManager/system-connections sysconfig/network-scripts'
/** A kernel without IPv6 prints half a list. */
const ifIpv6 = '[ ! -e /proc/sys/net/ipv6 ] ||'
const commands = [
  'ip -j -d address show',
  'ip -j -4 -N -d route show table all',
  `${ifIpv6} ip -j -6 -N -d route show table all`,
  'ip -j -4 -N rule list',
  `${ifIpv6} ip -j -6 -N rule list`,
  'for family in ip ip6; do nft list table $family multinic 2>/dev/null; done',
  `cd /proc/sys/net && grep -s . ${sysctls.join(' ')}`,
  `cd /etc && find ${directories} -type f -not -path '*/backup/*' -exec stat -c '%a %n' {} + -exec sha256sum {} + 2>/dev/null`,
]

interface Link {
  ifname: string
  address: string
  mtu: number
  flags: string[]
  altnames?: string[]
  linkinfo?: { info_kind: string }
  addr_info: Record<string, unknown>[]
}

/** Without addresses that are still tentative: those of links that came up seconds ago, also of NICs without IPv6 addresses. */
export async function stateOf(machine: Shell): Promise<GuestState> {
  await eventually(() => machine.exec(dadHasEnded), { within: 60_000, every: 250 })
  const script = commands.map(command => `(${command})`).join(`; printf '${separator.replaceAll('\n', '\\n')}';`)
  const outputs = (await machine.run(script)).stdout.split(separator)
  assert.equal(outputs.length, commands.length, outputs.at(-1))
  const [links = [], ...lists] = outputs.slice(0, 5).map(text => JSON.parse(text || '[]') as Record<string, unknown>[])
  const [routes4 = [], routes6 = [], rules4 = [], rules6 = []] = lists
  const [tables = '', settings = '', files = ''] = outputs.slice(5)
  const real = (links as unknown as Link[]).filter(link => link.ifname !== 'lo')
  const state: GuestState = {
    links: real.map(link => {
      const { ifname, address, mtu, flags, altnames = [] } = link
      return `${address} ${ifname} mtu ${mtu} ${flags.filter(flag => !/^(BROADCAST|MULTICAST)$/.test(flag)).sort()} altnames ${altnames.toSorted()}`
    }),
    addresses: real.flatMap(({ ifname, addr_info }) => addr_info.map(address => `${ifname} ${addressText(address)}`)),
    routes: [...routes4, ...routes6].filter(({ dst }) => dst !== 'fe80::/64').map(routeLine),
    rules: [...rules4, ...rules6].map(ruleLine),
    nftables: [],
    sysctls: linesOf(settings),
    files: linesOf(files),
  }
  for (const lines of Object.values(state)) lines.sort()
  return { ...state, nftables: linesOf(canonicalTable(tables)) }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(line => line !== '')
}

/** A link-local address has its own prefix route only if NetworkManager and not the kernel created it. */
function addressText(entry: Record<string, unknown>): string {
  const { valid_life_time, preferred_life_time, stable_privacy: _, noprefixroute, protocol: __, ...address } = entry
  const lifetime = address['dynamic'] ? 'dynamic' : `${valid_life_time} ${preferred_life_time}`
  const flag = noprefixroute && address['scope'] !== 'link' ? ' noprefixroute' : ''
  return `${JSON.stringify(address)} ${lifetime}${flag}`
}

/** Of the routes in other tables than main and local, NetworkManager marks those without gateway as the kernel's. */
function routeLine({ expires: _, protocol, ...route }: Record<string, unknown>): string {
  const sameOrigin = protocol === '2' && route['table'] !== '254' && route['table'] !== '255'
  return JSON.stringify({ ...route, protocol: sameOrigin ? '4' : protocol })
}

/** networkd 247 does not mark its rules as static. */
function ruleLine({ protocol, ...rule }: Record<string, unknown>): string {
  return JSON.stringify({ ...rule, ...(protocol !== '4' && { protocol }) })
}

/** The lines that a pattern matches. */
export function about(state: GuestState, pattern: RegExp): string[] {
  return linesPerNic(state).filter(line => pattern.test(line))
}

/** The lines that a pattern does not match. */
export function apartFrom(state: GuestState, pattern: RegExp): string[] {
  return linesPerNic(state).filter(line => !pattern.test(line))
}

/** Without the tables and the files that load them: they name several NICs. */
function linesPerNic({ nftables: _, files, ...state }: GuestState): string[] {
  return [...Object.values(state).flat(), ...files.filter(line => !line.includes(' multinic/'))]
}

/** Without the altnames that udev derives from a PCI slot. Since Debian 13 it also keeps the name that a NIC had before. */
export function withoutSlotNames(state: GuestState): GuestState {
  return { ...state, links: state.links.map(line => line.replace(/(?<= altnames .*)\ben\w+,?/g, '')) }
}

/** Waits until systemd has started everything and no address is tentative, and then until this part of the state is equal. */
export async function sameState(
  machine: Shell,
  expected: GuestState,
  part = (state: GuestState) => state,
): Promise<void> {
  await waitForBoot(machine)
  await eventually(async () => assert.equal(differencesOf(part(await stateOf(machine)), part(expected)), ''), {
    within: 90_000,
    every: 1_000,
  })
}

/** Every line that is missing (-) or should not be there (+). */
export function differencesOf(found: Partial<GuestState>, expected: Partial<GuestState>): string {
  const missing = linesByPart(expected)
  const added = linesByPart(found).filter(line => {
    const at = missing.indexOf(line)
    if (at >= 0) missing.splice(at, 1)
    return at < 0
  })
  return [...missing.map(line => `- ${line}`), ...added.map(line => `+ ${line}`)].join('\n')
}

function linesByPart(state: Partial<GuestState>): string[] {
  return Object.entries(state).flatMap(([name, lines]) => lines.map(line => `${name}: ${line}`))
}

const dadHasEnded = '! ip -6 -o address show tentative | grep -qv dadfailed'

const networkIsUp =
  'ip -4 route show default | grep -q . && ! ip -6 address show tentative | grep -q . && ! ip -6 address show dadfailed | grep -q .'

/** The boot has ended, and the primary NIC has its address. */
export async function waitForBoot(machine: Shell): Promise<void> {
  await machine.run('systemctl is-system-running --wait')
  await eventually(() => machine.exec(networkIsUp), { within: 5 * 60_000, every: 250 })
}
