/**
 * The Netplan file of one NIC.
 *
 * Pure. Every text is in quotes: a MAC of digits alone would be a number in YAML.
 */
import type { RouteSpec, RuleSpec } from '../change.ts'
import type { WantedNic } from '../desired.ts'

export function netplanFile(nic: WantedNic): string {
  return [
    `# multinic: ${nic.name}${nic.portId ? `, port ${commentText(nic.portId)}` : ''}. Written by the agent; changes are lost.`,
    'network:',
    '  version: 2',
    '  ethernets:',
    `    ${nic.name}:`,
    '      match:',
    `        macaddress: "${nic.mac}"`,
    `      set-name: "${nic.name}"`,
    // A node must not wait for a secondary NIC while it boots.
    '      optional: true',
    '      dhcp4: false',
    '      dhcp6: false',
    `      accept-ra: ${nic.acceptRa}`,
    ...(nic.mtu === undefined ? [] : [`      mtu: ${nic.mtu}`]),
    ...listOf('addresses', nic.addresses, address => [`"${address.cidr}"`]),
    ...listOf('routes', nic.routes, routeKeys),
    ...listOf('routing-policy', nic.rules, ruleKeys),
    '',
  ].join('\n')
}

function routeKeys(route: RouteSpec): string[] {
  return [
    `to: "${route.destination === 'default' ? everything(route) : route.destination}"`,
    ...(route.gateway ? [`via: "${route.gateway}"`] : ['scope: link']),
    ...(route.source ? [`from: "${route.source}"`] : []),
    ...(route.onlink ? ['on-link: true'] : []),
    `metric: ${route.metric}`,
    `table: ${route.table}`,
  ]
}

function ruleKeys(rule: RuleSpec): string[] {
  return [
    ...(rule.from ? [`from: "${rule.from}"`] : []),
    ...(rule.to ? [`to: "${rule.to}"`] : []),
    `table: ${rule.table}`,
    `priority: ${rule.priority}`,
  ]
}

/** `default` as a destination is known from Netplan 0.103 on only. */
function everything(route: RouteSpec): string {
  return route.family === 4 ? '0.0.0.0/0' : '::/0'
}

function listOf<T>(key: string, items: readonly T[], lines: (item: T) => string[]): string[] {
  if (items.length === 0) return []
  const entries = items.flatMap(item => lines(item).map((line, index) => `        ${index === 0 ? '-' : ' '} ${line}`))
  return [`      ${key}:`, ...entries]
}

function commentText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}
