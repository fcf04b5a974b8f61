/**
 * What one interface is, on every wire, and how an entry that leaves something out is completed.
 *
 * Free of dependencies: the agent reads the same shape. The schema of it is in `node-config.ts`.
 */
import { canonical, contains, networkOf, parseCidr, parseIp, parseMac, parseNetwork } from './address.ts'
import { hashOf } from './hash.ts'
import {
  type Interface,
  interfaceFields,
  maxInterfaces,
  nameFields,
  type WireField,
  type WireInterface,
} from './interface-fields.ts'
import { equalJson } from './json.ts'
import { unusableAddresses } from './special-addresses.ts'

export {
  type Interface,
  type InterfaceNames,
  interfaceFields,
  maxAddressPairs,
  maxInterfaces,
  nameFields,
  type Route,
  type WireField,
  type WireInterface,
} from './interface-fields.ts'

const fieldNames = Object.keys(interfaceFields) as (keyof typeof interfaceFields)[]
const allFields = Object.entries({ ...interfaceFields, ...nameFields })

export interface FieldError {
  path: string
  message: string
}

/** One copy of each name, however many interfaces have it. */
const names = Array.from({ length: maxInterfaces }, (_, index) => `multinic${index}`)

export function interfaceName(index: number): string {
  return names[index] ?? `multinic${index}`
}

export function interfaceIndex(name: string): number | undefined {
  const digit = /^multinic([0-9])$/.exec(name)?.[1]
  return digit === undefined ? undefined : Number(digit)
}

/** The wire form of an interface: the only place that turns `index` into `id`. */
export function toWireInterface(nic: Interface): WireInterface {
  const { index, ...rest } = nic
  return { id: index, ...rest }
}

/** The request alone: what equality and hashes are about. */
export function withoutNames(nic: Interface): Interface {
  const request: Record<string, unknown> = {}
  for (const field of fieldNames) if (nic[field] !== undefined) request[field] = nic[field]
  return request as unknown as Interface
}

/** Reports whether two interfaces are the same request. */
export function equalInterfaces(a: Interface, b: Interface): boolean {
  return a === b || fieldNames.every(field => equalJson(a[field], b[field]))
}

/**
 * Completes a list from the wire. A missing id comes from the name, a missing name from the id, both from the position.
 * Returns all mistakes at once, by path.
 */
export function completeInterfaces(
  inputs: readonly WireInterface[],
  at = 'interfaces',
  { outsideCidr = 'mistake' }: { outsideCidr?: 'mistake' | 'kept' } = {},
): { interfaces: Interface[]; errors: FieldError[] } {
  const errors: FieldError[] = []
  const interfaces = inputs.map((input, position) => completeOne(input, position, `${at}[${position}]`, errors))
  if (inputs.length > maxInterfaces)
    errors.push({ path: at, message: `has ${inputs.length} interfaces; a node has at most ${maxInterfaces}` })
  if (outsideCidr === 'mistake')
    for (const [position, nic] of interfaces.entries()) {
      const message = outsideItsCidr(nic)
      if (message) errors.push({ path: `${at}[${position}].address`, message })
    }
  for (const field of ['index', 'macAddress', 'portId'] as const) errors.push(...repeated(interfaces, field, at))
  interfaces.sort((a, b) => a.index - b.index)
  return { interfaces, errors }
}

/** Reports whether every field is set as `completeInterfaces` would set it: our own components write such lists. */
export function areComplete(inputs: readonly WireInterface[]): inputs is CompleteWireInterface[] {
  return inputs.every((input, position) => {
    const { id, name, macAddress } = input
    if (id === undefined) return false
    if (name !== interfaceName(id) || parseMac(macAddress) !== macAddress) return false
    if (id <= (inputs[position - 1]?.id ?? -1)) return false
    const { allowedAddressPairs: pairs } = input
    if (pairs && !equalJson(pairs, canonicalNetworks(pairs))) return false
    return Object.values(input).every(value => value !== '' && value !== undefined && !isEmptyList(value))
  })
}

export type CompleteWireInterface = Omit<Interface, 'index'> & { id: number }

/** The interfaces of a list from the wire. Mistakes in it were reported where it was accepted. */
export function fromWireInterfaces(inputs: readonly WireInterface[]): Interface[] {
  return areComplete(inputs) ? inputs.map(fromCompleteWire) : completeInterfaces(inputs).interfaces
}

/** Drops fields that the list does not know: another version may have sent them. */
function fromCompleteWire(input: CompleteWireInterface): Interface {
  const nic: Record<string, unknown> = {}
  for (const [field, wire] of allFields) if (input[wire] !== undefined) nic[field] = input[wire]
  return nic as unknown as Interface
}

/** What is wrong when the address of an interface is not in its own network. */
export function outsideItsCidr({ address, cidr }: Pick<Interface, 'address' | 'cidr'>): string | undefined {
  const ip = address ? parseIp(address) : undefined
  const network = cidr ? parseCidr(cidr) : undefined
  return ip && network && !contains(network, ip) ? `${address} is outside ${cidr}` : undefined
}

