/** Which records the agent believes: those that an agent could have written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownedNics } from '../backends/owned.ts'
import { nodeAddressesOf } from '../observe/node-addresses.ts'
import { hostPaths } from '../paths.ts'
import { aNode, anAddress, aRoute, macOf, primaryMac } from '../test/agent.fixture.ts'
import { unusableRecords } from './ownership.ts'
import { parseRecord, readRecord } from './records.ts'

const record = {
  ...{ version: 1, id: 0, mac: macOf(0), table: 100, addresses: ['10.100.0.10/24', 'fd00::10/64'] },
  rules: ['from 10.100.0.10/32 lookup 100 priority 10100', 'from ::/127 to fd00::/64 lookup 100 priority 32516'],
  mainRoutes: [],
  marked: { name: 'multinic0', slot: 0, sources: [], networks: [] },
}
const text = (values: object) => JSON.stringify({ ...record, ...values })

const believed: Record<string, object> = {
  'as the agent writes it': {},
  'with the last index and the last table': { id: 9, table: 2 ** 32 - 1 },
  'with the tables beside those of the kernel': { table: 252 },
  'with a rule for a mark': { rules: ['fwmark 0x64/0xff lookup 100 priority 100'] },
}
const disbelieved: Record<string, object> = {
  'no rules': { rules: undefined },
  'no routes': { mainRoutes: undefined },
  'no mark': { marked: undefined },
  'a mark of another form': { marked: { name: 'eth0', slot: 0, sources: [], networks: [] } },
  'a former state of another form': { former: { name: 'ens4' } },
  'a port id that is no text': { portId: 5 },
  'index -1': { id: -1 },
  'index 10': { id: 10 },
  'index 0.5': { id: 0.5 },
  'an index that is a text': { id: '0' },
  'table 0': { table: 0 },
  'table default': { table: 253 },
  'table main': { table: 254 },
  'table local': { table: 255 },
  'a table above 32 bits': { table: 2 ** 32 },
  'a negative table': { table: -1 },
  'no MAC address': { mac: 'fa163e000001' },
  'an address without prefix': { addresses: ['10.100.0.10'] },
  'addresses that are no list': { addresses: '10.100.0.10/24' },
  'the rule of the main table': { rules: ['lookup 254 priority 32766'] },
  'the rule of the local table': { rules: ['from 10.100.0.10/32 lookup 255 priority 0'] },
  'the rule of the default table': { rules: ['from 10.100.0.10/32 lookup 253 priority 32767'] },
  'a rule for every source': { rules: ['from 0.0.0.0/0 lookup 100 priority 10100'] },
  'a rule for a destination alone': { rules: ['to 10.0.0.0/8 lookup 100 priority 10100'] },
  'a rule without a priority': { rules: ['from 10.100.0.10/32 lookup 100'] },
  'a rule that is no text': { rules: [1] },
  'routes that are no list': { mainRoutes: 'default' },
}

for (const [what, values] of Object.entries(believed))
  test(`believed: ${what}`, () => {
    const { record: read, problem } = readRecord(text(values))
    assert.deepEqual([read?.mac, problem], [macOf(0), undefined])
  })

const former = { name: 'ens4', mtu: 1500, up: false, sysctls: {} }
const unknown: Record<string, [values: object, problem: string]> = {
  'another version': [{ version: 2 }, 'has version 2'],
  'an unknown key': [{ colours: [] }, 'has the unknown key colours'],
  'an unknown key of the former state': [{ former: { ...former, alias: 'x' } }, 'has the unknown key former.alias'],
  'an unknown key of the mark': [{ marked: { ...record.marked, zone: 1 } }, 'has the unknown key marked.zone'],
}
for (const [what, [values, problem]] of Object.entries(unknown))
  test(`believed with a problem: ${what}`, () => {
    const read = readRecord(text(values))
    assert.deepEqual([read.record?.rules, read.problem], [record.rules, problem])
  })

for (const [what, values] of Object.entries(disbelieved))
  test(`not believed: ${what}`, () => {
    assert.deepEqual(readRecord(text(values)), { problem: 'has a value that no agent writes' })
    assert.equal(parseRecord(text(values)), undefined)
  })

const file = (content: string) => ({ text: content, mode: 0o600, uid: 0, gid: 0 })
const path = (name: string) => `${hostPaths.state}/nics/${name}`

test('records that are not believed own nothing, and are named with the MAC address of their name', () => {
  const files = {
    [path('fa163e000001.json')]: file(text({})),
    [path('fa163e000002.json')]: file(text({ table: 254 })),
    [path('fa163e000003.json')]: { ...file(text({ mac: macOf(2) })), uid: 1000 },
    [path('other.json')]: { ...file(''), unreadable: true as const },
  }
  const observed = aNode(3, { files })
  assert.deepEqual(
    ownedNics(observed, hostPaths).map(nic => nic.macAddress),
    [macOf(0)],
  )
  assert.deepEqual(
    unusableRecords(observed, hostPaths).map(({ path, macAddress, problem }) => [path, macAddress, problem]),
    [
      [path('fa163e000002.json'), macOf(1), 'has a value that no agent writes'],
      [path('fa163e000003.json'), macOf(2), 'is foreign'],
      [path('other.json'), undefined, 'is foreign'],
    ],
  )
})

test('no rule in a record makes a table of the kernel ours', () => {
  const rules = ['254', '255', '253', '0', '100'].map(table => `from 10.100.0.10/32 lookup ${table} priority 10100`)
  const observed = aNode(1, { files: { [path('fa163e000001.json')]: file(text({ rules })) } })
  const [nic] = ownedNics(observed, hostPaths)
  assert.deepEqual([...(nic?.tables ?? [])], [100])
})

test('a record does not hide an address on the device with the default route', () => {
  const files = {
    [path('fa163eff0000.json')]: file(text({ mac: primaryMac, addresses: ['10.0.0.10/24', '10.9.0.9/24'] })),
  }
  const observed = aNode(1, {
    files,
    addresses: [anAddress(2, '10.0.0.10/24'), anAddress(2, '10.9.0.9/24')],
    routes: [aRoute(2, 'default', { gateway: '10.0.0.1' })],
  })
  const listed = ['10.0.0.10', '10.9.0.9']
  assert.deepEqual(nodeAddressesOf(listed, observed, ownedNics(observed, hostPaths)), listed)
})
