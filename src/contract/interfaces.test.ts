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
  interfaceIndex,
  interfaceName,
  outsideItsCidr,
  specHash,
  toWireInterface,
  type WireInterface,
} from './interfaces.ts'

const mac = (n: number) => `fa:16:3e:00:00:0${n}`
const nic = (more: Partial<WireInterface> = {}): WireInterface => ({ macAddress: mac(0), ...more })
const route = { destination: '10.9.0.0/16', nexthop: '10.0.0.2' }

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

const mistakes: Record<string, [WireInterface[], ...expected: string[]]> = {
  'a MAC with dashes': [
    [nic({ macAddress: 'fa-16-3e-00-00-01' })],
    'interfaces[0].macAddress: "fa-16-3e-00-00-01" is not a MAC address; write six hex pairs with colons',
  ],
  'a foreign name': [[nic({ name: 'eth0' })], 'interfaces[0].name: "eth0" is not one of multinic0 to multinic9'],
  'a name that ends as ours': [
    [nic({ name: 'xmultinic1' })],
    'interfaces[0].name: "xmultinic1" is not one of multinic0 to multinic9',
  ],
  'a name with two digits': [
    [nic({ name: 'multinic10' })],
    'interfaces[0].name: "multinic10" is not one of multinic0 to multinic9',
  ],
  'a name that is not the id': [
    [nic({ name: 'multinic1', id: 2 })],
    'interfaces[0].name: "multinic1" must be multinic2, because id is 2',
  ],
  'an id above nine': [[nic({ id: 10 })], 'interfaces[0].id: 10 is not an integer from 0 to 9'],
  'an id below zero': [[nic({ id: -1 })], 'interfaces[0].id: -1 is not an integer from 0 to 9'],
  'an id that is no integer': [[nic({ id: 1.5 })], 'interfaces[0].id: 1.5 is not an integer from 0 to 9'],
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
  'the same port three times': [
    [nic({ portId: 'p' }), nic({ portId: 'p', macAddress: mac(1) }), nic({ portId: 'p', macAddress: mac(2) })],
    'interfaces[1].portId: p is also used by interfaces[0]',
    'interfaces[2].portId: p is also used by interfaces[0]',
  ],
  'an address outside the second network': [
    [nic(), nic({ macAddress: mac(1), address: 'fd01::1', cidr: 'fd00::/64' })],
    'interfaces[1].address: fd01::1 is outside fd00::/64',
  ],
  'an address that is none': [
    [nic({ address: '10.0.0.256', cidr: '10.0.0.0/24' })],
    'interfaces[0].address: "10.0.0.256" is not an IP address',
  ],
  'an address that is none, without network': [
    [nic({ address: 'x' })],
    'interfaces[0].address: "x" is not an IP address',
  ],
  'a network that is none': [
    [nic({ address: '10.0.0.1', cidr: '10.0.0.0' })],
    'interfaces[0].cidr: "10.0.0.0" is not a network in CIDR form, such as 192.168.1.0/24',
  ],
  'a further address without prefix': [
    [nic({ addresses: ['10.0.0.1/24', 'fd00::1'] })],
    'interfaces[0].addresses[1]: "fd00::1" is not an address with prefix, such as 192.168.1.10/24',
  ],
  'a gateway that is none': [
    [nic({ gateway: '10.0.0.0/24' })],
    'interfaces[0].gateway: "10.0.0.0/24" is not an IP address',
  ],
  'an MTU that no device has': [[nic({ mtu: 67 })], 'interfaces[0].mtu: 67 is not a whole number from 68 to 9216'],
  'an MTU above the largest': [[nic({ mtu: 9217 })], 'interfaces[0].mtu: 9217 is not a whole number from 68 to 9216'],
  'an MTU that is no whole number': [
    [nic({ mtu: 1500.5 })],
    'interfaces[0].mtu: 1500.5 is not a whole number from 68 to 9216',
  ],
  'a route to nowhere': [
    [nic({ routes: [{ destination: '10.0.0.0', nexthop: 'x' }] })],
    'interfaces[0].routes[0].destination: "10.0.0.0" is not a network in CIDR form',
    'interfaces[0].routes[0].nexthop: "x" is not an IP address',
  ],
  'the second route': [
    [nic({ routes: [route, { ...route, nexthop: '10.0.0.0/8' }] })],
    'interfaces[0].routes[1].nexthop: "10.0.0.0/8" is not an IP address',
  ],
  'an allowed address pair that is none': [
    [nic({ allowedAddressPairs: ['10.10.0.0/24', '10.10.0.0/33', 'x'] })],
    'interfaces[0].allowedAddressPairs[1]: "10.10.0.0/33" is not an address or a network, such as 192.168.1.10/32 or 192.168.1.0/24',
    'interfaces[0].allowedAddressPairs[2]: "x" is not an address or a network, such as 192.168.1.10/32 or 192.168.1.0/24',
  ],
  'eleven interfaces': [
    Array.from({ length: 11 }, (_, index) => nic({ macAddress: `fa:16:3e:00:00:${index + 10}` })),
    'interfaces[10].id: 10 is not an integer from 0 to 9',
    'interfaces: has 11 interfaces; a node has at most 10',
  ],
  'a mistake in each of two entries': [
    [nic({ macAddress: 'x', mtu: 1 }), nic({ name: 'y', gateway: 'z' })],
    'interfaces[0].macAddress: "x" is not a MAC address; write six hex pairs with colons',
    'interfaces[0].mtu: 1 is not a whole number from 68 to 9216',
    'interfaces[1].name: "y" is not one of multinic0 to multinic9',
    'interfaces[1].gateway: "z" is not an IP address',
  ],
}
for (const [name, [inputs, ...expected]] of Object.entries(mistakes)) {
  test(`a mistake is named by its path: ${name}`, () => {
    const { errors } = completeInterfaces(inputs)
    assert.deepEqual(
      errors.map(({ path, message }) => `${path}: ${message}`),
      expected,
    )
  })
}

