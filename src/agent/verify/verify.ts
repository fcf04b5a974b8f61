/**
 * Compares the request with the observed kernel state and files, and describes each difference (G7).
 *
 * Pure, and independent of the planner on purpose: a mistake of the planner must show up here.
 */

import type { InterfaceReason } from '../../contract/reasons/catalogue.ts'
import { lookupDifferences } from '../plan/route-lookups.ts'
import { type RuleSpec, routeText, ruleText } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { Difference } from '../state/difference.ts'
import { routeSpec } from '../state/nic-state.ts'
import {
  type FileState,
  linkByIndex,
  type Observed,
  permanentMacOf,
  protocolStatic,
  tableMain,
} from '../state/observed.ts'

/** `isStale` reports whether multinic set a rule that is not needed any more; a foreign rule is no difference. */
export function differences(
  nic: DesiredNic,
  ifindex: number,
  observed: Observed,
  isStale: (rule: RuleSpec) => boolean = () => false,
): Difference[] {
  const link = linkByIndex(observed, ifindex)
  if (!link) return [{ reason: 'NicMissing', message: 'device not found' }]
  const found: Difference[] = []
  const differ = (message: string, reason: InterfaceReason = 'VerifyFailed') => found.push({ reason, message })

  if (link.name !== nic.name) differ(`name is ${link.name}, expected ${nic.name}`)
  if (permanentMacOf(link) !== nic.macAddress)
    differ(`MAC address is ${permanentMacOf(link)}, expected ${nic.macAddress}`)
  if (nic.mtu !== undefined && link.mtu !== nic.mtu) differ(`MTU is ${link.mtu}, expected ${nic.mtu}`)
  if (!link.up) differ('link is down', 'LinkDown')
  else if (!link.carrier) differ('link has no carrier', 'LinkDown')
  if (observed.managers[ifindex] === 'other')
    differ('NetworkManager manages it without our profile, and may change it at any time')

  const addresses = observed.addresses.filter(entry => entry.ifindex === ifindex)
  for (const { cidr, noPrefixRoute } of nic.addresses) {
    const address = addresses.find(entry => entry.cidr === cidr)
    if (!address) differ(`address ${cidr} is missing`)
    else if (address.dadFailed) differ(`another host uses ${cidr}`, 'AddressConflict')
    else if (address.noPrefixRoute !== noPrefixRoute && address.metric !== nic.prefixMetric)
      differ(`address ${cidr} ${noPrefixRoute ? 'lacks' : 'has'} the flag noprefixroute`)
  }

  const routes = observed.routes.filter(route => route.type === 1 && route.devices.includes(ifindex))
  // Connected routes of NetworkManager have the kernel's protocol and are equivalent.
  const present = routes.map(route => routeText({ ...routeSpec(route), protocol: protocolStatic }))
  for (const route of nic.routes.map(route => routeText(route)))
    if (!present.includes(route)) differ(`route ${route} is missing`)
  if (routes.some(route => route.table === tableMain && route.destination === 'default'))
    differ('has a default route in the main table', 'CarriesDefaultRoute')

  const rules = observed.rules.filter(rule => rule.plain)
  const presentRules = new Set(rules.map(ruleText))
  for (const rule of nic.rules.map(ruleText)) if (!presentRules.has(rule)) differ(`rule ${rule} is missing`)
  for (const rule of rules.filter(isStale)) differ(`rule ${ruleText(rule)} is unexpected`)

  // A missing rule or route explains every lookup.
  if (found.length === 0)
    for (const message of lookupDifferences(nic.lookups, ifindex, nic.name, observed)) differ(message)

  for (const [key, value] of Object.entries(nic.sysctls)) {
    const actual = observed.sysctls[ifindex]?.[key]
    if (actual !== undefined && actual !== value) differ(`${key} is ${actual}, expected ${value}`)
  }
  return found
}

export function fileDifferences(desired: Readonly<Record<string, FileState>>, observed: Observed): Difference[] {
  return Object.entries(desired).flatMap(([path, file]) => {
    const actual = observed.files[path]
    const difference = !actual
      ? 'is missing'
      : actual.text !== file.text
        ? 'was modified'
        : actual.mode !== file.mode
          ? 'has the wrong mode'
          : undefined
    return difference ? [{ reason: 'PersistFailed' as const, message: `${path} ${difference}` }] : []
  })
}
