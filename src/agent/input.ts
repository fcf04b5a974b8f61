/**
 * Parses and validates the request that the Job carries as JSON. All errors are reported at once, by path.
 *
 * The schema is `contract/agent-input.ts`. This parser has no dependency; a property test compares the two.
 */
import { parseCidr, parseIp, parseNetwork } from '../contract/address.ts'
import type { AgentInput, AgentMode, NodeAddress } from '../contract/agent-input.ts'
import {
  completeInterfaces,
  type FieldError,
  type Interface,
  type interfaceFields,
  maxAddressPairs,
} from '../contract/interfaces.ts'
import { isJsonObject } from '../contract/json.ts'

export interface AgentRequest {
  mode: AgentMode
  nodeName: string
  instanceId?: string
  bootID?: string
  generation: number
  specHash: string
  nodeAddresses: string[]
  podCIDRs: string[]
  serviceCIDRs: string[]
  addressesOfNodes: NodeAddress[]
  interfaces: Interface[]
}

const modes: readonly AgentMode[] = ['apply', 'cleanup', 'check', 'plan']

type Fail = (path: string, message: string) => void

export function parseInput(text: string | undefined): { request?: AgentRequest; errors: FieldError[] } {
  const { input, errors: invalid } = parseShape(text)
  if (!input) return { errors: invalid }
  const { interfaces, errors } = completeInterfaces(input.interfaces, 'interfaces', { outsideCidr: 'kept' })
  checkAddresses(interfaces, (path, message) => errors.push({ path, message }))
  if (errors.length > 0) return { errors }
  return {
    request: {
      mode: input.mode,
      nodeName: input.nodeName,
      ...(input.instanceId ? { instanceId: input.instanceId } : {}),
      ...(input.bootID ? { bootID: input.bootID } : {}),
      generation: input.generation,
      specHash: input.specHash,
      nodeAddresses: input.nodeAddresses ?? [],
      podCIDRs: input.podCIDRs ?? [],
      serviceCIDRs: input.serviceCIDRs ?? [],
      addressesOfNodes: input.addressesOfNodes ?? [],
      interfaces,
    },
    errors: [],
  }
}

/** Accepts exactly what the schema accepts, and ignores unknown keys like the schema. */
export function parseShape(text: string | undefined): { input?: AgentInput; errors: FieldError[] } {
  const errors: FieldError[] = []
  const fail: Fail = (path, message) => errors.push({ path, message })
  if (text === undefined || text === '') fail('MULTINIC_INPUT', 'is not set')
  else {
    const document = parseJson(text, fail)
    if (document !== undefined) checkInput(document, fail)
    if (errors.length === 0) return { input: document as AgentInput, errors }
  }
  return { errors }
}

function parseJson(text: string, fail: Fail): unknown {
  try {
    return JSON.parse(text)
  } catch {
    fail('MULTINIC_INPUT', 'is not JSON')
    return undefined
  }
}

function checkInput(document: unknown, fail: Fail): void {
  if (!isJsonObject(document)) {
    fail('MULTINIC_INPUT', 'is not an object')
    return
  }
  if (document['version'] !== 1) fail('version', `must be 1`)
  if (!modes.some(mode => mode === document['mode'])) fail('mode', `must be one of ${modes.join(', ')}`)
  text(document, 'nodeName', fail, { min: 1, max: 253 })
  text(document, 'instanceId', fail, { max: 253, optional: true })
  text(document, 'bootID', fail, { max: 253, optional: true })
  integer(document, 'generation', fail, { max: Number.MAX_SAFE_INTEGER })
  text(document, 'specHash', fail, { max: 128 })
  for (const [key, length] of [
    ['nodeAddresses', 45],
    ['podCIDRs', 49],
    ['serviceCIDRs', 49],
  ] as const)
    list(document, key, fail, { max: 16, optional: true }, (item, path) => {
      if (typeof item !== 'string' || item.length > length)
        fail(path, `must be a string of at most ${length} characters`)
    })
  list(document, 'addressesOfNodes', fail, { max: 16, optional: true }, (item, path) => {
    const failIn: Fail = (key, message) => fail(`${path}.${key}`, message)
    const entry = isJsonObject(item) ? item : {}
    text(entry, 'address', failIn, { max: 45 })
    text(entry, 'nodeName', failIn, { max: 253 })
  })
  list(document, 'interfaces', fail, { max: 10 }, (item, path) => checkInterface(item, path, fail))
}

function checkInterface(nic: unknown, at: string, fail: Fail): void {
  if (!isJsonObject(nic)) {
    fail(at, 'must be an object')
    return
  }
  const failAt: Fail = (path, message) => fail(`${at}.${path}`, message)
  for (const [key, check] of Object.entries(interfaceChecks)) check(nic, key, failAt)
}

type Check = (nic: Record<string, unknown>, key: string, fail: Fail) => void

const opaqueId: Check = (nic, key, fail) => text(nic, key, fail, { min: 1, max: 253, optional: true })
const optionalIp: Check = (nic, key, fail) => ip(nic, key, fail, true)

