import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inputInterface, interfaceHash } from './interface-hash.ts'
import {
  addressesOf,
  areComplete,
  completeInterfaces,
  equalInterfaces,
  fromWireInterfaces,
  type Interface,
  type InterfaceNames,
  specHash,
  toWireInterface,
  type WireInterface,
} from './interfaces.ts'

const mac = (n: number) => `fa:16:3e:00:00:0${n}`
const nic = (more: Partial<WireInterface> = {}): WireInterface => ({ macAddress: mac(0), ...more })

test('an entry is completed from its name, then its id, then its position', () => {
  const { interfaces, errors } = completeInterfaces([
    nic({ macAddress: mac(1), name: 'multinic7' }),
    nic({ macAddress: mac(2), id: 3 }),
    nic({ macAddress: mac(3) }),
  ])
  assert.deepEqual(errors, [])
  assert.deepEqual(
    interfaces.map(({ index: id, name, macAddress }) => `${id} ${name} ${macAddress}`),
    [`2 multinic2 ${mac(3)}`, `3 multinic3 ${mac(2)}`, `7 multinic7 ${mac(1)}`],
  )
})

const mistakes: Record<string, [WireInterface[], string]> = {
  'a MAC with dashes': [
    [nic({ macAddress: 'fa-16-3e-00-00-01' })],
    'interfaces[0].macAddress: "fa-16-3e-00-00-01" is not a MAC address; write six hex pairs with colons',
  ],
  'a foreign name': [[nic({ name: 'eth0' })], 'interfaces[0].name: "eth0" is not one of multinic0 to multinic9'],
  'a name that is not the id': [
    [nic({ name: 'multinic1', id: 2 })],
    'interfaces[0].name: "multinic1" must be multinic2, because id is 2',
  ],
  'an id above nine': [[nic({ id: 10 })], 'interfaces[0].id: 10 is not an integer from 0 to 9'],
  'the same id twice': [
    [nic({ id: 1 }), nic({ id: 1, macAddress: mac(2) })],
    'interfaces[1].id: 1 is also used by interfaces[0]',
  ],
  'the same MAC in two cases': [
    [nic({ macAddress: 'FA:16:3E:00:00:00' }), nic()],
    `interfaces[1].macAddress: ${mac(0)} is also used by interfaces[0]`,
  ],
  'an address outside its network': [
    [nic({ address: '10.0.1.5', cidr: '10.0.0.0/24' })],
    'interfaces[0].address: 10.0.1.5 is outside 10.0.0.0/24',
  ],
  'an address without network': [
    [nic({ address: '10.0.1.5' })],
    'interfaces[0].cidr: is required with address 10.0.1.5',
  ],
  'an MTU that no device has': [[nic({ mtu: 60 })], 'interfaces[0].mtu: 60 is not a whole number from 68 to 9216'],
  'a route to nowhere': [
    [nic({ routes: [{ destination: '10.0.0.0', nexthop: 'x' }] })],
    'interfaces[0].routes[0].destination: "10.0.0.0" is not a network in CIDR form',
  ],
}
for (const [name, [inputs, expected]] of Object.entries(mistakes)) {
  test(`${name} is named by its path`, () => {
    const { errors } = completeInterfaces(inputs)
    assert.equal(errors.map(({ path, message }) => `${path}: ${message}`)[0], expected)
  })
}

test('eleven interfaces are too many', () => {
  const { errors } = completeInterfaces(
    Array.from({ length: 11 }, (_, i) => nic({ macAddress: `fa:16:3e:00:00:${i + 10}` })),
  )
  assert.ok(errors.some(error => error.path === 'interfaces' && error.message.includes('at most 10')))
})

test('both spellings of a cidr give the same addresses', () => {
  assert.deepEqual(addressesOf({ address: '192.168.1.10', cidr: '192.168.1.0/24' }), ['192.168.1.10/24'])
  assert.deepEqual(addressesOf({ address: '192.168.1.10', cidr: '192.168.1.10/24' }), ['192.168.1.10/24'])
  assert.deepEqual(addressesOf({ address: '10.0.0.1', cidr: '10.0.0.0/8', addresses: ['10.0.0.1/8', 'FD00::1/64'] }), [
    '10.0.0.1/8',
    'fd00::1/64',
  ])
})

test('the hash does not see order, case or absent keys, and sees everything else', () => {
  const of = (inputs: WireInterface[]) =>
    specHash({ nodeName: 'w1', instanceId: '', interfaces: completeInterfaces(inputs).interfaces })
  const one = nic({ id: 0, macAddress: mac(1), mtu: 1500 })
  const two = nic({ id: 1, macAddress: mac(2), portId: '' })
  assert.equal(
    of([one, two]),
    of([
      { ...two, portId: undefined },
      { mtu: 1500, id: 0, macAddress: mac(1).toUpperCase() },
    ]),
  )
  assert.notEqual(of([one, two]), of([{ ...one, mtu: 1450 }, two]))
  assert.match(of([one]), /^[0-9a-f]{64}$/)
})