const accepted: Record<string, Partial<WireInterface>> = {
  'the smallest MTU': { mtu: 68 },
  'the largest MTU': { mtu: 9216 },
  'the first id with its name': { id: 0, name: 'multinic0' },
  'the last id': { id: 9 },
  'the last name': { name: 'multinic9' },
  'a network without address': { cidr: '10.0.0.0/24' },
  'the address with its prefix instead of the network': { address: '10.0.0.1', cidr: '10.0.0.1/24' },
  'an address of each family': { addresses: ['10.0.0.1/24', 'fd00::1/64'], gateway: 'fd00::ffff' },
  'a route': { routes: [route] },
  'an address, a network and an address of the other family': {
    allowedAddressPairs: ['10.10.0.7', '10.10.0.0/24', 'fd10::7'],
  },
  'what older operators send for unknown values': {
    ...{ name: '', portId: '', address: '', cidr: '', gateway: '', addresses: [], routes: [], allowedAddressPairs: [] },
  },
}
for (const [name, more] of Object.entries(accepted))
  test(`no mistake: ${name}`, () => assert.deepEqual(completeInterfaces([nic(more)]).errors, []))

test('ten interfaces are not too many, and ports that are not known do not repeat', () => {
  const ten = Array.from({ length: 10 }, (_, index) => nic({ macAddress: mac(index), portId: '' }))
  assert.deepEqual(completeInterfaces(ten).errors, [])
})

test('the caller names the list, and may keep addresses outside their networks', () => {
  const inputs = [nic({ address: '10.0.1.5', cidr: '10.0.0.0/24' }), nic()]
  assert.deepEqual(completeInterfaces(inputs, 'spec.interfaces', { outsideCidr: 'kept' }).errors, [
    { path: 'spec.interfaces[1].macAddress', message: `${mac(0)} is also used by spec.interfaces[0]` },
  ])
  assert.deepEqual(
    completeInterfaces(inputs, 'spec.interfaces').errors.map(({ path }) => path),
    ['spec.interfaces[0].address', 'spec.interfaces[1].macAddress'],
  )
})

test('empty values and fields of other versions are left out; mistakes stay as they were written', () => {
  const input = { ...nic({ macAddress: 'X', portId: '', routes: [], mtu: 0 }), later: true, gateway: undefined }
  assert.deepEqual(completeInterfaces([input]).interfaces, [{ index: 0, name: 'multinic0', macAddress: 'X', mtu: 0 }])
  const complete = { ...nic({ id: 3, name: 'multinic3', mtu: 1500 }), later: true }
  assert.deepEqual(fromWireInterfaces([complete]), [{ index: 3, name: 'multinic3', macAddress: mac(0), mtu: 1500 }])
})

test('allowed address pairs are completed: canonical networks, sorted and each once', () => {
  const inputs = ['FD10::7', '10.10.0.9', '10.10.0.77/24', '10.10.0.9/32', '10.9.0.0/16', 'fd10:0::7/128']
  const expected = ['10.10.0.0/24', '10.10.0.9/32', '10.9.0.0/16', 'fd10::7/128']
  const hash = (list: string[]) => {
    const { interfaces } = completeInterfaces([nic({ allowedAddressPairs: list })])
    assert.deepEqual(interfaces[0]?.allowedAddressPairs, expected)
    return specHash({ nodeName: 'w1', interfaces })
  }
  assert.equal(hash(inputs), hash(inputs.toReversed()))
  assert.deepEqual(
    fromWireInterfaces([nic({ id: 0, name: 'multinic0', allowedAddressPairs: inputs })])[0]?.allowedAddressPairs,
    expected,
  )
})

