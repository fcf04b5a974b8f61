/**
 * Compares what was asked with what the kernel and the disk show, and tells each difference in words (G7).
 *
 * Pure, and apart from the planner on purpose: a mistake there must not hide itself here.
 */
import type { InterfaceReason } from '../contract/reasons/catalogue.ts'
import { routeText, ruleText } from './change.ts'
import type { WantedNic } from './desired.ts'
import { routeSpec, ruleSpec } from './nic-state.ts'
import { type FileState, linkByIndex, type Observed, ownMac, protocolStatic, tableMain } from './observed.ts'

export interface Difference {
  reason: InterfaceReason
  message: string
}

export function differences(nic: WantedNic, ifindex: number, observed: Observed): Difference[] {
  const link = linkByIndex(observed, ifindex)
  if (!link) return [{ reason: 'NicMissing', message: 'the device is gone' }]
  const found: Difference[] = []
  const differ = (message: string, reason: InterfaceReason = 'VerifyFailed') => found.push({ reason, message })

  if (link.name !== nic.name) differ(`the name is ${link.name}`)
  if (ownMac(link) !== nic.mac) differ(`the MAC is ${ownMac(link)}`)
  if (nic.mtu !== undefined && link.mtu !== nic.mtu) differ(`the MTU is ${link.mtu}, not ${nic.mtu}`)
  if (!link.up) differ('the link is down', 'LinkDown')

  const addresses = observed.addresses.filter(entry => entry.ifindex === ifindex)
  for (const wanted of nic.addresses) {
    const address = addresses.find(entry => entry.cidr === wanted.cidr)
    if (!address) differ(`address ${wanted.cidr} is missing`)
    else if (address.dadFailed) differ(`another machine on the wire has ${wanted.cidr}`, 'AddressConflict')
    else if (address.noPrefixRoute !== wanted.noPrefixRoute)
      differ(`address ${wanted.cidr} ${wanted.noPrefixRoute ? 'has no' : 'has'} noprefixroute`)
  }

  const routes = observed.routes.filter(route => route.type === 1 && route.devices.includes(ifindex))
  // NetworkManager gives its connected routes to the kernel's protocol; they lead to the same place.
  const inTable = routes.map(route => routeText({ ...routeSpec(route), protocol: protocolStatic }))
  for (const wanted of nic.routes.map(route => routeText(route)))
    if (!inTable.includes(wanted)) differ(`route ${wanted} is missing`)
  if (routes.some(route => route.table === tableMain && route.destination === 'default'))
    differ('a default route leaves by it', 'DefaultRoute')

  const rules = observed.rules.filter(rule => rule.table === nic.table).map(rule => ruleText(ruleSpec(rule)))
  const wantedRules = nic.rules.map(ruleText)
  for (const wanted of wantedRules) if (!rules.includes(wanted)) differ(`rule ${wanted} is missing`)
  for (const rule of rules) if (!wantedRules.includes(rule)) differ(`rule ${rule} is too much`)

  for (const [key, value] of Object.entries(nic.sysctls)) {
    const actual = observed.sysctls[ifindex]?.[key]
    if (actual !== undefined && actual !== value) differ(`${key} is ${actual}, not ${value}`)
  }
  return found
}

export function fileDifferences(wanted: Readonly<Record<string, FileState>>, observed: Observed): Difference[] {
  return Object.entries(wanted).flatMap(([path, file]) => {
    const actual = observed.files[path]
    const what = !actual
      ? 'is missing'
      : actual.text !== file.text
        ? 'has another text'
        : actual.mode !== file.mode
          ? 'has another mode'
          : undefined
    return what ? [{ reason: 'PersistFailed' as const, message: `${path} ${what}` }] : []
  })
}
