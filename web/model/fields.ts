/**
 * The requested fields of a NIC as text, for comparisons: with the observed values, and before with after a change. Pure.
 */
import type { Interface } from '../../src/contract/interfaces.ts'
import type { Nic } from './nodes.ts'

interface Field {
  requested: (nic: Nic) => string
  observed?: (nic: Nic) => string | undefined
}

/** The name contains the index, and `address` shows all addresses. */
type ShownField = Exclude<keyof Interface, 'index' | 'addresses'>

/** A new field of an interface does not compile until it is in this list. */
export const requestedFields: Readonly<Record<ShownField, Field>> = {
  name: { requested: nic => nic.name, observed: nic => nic.observed?.name },
  macAddress: { requested: nic => nic.macAddress },
  address: { requested: nic => nic.addresses.join(' '), observed: nic => nic.observed?.addresses?.join(' ') },
  mtu: { requested: nic => nic.mtu?.toString() ?? '', observed: nic => nic.observed?.mtu?.toString() },
  gateway: { requested: nic => nic.gateway },
  routes: {
    requested: nic => nic.routes.map(({ destination, nexthop }) => `${destination} via ${nexthop}`).join(', '),
  },
  cidr: { requested: nic => nic.network },
  subnetId: { requested: nic => nic.subnetId },
  networkId: { requested: nic => nic.networkId },
  portId: { requested: nic => nic.portId },
  source: { requested: nic => nic.source },
}