/** Every address of an interface with its prefix, the first one first; IPv4 and IPv6 in canonical form. */
export function addressesOf(nic: Pick<WireInterface, 'address' | 'cidr' | 'addresses'>): string[] {
  const cidr = nic.cidr === undefined ? undefined : parseCidr(nic.cidr)
  const first = cidr && nic.address !== undefined ? [`${nic.address}/${cidr.prefix}`] : []
  const all = [...first, ...(nic.addresses ?? [])].map(text => canonical(text) ?? text)
  return [...new Set(all)]
}

/**
 * Networks in canonical form, sorted and each once: Neutron lists allowed address pairs in any order, which must be no new
 * request. A text that is no network stays as it was written.
 */
export function canonicalNetworks(texts: readonly string[]): string[] {
  const all = texts.map(text => {
    const network = parseNetwork(text)
    return network ? networkOf(network) : text
  })
  return [...new Set(all)].sort()
}

/** The hash of what a node is asked to have. Order of interfaces, key order, letter case of MACs and names do not change it. */
export function specHash(spec: {
  nodeName: string
  instanceId?: string | undefined
  interfaces: readonly Interface[]
}): string {
  const interfaces = spec.interfaces
    .toSorted((a, b) => a.index - b.index)
    .map(nic => toWireInterface(withoutNames(nic)))
  return hashOf({ nodeName: spec.nodeName, instanceId: spec.instanceId || undefined, interfaces })
}

function completeOne(input: WireInterface, position: number, at: string, errors: FieldError[]): Interface {
  const fail = (field: WireField, message: string) => errors.push({ path: `${at}.${field}`, message })
  const macAddress = parseMac(input.macAddress)
  if (!macAddress) fail('macAddress', `"${input.macAddress}" is not a MAC address; write six hex pairs with colons`)

  const named = input.name ? interfaceIndex(input.name) : undefined
  if (input.name && named === undefined) fail('name', `"${input.name}" is not one of multinic0 to multinic9`)
  const index = input.id ?? named ?? position
  if (!Number.isInteger(index) || index < 0 || index >= maxInterfaces)
    fail('id', `${index} is not an integer from 0 to 9`)
  if (named !== undefined && named !== index)
    fail('name', `"${input.name}" must be ${interfaceName(index)}, because id is ${index}`)

  checkAddresses(input, (path, message) => errors.push({ path: `${at}.${path}`, message }))
  const pairs = input.allowedAddressPairs ?? []
  return fromCompleteWire({
    ...withoutEmpty(input),
    ...(pairs.length > 0 && { allowedAddressPairs: canonicalNetworks(pairs) }),
    id: index,
    name: interfaceName(index),
    macAddress: macAddress ?? input.macAddress,
  })
}

function checkAddresses(input: WireInterface, fail: (field: string, message: string) => void): void {
  const address = input.address ? parseIp(input.address) : undefined
  const cidr = input.cidr ? parseCidr(input.cidr) : undefined
  if (input.address && !address) fail('address', `"${input.address}" is not an IP address`)
  if (input.cidr && !cidr) fail('cidr', `"${input.cidr}" is not a network in CIDR form, such as 192.168.1.0/24`)
  if (address && !input.cidr) fail('cidr', `is required with address ${input.address}`)
  for (const [index, text] of (input.addresses ?? []).entries())
    if (!parseCidr(text))
      fail(`addresses[${index}]`, `"${text}" is not an address with prefix, such as 192.168.1.10/24`)
  unusableAddresses(input, fail)
  if (input.gateway && !parseIp(input.gateway)) fail('gateway', `"${input.gateway}" is not an IP address`)
  for (const [index, route] of (input.routes ?? []).entries()) {
    if (!parseCidr(route.destination))
      fail(`routes[${index}].destination`, `"${route.destination}" is not a network in CIDR form`)
    if (!parseIp(route.nexthop)) fail(`routes[${index}].nexthop`, `"${route.nexthop}" is not an IP address`)
  }
  for (const [index, text] of (input.allowedAddressPairs ?? []).entries())
    if (!parseNetwork(text))
      fail(
        `allowedAddressPairs[${index}]`,
        `"${text}" is not an address or a network, such as 192.168.1.10/32 or 192.168.1.0/24`,
      )
  if (input.mtu !== undefined && (!Number.isInteger(input.mtu) || input.mtu < 68 || input.mtu > 9216))
    fail('mtu', `${input.mtu} is not a whole number from 68 to 9216`)
}

function repeated(
  interfaces: readonly Interface[],
  field: 'index' | 'macAddress' | 'portId',
  at: string,
): FieldError[] {
  const seen = new Map<unknown, number>()
  return interfaces.flatMap((nic, position) => {
    const value = nic[field]
    const first = seen.get(value)
    if (value !== undefined && first !== undefined)
      return [
        { path: `${at}[${position}].${interfaceFields[field]}`, message: `${value} is also used by ${at}[${first}]` },
      ]
    seen.set(value, position)
    return []
  })
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function withoutEmpty(input: WireInterface): CompleteWireInterface {
  const set = Object.entries(input).filter(([, value]) => value !== '' && !isEmptyList(value))
  return Object.fromEntries(set) as unknown as CompleteWireInterface
}
