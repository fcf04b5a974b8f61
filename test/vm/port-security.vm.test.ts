/**
 * Three NICs, two of them in one subnet, in a cloud that drops every frame whose addresses are not those of its port.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from '../rigs/process.ts'
import { guestKinds, interfaceFor, noAutomaticConnections, sameState, startGuest, stateOf } from '../rigs/vm/rig.ts'

const nics = [
  { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 },
  { name: 'port-b', macAddress: 'fa:16:3e:00:00:0b', network: 'net-a', slot: 2 },
  { name: 'port-c', macAddress: 'fa:16:3e:00:00:0c', network: 'net-c', slot: 3, mtu: 9000 },
] as const
const networks = [
  { name: 'net-a', addresses: ['192.168.10.1/24'] },
  { name: 'net-c', addresses: ['10.20.0.1/24', 'fd00:20::1/64'], mtu: 9000 },
]
const inSubnet = { cidr: '192.168.10.0/24', gateway: '192.168.10.1' }
const interfaces = [
  interfaceFor(nics[0], 0, { ...inSubnet, address: '192.168.10.11' }),
  interfaceFor(nics[1], 1, { ...inSubnet, address: '192.168.10.12' }),
  interfaceFor(nics[2], 2, {
    address: '10.20.0.5',
    cidr: '10.20.0.0/24',
    gateway: '10.20.0.1',
    addresses: ['fd00:20::5/64'],
    mtu: 9000,
  }),
]
/** Addresses of the guest, and of the routers and a remote host behind them. */
const remote = '172.16.5.1'
const paths = [
  ['192.168.10.11', '192.168.10.1', remote],
  ['192.168.10.12', '192.168.10.1', remote],
  ['10.20.0.5', '10.20.0.1', remote],
  ['fd00:20::5', 'fd00:20::1'],
] as const
const portSecurity = {
  'port-a': ['192.168.10.11'],
  'port-b': ['192.168.10.12'],
  'port-c': ['10.20.0.5', 'fd00:20::5'],
}

for (const kind of guestKinds)
  test(`${kind}: three NICs, two in one subnet, have traffic with port security before and after a reboot`, async t => {
    await run('ip', ['address', 'add', `${remote}/32`, 'dev', 'lo'])
    t.after(() => run('ip', ['address', 'delete', `${remote}/32`, 'dev', 'lo']))
    const guest = await startGuest(t, { kind, networks, nics, portSecurity, files: noAutomaticConnections(kind) })
    const applied = await guest.agent('apply', interfaces)
    assert.equal(applied.report?.verdict, 'Configured', applied.log)
    await hasTraffic()
    const before = await stateOf(guest)

    await guest.reboot()
    await sameState(guest, before)
    await hasTraffic()
    const checked = await guest.agent('check', interfaces)
    assert.equal(checked.report?.verdict, 'InSync', checked.log)

    async function hasTraffic(): Promise<void> {
      const pings = paths.flatMap(([ours, ...others]) =>
        others.map(other => `ping -c 1 -W 10 -I ${ours} ${other} >&2 || echo ${ours} to ${other}`),
      )
      const jumbo = 'ping -c 1 -W 10 -M do -s 8900 -I 10.20.0.5 10.20.0.1 >&2 || echo jumbo frames'
      assert.equal((await guest.run([...pings, jumbo].join('\n'))).stdout, '', 'no reply from the guest’s networks')
      for (const [ours, ...others] of paths)
        for (const other of others) await run('ping', ['-c', '1', '-W', '10', '-I', other, ours])
    }
  })
