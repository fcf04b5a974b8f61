/**
 * NICs that are removed after a real reboot, when the network manager itself has created their rules and addresses.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  about,
  apartFrom,
  guestKinds,
  interfaceFor,
  noAutomaticConnections,
  sameState,
  startGuest,
  stateOf,
} from '../rigs/vm/rig.ts'

const nics = [
  { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 },
  { name: 'port-b', macAddress: 'fa:16:3e:00:00:0b', network: 'net-b', slot: 2 },
] as const
const networks = [
  { name: 'net-a', addresses: ['192.168.10.1/24', 'fd00:10::1/64'] },
  { name: 'net-b', addresses: ['10.20.0.1/24'] },
]
const dualStack = interfaceFor(nics[0], 0, {
  address: '192.168.10.11',
  cidr: '192.168.10.0/24',
  gateway: '192.168.10.1',
  addresses: ['fd00:10::11/64'],
})
const ipv4 = interfaceFor(nics[1], 1, { address: '10.20.0.5', cidr: '10.20.0.0/24', gateway: '10.20.0.1' })

for (const kind of guestKinds)
  test(`${kind}: after a reboot, one of two NICs and then the other are removed in the first try`, async t => {
    const guest = await startGuest(t, { kind, networks, nics, files: noAutomaticConnections(kind) })
    const bare = await stateOf(guest)

    const applied = await guest.agent('apply', [dualStack, ipv4])
    assert.equal(applied.report?.verdict, 'Configured', applied.log)
    const both = await stateOf(guest)
    await guest.reboot()
    await sameState(guest, both)

    const first = await guest.agent('apply', [dualStack])
    assert.equal(first.report?.verdict, 'Configured', first.log)
    assert.deepEqual(first.report?.undone, [], first.log)
    const [link = ''] = about(bare, new RegExp(`^${nics[1].macAddress}`))
    const removed = new RegExp(`${nics[1].macAddress}|${link.split(' ')[1]}|multinic1|10\\.20\\.0\\.|"table":"101"`)
    const one = await stateOf(guest)
    assert.deepEqual(about(one, removed), about(bare, removed))
    assert.deepEqual(apartFrom(one, removed), apartFrom(both, removed))

    const cleaned = await guest.agent('cleanup', [])
    assert.equal(cleaned.report?.verdict, 'Removed', cleaned.log)
    await sameState(guest, bare)
    await guest.reboot()
    await sameState(guest, bare)
  })
