/**
 * The Netplan file of one NIC.
 *
 * Pure. Every string is quoted: YAML reads a MAC address of digits alone as a number. Netplan has no key for our rules: they
 * are only in the .network file, which is the one that networkd uses. The MTU is in that file alone: Netplan would write it to a .link file too, which udev applies again when the NIC is renamed.
 */

import { destinationOf, type RouteSpec } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'

export function netplanFile(nic: DesiredNic): string {
  return [
    `# multinic: ${nic.name}${nic.portId ? `, port ${commentText(nic.portId)}` : ''}. Written by the agent; changes are lost.`,
    'network:',
    '  version: 2',
    '  ethernets:',
    `    ${nic.name}:`,
    '      match:',
    `        macaddress: "${nic.macAddress}"`,
    `      set-name: "${nic.name}"`,
    // The boot must not wait for a secondary NIC.
    '      optional: true',
    '      dhcp4: false',
    '      dhcp6: false',
    `      accept-ra: ${nic.acceptRa}`,
    ...listOf('addresses', nic.addresses, address => [`"${address.cidr}"`]),
    ...listOf('routes', nic.routes, routeKeys),
    '',
  ].join('\n')
}

function routeKeys(route: RouteSpec): string[] {
  return [
    `to: "${destinationOf(route)}"`,
    ...(route.gateway ? [`via: "${route.gateway}"`] : ['scope: link']),
    ...(route.source ? [`from: "${route.source}"`] : []),
    ...(route.onlink ? ['on-link: true'] : []),
    `metric: ${route.metric}`,
    `table: ${route.table}`,
  ]
}

function listOf<T>(key: string, items: readonly T[], lines: (item: T) => string[]): string[] {
  if (items.length === 0) return []
  const entries = items.flatMap(item => lines(item).map((line, index) => `        ${index === 0 ? '-' : ' '} ${line}`))
  return [`      ${key}:`, ...entries]
}

function commentText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}
