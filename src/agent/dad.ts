/**
 * Waits for the duplicate address detection of the kernel (DAD): an IPv6 address is tentative until it ends, and cannot be
 * used meanwhile.
 */
import type { HostContext } from './context.ts'
import { readIpLists } from './ip-read.ts'
import { sysctlPath } from './observe.ts'
import { type Address, linkByIndex, type Observed, parseLinks } from './observed.ts'
import type { Difference } from './verify.ts'

/** Milliseconds between two packets of DAD. */
const interval = 1_000
/** Milliseconds that a busy machine may need longer. */
const tolerance = 3_000
/** Milliseconds. */
const pollInterval = 50

/** An address that is still tentative after the wait may be in use by another host. */
export function tentativeAddresses(ifindex: number, { addresses }: Observed): Difference[] {
  return addresses.filter(isTentative).flatMap(entry => {
    const message = `address ${entry.cidr} is still tentative: duplicate address detection has not ended`
    return entry.ifindex === ifindex ? [{ reason: 'VerifyFailed', message }] : []
  })
}

/** Gives up when DAD must have ended by any measure. Returns false at once when no address of these devices is tentative. */
export async function waitForDad(
  ifindexes: ReadonlySet<number>,
  observed: Observed,
  { host, paths }: HostContext,
): Promise<boolean> {
  const waiting = (addresses: readonly Address[]) =>
    addresses.filter(entry => ifindexes.has(entry.ifindex) && isTentative(entry))
  let tentative = waiting(observed.addresses)
  if (tentative.length === 0) return false
  const setting = (name: string, ifindex: number) =>
    Number(host.readValue(sysctlPath(paths, `ipv6.${name}`, linkByIndex(observed, ifindex)?.name ?? '')) ?? 1)
  // The kernel waits for a random part of the delay, and a second after each packet.
  const seconds = tentative.map(
    ({ ifindex }) => setting('router_solicitation_delay', ifindex) + setting('dad_transmits', ifindex),
  )
  const until = host.now() + Math.max(...seconds) * interval + tolerance
  while (tentative.length > 0 && host.now() < until) {
    await host.sleep(pollInterval)
    const [raw = []] = await readIpLists(host, ['address show tentative'], ['-6'])
    // Some versions of `ip` print an empty object for a device without an address.
    tentative = waiting(parseLinks(raw.filter(entry => Object.keys(entry as object).length > 0)).addresses)
  }
  return true
}

/** DAD that found another host has ended. */
function isTentative({ tentative, dadFailed, linkLocal }: Address): boolean {
  return tentative && !dadFailed && !linkLocal
}
