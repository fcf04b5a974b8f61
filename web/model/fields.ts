/**
 * The requested fields of a NIC as text, for comparisons: with the observed values, and before with after a change. Pure.
 *
 * The fields are those of the contract: a new field is compared and shown without a change here.
 */
import { type Interface, interfaceFields, nameFields } from '../../src/contract/interface-fields.ts'
import type { Nic } from './nodes.ts'

interface Field {
  requested: (nic: Nic) => string
  observed?: (nic: Nic) => string | undefined
}

/** Fields that are shown in another form than on the wire, or that the node reports back. Shown first. */
const special: Partial<Record<keyof Interface, Field>> = {
  name: { requested: nic => nic.name, observed: nic => nic.observed?.name },
  macAddress: { requested: nic => nic.macAddress },
  address: { requested: nic => nic.addresses.join(' '), observed: nic => nic.observed?.addresses?.join(' ') },
  mtu: { requested: nic => nic.mtu?.toString() ?? '', observed: nic => nic.observed?.mtu?.toString() },
  gateway: { requested: nic => nic.gateway },
  routes: {
    requested: nic => nic.routes.map(({ destination, nexthop }) => `${destination} via ${nexthop}`).join(', '),
  },
  allowedAddressPairs: { requested: nic => nic.request?.allowedAddressPairs?.join(' ') ?? '' },
  cidr: { requested: nic => nic.network },
}

/** The name contains the index, and `address` shows all addresses. */
const shownElsewhere: readonly string[] = ['index', 'addresses']

const fields = { ...interfaceFields, ...nameFields }
const names = [...new Set([...Object.keys(special), ...Object.keys(fields)])] as (keyof Interface)[]

export const requestedFields: ReadonlyMap<string, Field> = new Map(
  names
    .filter(field => !shownElsewhere.includes(field))
    .map(field => [field, special[field] ?? { requested: nic => textOf(nic.request?.[fields[field]]) }]),
)

function textOf(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