test('a list is complete exactly when completing it changes nothing', () => {
  const full = { id: 1, name: 'multinic1', macAddress: mac(1), addresses: ['10.0.0.1/24'] }
  const lists: WireInterface[][] = [
    [],
    [full],
    [nic()],
    [{ ...full, macAddress: mac(1).toUpperCase() }],
    [{ ...full, name: 'multinic2' }],
    [{ ...full, portId: '' }],
    [{ ...full, routes: [] }],
    [full, { ...full, id: 0, name: 'multinic0' }],
    [full, { ...full, id: 2, name: 'multinic2', macAddress: mac(2) }],
  ]
  assert.deepEqual(
    lists.map(list => areComplete(list)),
    lists.map(
      list => JSON.stringify(completeInterfaces(list).interfaces.map(toWireInterface)) === JSON.stringify(list),
    ),
  )
})

const sample: Required<Interface> = {
  index: 1,
  name: 'multinic1',
  macAddress: mac(1),
  portId: 'port-1',
  address: '10.0.0.1',
  cidr: '10.0.0.0/24',
  mtu: 1500,
  addresses: ['10.0.0.1/24'],
  gateway: '10.0.0.254',
  routes: [{ destination: '10.9.0.0/16', nexthop: '10.0.0.2' }],
  networkId: 'net-1',
  subnetId: 'subnet-1',
  source: 'ns/one',
  subnetName: 'storage',
  networkName: 'storage-net',
  alias: 'multinic1',
}
const changed: { [field in Exclude<keyof Interface, keyof InterfaceNames>]-?: Interface[field] } = {
  index: 2,
  name: 'multinic2',
  macAddress: mac(2),
  portId: 'port-2',
  address: '10.0.0.2',
  cidr: '10.0.0.0/25',
  mtu: 9000,
  addresses: ['10.0.0.1/24', 'fd00::1/64'],
  gateway: '10.0.0.253',
  routes: [{ destination: '10.9.0.0/16', nexthop: '10.0.0.3' }],
  networkId: 'net-2',
  subnetId: 'subnet-2',
  source: 'ns/two',
}
for (const field of Object.keys(changed) as (keyof typeof changed)[]) {
  const other = { ...sample, [field]: changed[field] } as Required<Interface>
  test(`a change of ${field} alone makes interfaces differ, changes the hash, and survives the wire`, () => {
    assert.equal(equalInterfaces(sample, structuredClone(sample)), true)
    assert.equal(equalInterfaces(sample, other), false)
    const hash = (nic: Interface) => specHash({ nodeName: 'w1', interfaces: [nic] })
    assert.notEqual(hash(sample), hash(other))
    const [back] = fromWireInterfaces([toWireInterface(other)])
    // The name follows the index, and the other way around.
    const expected =
      field === 'name' ? { ...other, name: sample.name } : field === 'index' ? { ...other, name: 'multinic2' } : other
    assert.deepEqual(back, expected)
  })
  test(`${field} is part of a completed list`, () => {
    const [back] = completeInterfaces([{ ...toWireInterface(sample), name: undefined }]).interfaces
    assert.deepEqual(back?.[field], sample[field])
  })
}

const renamed: Required<InterfaceNames> = { subnetName: 'other', networkName: 'other', alias: 'other' }
for (const field of Object.keys(renamed) as (keyof InterfaceNames)[]) {
  const other = { ...sample, [field]: renamed[field] }
  test(`experience M10: ${field} survives the wire, and is no part of equality, hashes or the input of the agent`, () => {
    const [back] = fromWireInterfaces([toWireInterface(other)])
    assert.equal(back?.[field], renamed[field])
    const [completed] = completeInterfaces([{ ...toWireInterface(other), name: undefined }]).interfaces
    assert.equal(completed?.[field], renamed[field])
    assert.equal(equalInterfaces(sample, other), true)
    const hash = (nic: Interface) => specHash({ nodeName: 'w1', interfaces: [nic] })
    assert.equal(hash(sample), hash(other))
    assert.equal(interfaceHash(sample), interfaceHash(other))
    assert.equal(field in inputInterface(other), false)
  })
}

test('the hash of a request is the one of versions without names', () => {
  const { subnetName: _, networkName: __, alias: ___, ...older } = sample
  const hash = (nic: Interface) => specHash({ nodeName: 'w1', instanceId: 'vm-1', interfaces: [nic] })
  assert.equal(hash(sample), hash(older))
  assert.equal(hash(older), 'ce7f6a765d87db855bc7534880250e970f317087697142b00a6834906d4ca197')
})
