/**
 * What one interface is, on every wire, and how an entry that leaves something out is completed.
 *
 * Free of dependencies: the agent reads the same shape. The schema of it is in `node-config.ts`.
 */
import { canonical, contains, parseCidr, parseIp, parseMac } from './address.ts'
import { hashOf } from './hash.ts'

export const maxInterfaces = 10

export interface Route {
  destination: string
  nexthop: string
}

/** An interface as people may write it: only the MAC is required. */
export interface InterfaceInput {
  portId?: string | undefined
  id?: number | undefined
  name?: string | undefined
  macAddress: string
  address?: string | undefined
  cidr?: string | undefined
  mtu?: number | undefined
  addresses?: string[] | undefined
  gateway?: string | undefined
  routes?: Route[] | undefined
  networkId?: string | undefined
  subnetId?: string | undefined
  source?: string | undefined
}

/** An interface as our parts pass it on: numbered, named, MAC in lower case, every address with its prefix. */
export interface Interface {
  id: number
  name: string
  macAddress: string
  portId?: string
  address?: string
  cidr?: string
  mtu?: number
  addresses?: string[]
  gateway?: string
  routes?: Route[]
  networkId?: string
  subnetId?: string
  source?: string
}

export interface FieldError {
  path: string
  message: string
}

export function interfaceName(id: number): string {
  return `multinic${id}`
}

export function interfaceId(name: string): number | undefined {
  const digit = /^multinic([0-9])$/.exec(name)?.[1]
  return digit === undefined ? undefined : Number(digit)
}

/**
 * Completes a list: a missing id comes from the name, a missing name from the id, both from the position. All mistakes
 * are returned at once, by path.
 */
export function completeInterfaces(
  inputs: readonly InterfaceInput[],
  at = 'interfaces',
  { outsideCidr = 'mistake' }: { outsideCidr?: 'mistake' | 'kept' } = {},
): { interfaces: Interface[]; errors: FieldError[] } {
  const errors: FieldError[] = []
  const interfaces = inputs.map((input, index) => completeOne(input, index, `${at}[${index}]`, errors))
  if (inputs.length > maxInterfaces)
    errors.push({ path: at, message: `has ${inputs.length} interfaces; a node has at most ${maxInterfaces}` })
  if (outsideCidr === 'mistake')
    for (const [index, nic] of interfaces.entries()) {
      const message = outsideItsCidr(nic)
      if (message) errors.push({ path: `${at}[${index}].address`, message })
    }
  for (const key of ['id', 'macAddress', 'portId'] as const) errors.push(...repeated(interfaces, key, at))
  interfaces.sort((a, b) => a.id - b.id)
  return { interfaces, errors }
}

/** Reports whether `completeInterfaces` would return the list as it is: what our own parts wrote need not be made anew. */
export function areComplete(inputs: readonly InterfaceInput[]): inputs is Interface[] {
  return inputs.every((input, index) => {
    const { id, name, macAddress } = input
    if (id === undefined || name !== interfaceName(id) || parseMac(macAddress) !== macAddress) return false
    if (index > 0 && id <= (inputs[index - 1]?.id ?? -1)) return false
    return Object.values(input).every(value => value !== '' && value !== undefined && !isEmptyList(value))
  })
}

/** What is wrong when the address of an interface is not in its own network. */
export function outsideItsCidr({ address, cidr }: Pick<Interface, 'address' | 'cidr'>): string | undefined {
  const [ip, network] = [parseIp(address ?? ''), parseCidr(cidr ?? '')]
  return ip && network && !contains(network, ip) ? `${address} is outside ${cidr}` : undefined
}

/** Every address of an interface with its prefix, the first one first; IPv4 and IPv6 in canonical form. */
export function addressesOf(nic: Pick<Interface, 'address' | 'cidr' | 'addresses'>): string[] {
  const cidr = nic.cidr === undefined ? undefined : parseCidr(nic.cidr)
  const first = cidr && nic.address !== undefined ? [`${nic.address}/${cidr.prefix}`] : []
  const all = [...first, ...(nic.addresses ?? [])].map(text => canonical(text) ?? text)
  return [...new Set(all)]
}