test('a name has its index, also beyond the last interface', () => {
  assert.deepEqual([0, 9, 10].map(interfaceName), ['multinic0', 'multinic9', 'multinic10'])
  assert.deepEqual(['multinic0', 'multinic9', 'multinic10', 'amultinic1', 'multinic', 'eth0'].map(interfaceIndex), [
    ...[0, 9, undefined, undefined, undefined, undefined],
  ])
})

test('an address is outside its network only if both are known', () => {
  assert.equal(outsideItsCidr({ address: '10.0.1.5', cidr: '10.0.0.0/24' }), '10.0.1.5 is outside 10.0.0.0/24')
  assert.equal(outsideItsCidr({ address: '10.0.0.5', cidr: '10.0.0.0/24' }), undefined)
  assert.equal(outsideItsCidr({ address: '10.0.1.5' }), undefined)
  assert.equal(outsideItsCidr({ cidr: '10.0.0.0/24' }), undefined)
  assert.equal(outsideItsCidr({ address: 'x', cidr: 'y' }), undefined)
})

test('both spellings of a cidr give the same addresses', () => {
  assert.deepEqual(addressesOf({ address: '192.168.1.10', cidr: '192.168.1.0/24' }), ['192.168.1.10/24'])
  assert.deepEqual(addressesOf({ address: '192.168.1.10', cidr: '192.168.1.10/24' }), ['192.168.1.10/24'])
  assert.deepEqual(addressesOf({ address: '10.0.0.1', cidr: '10.0.0.0/8', addresses: ['10.0.0.1/8', 'FD00::1/64'] }), [
    '10.0.0.1/8',
    'fd00::1/64',
  ])
})

test('an address without a network, or with one that is none, has no prefix and is left out', () => {
  assert.deepEqual(addressesOf({}), [])
  assert.deepEqual(addressesOf({ address: '10.0.0.1' }), [])
  assert.deepEqual(addressesOf({ cidr: '10.0.0.0/24' }), [])
  assert.deepEqual(addressesOf({ address: '10.0.0.1', cidr: 'x', addresses: ['y', 'y'] }), ['y'])
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
  const { interfaces } = completeInterfaces([one, two])
  const whole = { nodeName: 'w1', instanceId: 'vm-1', interfaces }
  assert.equal(specHash({ ...whole, interfaces: interfaces.toReversed() }), specHash(whole))
  assert.equal(specHash({ ...whole, instanceId: '' }), specHash({ nodeName: 'w1', interfaces }))
  assert.notEqual(specHash({ ...whole, instanceId: 'vm-2' }), specHash(whole))
  assert.notEqual(specHash({ ...whole, nodeName: 'w2' }), specHash(whole))
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
    [{ ...full, allowedAddressPairs: ['10.10.0.0/24', 'fd10::1/128'] }],
    [{ ...full, allowedAddressPairs: [] }],
    [{ ...full, allowedAddressPairs: ['10.10.0.7'] }],
    [{ ...full, allowedAddressPairs: ['10.10.0.7/24'] }],
    [{ ...full, allowedAddressPairs: ['fd10::1/128', '10.10.0.0/24'] }],
    [{ ...full, allowedAddressPairs: ['10.10.0.0/24', '10.10.0.0/24'] }],
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

test('a list with an id twice, or with a field that is set to nothing, is not complete', () => {
  const full = { id: 1, name: 'multinic1', macAddress: mac(1) }
  assert.equal(areComplete([full]), true)
  assert.equal(areComplete([full, { ...full, macAddress: mac(2) }]), false)
  assert.equal(areComplete([{ ...full, mtu: undefined }]), false)
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
  allowedAddressPairs: ['10.10.0.0/24'],
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
  allowedAddressPairs: ['10.10.0.0/24', 'fd10::1/128'],
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

test('the hash of a request is the one of versions without names and allowed address pairs', () => {
  const { allowedAddressPairs: _, ...named } = sample
  const { subnetName: __, networkName: ___, alias: ____, ...older } = named
  const hash = (nic: Interface) => specHash({ nodeName: 'w1', instanceId: 'vm-1', interfaces: [nic] })
  assert.equal(hash(named), hash(older))
  assert.equal(hash(older), 'ce7f6a765d87db855bc7534880250e970f317087697142b00a6834906d4ca197')
})
