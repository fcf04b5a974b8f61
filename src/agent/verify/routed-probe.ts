/**
 * One packet of each NIC to its gateway or peer that is routed like those of users: the other probes name the device, which hides
 * a rule or filter of the node that drops the packets.
 */

import { hostPart, parseIp } from '../../contract/address.ts'
import { notSent } from '../../contract/routing-messages.ts'
import type { Settings } from '../config.ts'
import type { Host } from '../host/host.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { nicTargets } from './probe-targets.ts'

/** What the node says to packets that it does not send, by the index of the NIC. */
export async function packetsNotSent(
  nics: readonly { nic: DesiredNic; ifindex: number }[],
  host: Host,
  settings: Settings,
): Promise<Map<number, string>> {
  const errors = new Map<number, string>()
  const packets = nics.flatMap(({ nic, ifindex }) =>
    nicTargets(nic, ifindex, settings).flatMap(({ address: to }) => {
      const isSameFamily = (from: string) => parseIp(from)?.family === parseIp(to)?.family
      const from = nic.addresses.map(({ cidr }) => hostPart(cidr)).find(isSameFamily)
      // A link-local address needs its device.
      return from === undefined || to.startsWith('fe80:') ? [] : [{ index: nic.index, from, to }]
    }),
  )
  await Promise.all(
    packets.map(async ({ index, from, to }) => {
      const error = await host.send(from, to)
      if (error !== undefined) errors.set(index, notSent({ from, to }, error))
    }),
  )
  return errors
}