/** The hash of what a node is asked to have. Order of interfaces, key order and letter case of MACs do not change it. */
export function specHash(spec: {
  nodeName: string
  instanceId?: string | undefined
  interfaces: readonly Interface[]
}): string {
  const interfaces = [...spec.interfaces].sort((a, b) => a.id - b.id)
  return hashOf({ nodeName: spec.nodeName, instanceId: spec.instanceId || undefined, interfaces })
}

function completeOne(input: InterfaceInput, index: number, at: string, errors: FieldError[]): Interface {
  const fail = (field: string, message: string) => errors.push({ path: `${at}.${field}`, message })
  const macAddress = parseMac(input.macAddress)
  if (!macAddress) fail('macAddress', `"${input.macAddress}" is not a MAC address; write six hex pairs with colons`)

  const named = input.name ? interfaceId(input.name) : undefined
  if (input.name && named === undefined) fail('name', `"${input.name}" is not one of multinic0 to multinic9`)
  const id = input.id ?? named ?? index
  if (!Number.isInteger(id) || id < 0 || id >= maxInterfaces) fail('id', `${id} is not a whole number from 0 to 9`)
  if (named !== undefined && named !== id) fail('name', `"${input.name}" must be ${interfaceName(id)}, as id is ${id}`)

  checkAddresses(input, fail)
  return {
    id,
    name: interfaceName(id),
    macAddress: macAddress ?? input.macAddress,
    ...present('portId', input.portId),
    ...present('address', input.address),
    ...present('cidr', input.cidr),
    ...present('mtu', input.mtu),
    ...present('addresses', input.addresses?.length ? input.addresses : undefined),
    ...present('gateway', input.gateway),
    ...present('routes', input.routes?.length ? input.routes : undefined),
    ...present('networkId', input.networkId),
    ...present('subnetId', input.subnetId),
    ...present('source', input.source),
  }
}

function checkAddresses(input: InterfaceInput, fail: (field: string, message: string) => void): void {
  const address = input.address ? parseIp(input.address) : undefined
  const cidr = input.cidr ? parseCidr(input.cidr) : undefined
  if (input.address && !address) fail('address', `"${input.address}" is not an IP address`)
  if (input.cidr && !cidr) fail('cidr', `"${input.cidr}" is not a network in CIDR form, such as 192.168.1.0/24`)
  if (address && !input.cidr) fail('cidr', `is needed beside address ${input.address}`)
  for (const [index, text] of (input.addresses ?? []).entries())
    if (!parseCidr(text))
      fail(`addresses[${index}]`, `"${text}" is not an address with prefix, such as 192.168.1.10/24`)
  if (input.gateway && !parseIp(input.gateway)) fail('gateway', `"${input.gateway}" is not an IP address`)
  for (const [index, route] of (input.routes ?? []).entries()) {
    if (!parseCidr(route.destination))
      fail(`routes[${index}].destination`, `"${route.destination}" is not a network in CIDR form`)
    if (!parseIp(route.nexthop)) fail(`routes[${index}].nexthop`, `"${route.nexthop}" is not an IP address`)
  }
  if (input.mtu !== undefined && (!Number.isInteger(input.mtu) || input.mtu < 68 || input.mtu > 9216))
    fail('mtu', `${input.mtu} is not a whole number from 68 to 9216`)
}

function repeated(interfaces: readonly Interface[], key: 'id' | 'macAddress' | 'portId', at: string): FieldError[] {
  const seen = new Map<unknown, number>()
  return interfaces.flatMap((nic, index) => {
    const value = nic[key]
    const first = seen.get(value)
    if (value !== undefined && first !== undefined)
      return [{ path: `${at}[${index}].${key}`, message: `${value} is used by ${at}[${first}] too` }]
    seen.set(value, index)
    return []
  })
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined || value === '' ? {} : { [key]: value }) as { [P in K]?: V }
}