/** The agent does not read the names of an interface. */
const interfaceChecks = {
  portId: opaqueId,
  networkId: opaqueId,
  subnetId: opaqueId,
  source: (nic, key, fail) => text(nic, key, fail, { max: 507, optional: true }),
  id: (nic, key, fail) => integer(nic, key, fail, { max: 9, optional: true }),
  mtu: (nic, key, fail) => integer(nic, key, fail, { min: 68, max: 9216, optional: true }),
  name: (nic, key, fail) =>
    text(nic, key, fail, { max: 9, optional: true, pattern: /^multinic[0-9]$/, as: 'multinic0 to multinic9' }),
  macAddress: (nic, key, fail) =>
    text(nic, key, fail, {
      max: 17,
      pattern: /^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$/,
      as: 'six hex pairs separated by colons',
    }),
  address: optionalIp,
  gateway: optionalIp,
  cidr: (nic, key, fail) => cidr(nic, key, fail, true),
  addresses: (nic, key, fail) =>
    list(nic, key, fail, { max: 32, optional: true }, (item, path) => cidr({ [path]: item }, path, fail, false)),
  routes: (nic, key, fail) =>
    list(nic, key, fail, { max: 64, optional: true }, (item, path) => {
      const failIn: Fail = (key, message) => fail(`${path}.${key}`, message)
      const route = isJsonObject(item) ? item : {}
      cidr(route, 'destination', failIn, false)
      ip(route, 'nexthop', failIn, false)
    }),
  allowedAddressPairs: (nic, key, fail) =>
    list(nic, key, fail, { max: maxAddressPairs, optional: true }, (item, path) => {
      if (typeof item !== 'string' || item.length > 49 || !parseNetwork(item))
        fail(path, 'must be an address or a network, such as 192.168.1.10/32 or 192.168.1.0/24')
    }),
} satisfies Record<(typeof interfaceFields)[keyof typeof interfaceFields], Check>

/** The gateway of a route must have the family of its destination, and an address may occur only once. */
function checkAddresses(interfaces: readonly Interface[], fail: Fail): void {
  const seen = new Map<string, string>()
  for (const nic of interfaces) {
    for (const [index, route] of (nic.routes ?? []).entries())
      if (parseCidr(route.destination)?.family !== parseIp(route.nexthop)?.family)
        fail(
          `${nic.name}.routes[${index}].nexthop`,
          `${route.nexthop} and ${route.destination} must be of the same address family`,
        )
    for (const address of [nic.address, ...(nic.addresses ?? []).map(entry => entry.split('/')[0])]) {
      const ip = address === undefined ? undefined : parseIp(address)
      if (!ip) continue
      const key = `${ip.family}:${ip.value}`
      const other = seen.get(key)
      if (other && other !== nic.name) fail(`${nic.name}.address`, `${address} is also used by ${other}`)
      seen.set(key, nic.name)
    }
  }
}

interface TextRule {
  min?: number
  max: number
  optional?: boolean
  pattern?: RegExp
  as?: string
}

function text(record: Record<string, unknown>, key: string, fail: Fail, rule: TextRule): void {
  const value = record[key]
  if (value === undefined && rule.optional) return
  if (typeof value !== 'string') fail(key, 'must be a string')
  else if (value.length < (rule.min ?? 0)) fail(key, 'must not be empty')
  else if (value.length > rule.max) fail(key, `must have at most ${rule.max} characters`)
  else if (rule.pattern && !rule.pattern.test(value)) fail(key, `must be ${rule.as}`)
}

function ip(record: Record<string, unknown>, key: string, fail: Fail, optional: boolean): void {
  const value = record[key]
  if (value === undefined && optional) return
  if (typeof value !== 'string' || value.length > 45 || !parseIp(value)) fail(key, 'must be an IPv4 or IPv6 address')
}

function cidr(record: Record<string, unknown>, key: string, fail: Fail, optional: boolean): void {
  const value = record[key]
  if (value === undefined && optional) return
  if (typeof value !== 'string' || value.length > 49 || !parseCidr(value))
    fail(key, 'must be in CIDR notation, such as 192.168.1.0/24')
}

function integer(
  record: Record<string, unknown>,
  key: string,
  fail: Fail,
  { min = 0, max, optional }: { min?: number; max: number; optional?: boolean },
): void {
  const value = record[key]
  if (value === undefined && optional) return
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    fail(key, `must be an integer from ${min} to ${max}`)
}

function list(
  record: Record<string, unknown>,
  key: string,
  fail: Fail,
  { max, optional }: { max: number; optional?: boolean },
  check: (item: unknown, path: string) => void,
): void {
  const value = record[key]
  if (value === undefined && optional) return
  if (!Array.isArray(value)) fail(key, 'must be a list')
  else if (value.length > max) fail(key, `must have at most ${max} entries`)
  else for (const [index, item] of value.entries()) check(item, `${key}[${index}]`)
}
