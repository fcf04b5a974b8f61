import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { agentInput } from '../contract/agent-input.ts'
import { parseInput, parseShape } from './input.ts'

const good = {
  version: 1,
  mode: 'apply',
  nodeName: 'worker-1',
  generation: 7,
  specHash: 'abc',
  interfaces: [{ macAddress: 'FA:16:3E:00:00:01', address: '10.1.0.5', cidr: '10.1.0.0/24' }],
}

test('a valid input is completed with index, name and lower-case MAC address', () => {
  const { request, errors } = parseInput(JSON.stringify(good))
  assert.deepEqual(errors, [])
  assert.deepEqual(request?.interfaces, [
    { index: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:01', address: '10.1.0.5', cidr: '10.1.0.0/24' },
  ])
})

const nic = (more: object) => ({ ...good, interfaces: [{ ...good.interfaces[0], ...more }] })

const refused: Record<string, [input: unknown, ...expected: string[]]> = {
  'no input': [undefined, 'MULTINIC_INPUT: is not set'],
  'input that is not JSON': ['{', 'MULTINIC_INPUT: is not JSON'],
  'an unknown version and mode': [{ ...good, version: 2, mode: 'destroy' }, 'version:', 'mode:'],
  'eleven interfaces': [
    { ...good, interfaces: Array.from({ length: 11 }, () => good.interfaces[0]) },
    'interfaces: must have at most 10 entries',
  ],
  'two interfaces with one MAC address': [
    { ...good, interfaces: [good.interfaces[0], { ...good.interfaces[0], id: 1, address: '10.1.0.6' }] },
    'interfaces[1].macAddress',
  ],
  'two interfaces with one address': [
    { ...good, interfaces: [good.interfaces[0], { ...good.interfaces[0], macAddress: 'fa:16:3e:00:00:02' }] },
    'multinic1.address: 10.1.0.5 is also used by multinic0',
  ],
  'an MTU out of range': [nic({ mtu: 67 }), 'interfaces[0].mtu'],
  'a name that is a command line': [nic({ name: 'a; rm -rf /' }), 'interfaces[0].name'],
  'an address that is a command line': [nic({ address: '10.1.0.5 dev lo' }), 'interfaces[0].address'],
  'an allowed address pair that is a command line': [
    nic({ allowedAddressPairs: ['10.10.0.0/24', '10.10.0.7; reboot'] }),
    'interfaces[0].allowedAddressPairs[1]: must be an address or a network, such as 192.168.1.10/32 or 192.168.1.0/24',
  ],
  'more allowed address pairs than an interface may have': [
    nic({ allowedAddressPairs: Array(33).fill('10.10.0.0/24') }),
    'interfaces[0].allowedAddressPairs: must have at most 32 entries',
  ],
  'a route via a gateway of the other address family': [
    nic({ routes: [{ destination: '10.9.0.0/16', nexthop: 'fd00::1' }] }),
    'multinic0.routes[0].nexthop',
  ],
}

for (const [name, [input, ...expected]] of Object.entries(refused)) {
  test(`${name}: refused, and the error names the field`, () => {
    const text = typeof input === 'string' || input === undefined ? input : JSON.stringify(input)
    const { request, errors } = parseInput(text)
    assert.equal(request, undefined)
    const all = errors.map(({ path, message }) => `${path}: ${message}`).join('\n')
    for (const part of expected) assert.ok(all.includes(part), `${part} is not in: ${all}`)
  })
}

test('an address outside its CIDR is accepted here: the planner refuses only that NIC', () => {
  const { request, errors } = parseInput(JSON.stringify(nic({ address: '10.2.0.5' })))
  assert.deepEqual([request?.interfaces[0]?.address, errors], ['10.2.0.5', []])
})

test('allowed address pairs reach the request as sorted networks in canonical form', () => {
  const { request, errors } = parseInput(JSON.stringify(nic({ allowedAddressPairs: ['FD10::7', '10.10.0.7'] })))
  assert.deepEqual([request?.interfaces[0]?.allowedAddressPairs, errors], [['10.10.0.7/32', 'fd10::7/128'], []])
})

/** Valid values, almost valid ones and anything else, so that both parsers reach every branch. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, '', 'x', 0, 1, -1, 1.5, 9, 10, 67, 68, 9216, 9217, true, [], {}),
  fc.anything(),
)
const often = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 12, arbitrary: value as fc.Arbitrary<unknown> }, odd)
const ip = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.256', '::', 'fe80::1%eth0', '1.2.3'))
const cidr = fc.tuple(ip, fc.integer({ min: 0, max: 140 })).map(([address, prefix]) => `${address}/${prefix}`)
const hex = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 5, maxLength: 7 })
const mac = hex.map(bytes => bytes.map(byte => byte.toString(16).padStart(2, '0')).join(':'))
const network = fc.oneof(ip, cidr, fc.constantFrom('10.0.0.1/', '/24', '10.0.0.1/024', `${'0'.repeat(50)}/1`))
const anyInterface = fc.record(
  {
    macAddress: often(mac),
    id: often(fc.integer({ min: -1, max: 11 })),
    name: often(fc.integer({ min: 0, max: 11 }).map(id => `multinic${id}`)),
    portId: often(fc.string({ maxLength: 260 })),
    address: often(ip),
    cidr: often(cidr),
    mtu: often(fc.integer({ min: 60, max: 9300 })),
    addresses: often(fc.array(often(cidr), { maxLength: 3 })),
    gateway: often(ip),
    routes: often(fc.array(often(fc.record({ destination: often(cidr), nexthop: often(ip) })), { maxLength: 3 })),
    allowedAddressPairs: often(
      fc.oneof(
        fc.array(often(network), { maxLength: 3 }),
        fc.integer({ min: 31, max: 34 }).map(length => Array(length).fill('10.10.0.0/24')),
      ),
    ),
    networkId: often(fc.string()),
    subnetId: often(fc.string()),
    source: often(fc.string()),
    more: odd,
  },
  { requiredKeys: ['macAddress'] },
)
const anyInput = fc.record(
  {
    version: often(fc.constant(1)),
    mode: often(fc.constantFrom('apply', 'cleanup', 'check', 'plan')),
    nodeName: often(fc.string({ minLength: 1 })),
    instanceId: often(fc.string()),
    bootID: often(fc.string()),
    generation: often(fc.nat()),
    specHash: often(fc.string()),
    nodeAddresses: often(fc.array(often(ip), { maxLength: 18 })),
    podCIDRs: often(fc.array(often(cidr), { maxLength: 18 })),
    interfaces: often(fc.array(often(anyInterface), { maxLength: 3 })),
  },
  { requiredKeys: ['version', 'mode', 'nodeName', 'generation', 'specHash', 'interfaces'] },
)

test('our parser accepts exactly what the schema accepts', () => {
  fc.assert(
    fc.property(anyInput, input => {
      const text = JSON.stringify(input)
      const ours = parseShape(text)
      const schema = agentInput.safeParse(JSON.parse(text))
      assert.equal(
        ours.errors.length === 0,
        schema.success,
        `ours: ${JSON.stringify(ours.errors)} schema: ${JSON.stringify(schema.error?.issues)}`,
      )
    }),
    { numRuns: 2_000 },
  )
})
