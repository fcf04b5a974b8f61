import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldUses } from './interface-fields.ts'
import { inputInterface, interfaceHash } from './interface-hash.ts'
import { fromWireInterfaces, type Interface, specHash, toWireInterface } from './interfaces.ts'

const nic: Interface = {
  index: 1,
  name: 'multinic1',
  macAddress: 'fa:16:3e:00:00:01',
  portId: 'port-1',
  address: '10.0.0.1',
  cidr: '10.0.0.0/24',
  mtu: 1500,
  gateway: '10.0.0.254',
  routes: [{ destination: '10.9.0.0/16', nexthop: '10.0.0.2' }],
}
const unread = { networkId: 'net-1', subnetId: 'subnet-1', source: 'ns/one', alias: 'storage' }

test('the agent gets every field of an interface that it reads, under the names of the wire', () => {
  const { index, ...rest } = nic
  assert.deepEqual(inputInterface({ ...nic, ...unread }), { id: index, ...rest })
})

/** The controller compares it with the hash in the status that an earlier version wrote. */
test('the hash of an interface is the one of earlier versions', () => {
  assert.equal(interfaceHash(nic), '722bc9b0c5d66a00')
  assert.equal(interfaceHash({ ...nic, ...unread }), interfaceHash(nic))
  assert.notEqual(interfaceHash({ ...nic, mtu: 9000 }), interfaceHash(nic))
  assert.equal(interfaceHash({ index: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:00' }), 'b2030dcfda15e7a7')
})

test('a new field does not run the agent on nodes without it, and nowhere before the agent uses it', () => {
  const hashesOf = (one: Interface) => [interfaceHash(one), specHash({ nodeName: 'worker-0', interfaces: [one] })]
  const planted = { ...nic, dnsServers: ['10.0.0.53'] }
  assert.deepEqual(hashesOf(planted), hashesOf(nic))
  assert.deepEqual(hashesOf(fromWireInterfaces([toWireInterface(planted)])[0] ?? assert.fail('none')), hashesOf(nic))
  const absent = { ...nic, allowedAddressPairs: undefined, source: undefined } as unknown as Interface
  assert.deepEqual(hashesOf(absent), hashesOf(nic))
})

const all: Required<Interface> = {
  ...{ index: 1, name: 'multinic1', macAddress: 'fa:16:3e:00:00:01', portId: 'port-1', mtu: 1500 },
  ...{ address: '10.0.0.1', cidr: '10.0.0.0/24', addresses: ['10.0.0.1/24'], gateway: '10.0.0.254', routes: [] },
  ...{ allowedAddressPairs: [], networkId: 'net-1', subnetId: 'subnet-1', source: 'ns/one' },
  ...{ subnetName: 'storage', networkName: 'storage', alias: 'storage' },
}
for (const field of Object.keys(all) as (keyof Interface)[]) {
  const use = Object.entries(fieldUses).find(([name]) => name === field)?.[1] ?? 'none'
  test(`the use of ${field} decides whether it is a new request, and whether the agent gets it: ${use}`, () => {
    const { [field]: _, ...without } = all
    const isIn = (hash: (one: Interface) => string) => hash(all) !== hash(without as Interface)
    assert.equal(isIn(interfaceHash), use === 'agent')
    assert.equal(
      isIn(one => specHash({ nodeName: 'worker-0', interfaces: [one] })),
      use !== 'none',
    )
  })
}
