/**
 * A guest whose kernel has no IPv6 (ipv6.disable=1): /proc/sys/net/ipv6 does not exist.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interfaceFor, sameState, startGuest, stateOf } from '../rigs/vm/rig.ts'

const nic = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
const networks = [{ name: 'net-a', addresses: ['192.168.10.1/24'] }]
const requested = interfaceFor(nic, 0, { address: '192.168.10.11', cidr: '192.168.10.0/24', gateway: '192.168.10.1' })

test('netplan: a guest without IPv6 has the same NIC after a reboot, and refuses IPv6 addresses', async t => {
  const guest = await startGuest(t, { kind: 'netplan', networks, nics: [nic], kernel: ['ipv6.disable=1'] })
  await guest.exec('[ ! -e /proc/sys/net/ipv6 ]')
  const applied = await guest.agent('apply', [requested])
  assert.equal(applied.report?.verdict, 'Configured', applied.log)
  const before = await stateOf(guest)

  await guest.reboot()
  await sameState(guest, before)
  await guest.exec('ping -c 1 -W 10 -I 192.168.10.11 192.168.10.1')
  const again = await guest.agent('apply', [requested])
  assert.equal(again.report?.verdict, 'Configured', again.log)
  assert.equal(again.report?.changed, 0, again.log)

  const refused = await guest.agent('apply', [{ ...requested, addresses: ['fd00:10::11/64'] }])
  assert.equal(refused.report?.interfaces[0]?.reason, 'IPv6Disabled', refused.log)
  await sameState(guest, before)
})
