/**
 * Waits until NICs can be used: the link has a carrier, and the duplicate address detection of the kernel (DAD) has ended.
 * An IPv6 address is tentative until then and sends nothing.
 */

import type { HostContext } from '../context.ts'
import { readIpLists } from '../host/ip-read.ts'
import { sysctlPath } from '../observe/observe.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { Difference } from '../state/difference.ts'
import { type Address, type Link, linkByIndex, type Observed, parseLinks } from '../state/observed.ts'

export interface SettlingNic {
  nic: DesiredNic
  ifindex: number
}

/** Milliseconds for a carrier: hardware negotiates the speed first. */
const carrierTimeout = 5_000
/** Milliseconds between two packets of DAD. */
const dadInterval = 1_000
/** Milliseconds that a busy machine may need longer. */
const tolerance = 3_000
const pollInterval = 50

/** Returns false at once when there is nothing to wait for. Gives up when DAD must have ended by any measure. */
export async function waitForNics(
  nics: readonly SettlingNic[],
  observed: Observed,
  { host, paths }: HostContext,
  { dad }: { dad: boolean },
): Promise<boolean> {
  const withIPv6 = new Set(nics.filter(({ nic }) => hasIPv6(nic)).map(({ ifindex }) => ifindex))
  const isTentative = (entry: Address) => dad && isUndecided(entry) && withIPv6.has(entry.ifindex)
  const isWaiting = (links: readonly Link[], addresses: readonly Address[]) =>
    links.some(link => link.up && !link.carrier && nics.some(({ ifindex }) => ifindex === link.ifindex)) ||
    addresses.some(isTentative)
  if (!isWaiting(observed.links, observed.addresses)) return false
  const setting = (name: string, ifindex: number) =>
    Number(host.readValue(sysctlPath(paths, `ipv6.${name}`, linkByIndex(observed, ifindex)?.name ?? '')) ?? 1)
  // The kernel waits for a random part of the delay, and a second after each packet.
  const seconds = [...withIPv6].map(
    ifindex => setting('router_solicitation_delay', ifindex) + setting('dad_transmits', ifindex),
  )
  const until = host.monotonic() + Math.max(carrierTimeout, Math.max(...seconds) * dadInterval + tolerance)
  for (let waiting = true; waiting && host.monotonic() < until; ) {
    await host.sleep(pollInterval)
    const [raw = []] = await readIpLists(host, ['address show'])
    const { links, addresses } = parseLinks(raw)
    waiting = isWaiting(links, addresses)
  }
  return true
}

/** An address that is still tentative after the wait may be in use by another host. */
export function tentativeAddresses(ifindex: number, { addresses }: Observed): Difference[] {
  return addresses.filter(isUndecided).flatMap(entry => {
    const message = `address ${entry.cidr} is still tentative: duplicate address detection has not ended`
    return entry.ifindex === ifindex && !entry.linkLocal ? [{ reason: 'VerifyFailed', message }] : []
  })
}

/** DAD that found another host has ended. */
function isUndecided({ tentative, dadFailed }: Address): boolean {
  return tentative && !dadFailed
}

function hasIPv6({ addresses }: DesiredNic): boolean {
  return addresses.some(({ cidr }) => cidr.includes(':'))
}
