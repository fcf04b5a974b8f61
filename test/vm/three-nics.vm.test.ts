/**
 * Three NICs through the life of one guest: other PCI slots, a NIC that is removed and one that is added while the guest is off,
 * and a cleanup, with an initramfs that has copies of the agent's files.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentReport, Verdict } from '../../src/contract/agent-report.ts'
import type { WireInterface } from '../../src/contract/interfaces.ts'
import type { Action } from '../../src/controller/plan/observed.ts'
import { run } from '../rigs/process.ts'
import { guestInitrd } from '../rigs/vm/machine.ts'
import type { Nic } from '../rigs/vm/network.ts'
import {
  about,
  apartFrom,
  type Guest,
  guestKinds,
  interfaceFor,
  noAutomaticConnections,
  sameState,
  startGuest,
  stateOf,
  waitForBoot,
  withoutSlotNames,
} from '../rigs/vm/rig.ts'

const a = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
const b = { name: 'port-b', macAddress: 'fa:16:3e:00:00:0b', network: 'net-a', slot: 2 }
const c = { name: 'port-c', macAddress: 'fa:16:3e:00:00:0c', network: 'net-c', slot: 3, mtu: 9000 }
const d = { name: 'port-d', macAddress: 'fa:16:3e:00:00:0d', network: 'net-a', slot: 1 }
const networks = [
  { name: 'net-a', addresses: ['192.168.10.1/24'] },
  { name: 'net-c', addresses: ['10.20.0.1/24', 'fd00:20::1/64'], mtu: 9000 },
]
const inSubnet = { cidr: '192.168.10.0/24', gateway: '192.168.10.1' }
const first = interfaceFor(a, 0, { ...inSubnet, address: '192.168.10.11' })
const second = interfaceFor(b, 1, { ...inSubnet, address: '192.168.10.12' })
const third = interfaceFor(c, 2, {
  address: '10.20.0.5',
  cidr: '10.20.0.0/24',
  gateway: '10.20.0.1',
  addresses: ['fd00:20::5/64'],
  mtu: 9000,
})
const added = interfaceFor(d, 1, { ...inSubnet, address: '192.168.10.13' })
/** Also what the first NIC has only as long as another one is in its subnet: rules for its own address. */
const ofSecond =
  /multinic1|192\.168\.10\.12|fa:16:3e:00:00:0b|"table":"101"|"src":"192\.168\.10\.11"|multinic0\.(network|nmconnection)$/

for (const kind of guestKinds)
  test(`${kind}: three NICs keep their names and addresses in other PCI slots, and a cleanup removes all traces`, async t => {
    const guest = await startGuest(t, { kind, networks, nics: [a, b, c], files: noAutomaticConnections(kind) })
    const bare = await stateOf(guest)
    await runs(guest, 'apply', [first, second, third], 'Configured')
    const configured = await stateOf(guest)
    await hasTraffic(guest, ['192.168.10.11', '192.168.10.12', '10.20.0.5', 'fd00:20::5'])
    // As an update of the kernel does: the initramfs gets copies of .link files and udev rules.
    await guest.exec(`mkinitramfs -o ${guestInitrd} $(uname -r)`)

    await restartWith(guest, [
      { ...a, slot: 3 },
      { ...b, slot: 1 },
      { ...c, slot: 2 },
    ])
    await sameState(guest, configured, withoutSlotNames)
    await hasTraffic(guest, ['192.168.10.11', '192.168.10.12', '10.20.0.5', 'fd00:20::5'])
    for (const [action, verdict] of [
      ['check', 'InSync'],
      ['apply', 'Configured'],
    ] as const)
      assert.equal((await runs(guest, action, [first, second, third], verdict)).changed, 0)

    await restartWith(guest, [
      { ...a, slot: 3 },
      { ...c, slot: 2 },
    ])
    await runs(guest, 'apply', [first, third], 'Configured')
    const two = withoutSlotNames(await stateOf(guest))
    assert.deepEqual(apartFrom(two, ofSecond), apartFrom(withoutSlotNames(configured), ofSecond))
    assert.deepEqual(about(two, /multinic1|192\.168\.10\.12|"src":"192\.168\.10\.11"/), [])

    await restartWith(guest, [{ ...a, slot: 3 }, d, { ...c, slot: 2 }])
    await runs(guest, 'apply', [first, added, third], 'Configured')
    await hasTraffic(guest, ['192.168.10.11', '192.168.10.13', '10.20.0.5', 'fd00:20::5'])
    const three = await stateOf(guest)
    await guest.reboot()
    await sameState(guest, three)
    await runs(guest, 'check', [first, added, third], 'InSync')

    await guest.unplug(d.name)
    await runs(guest, 'cleanup', [], 'Removed')
    await restartWith(guest, [a, b, c])
    await sameState(guest, bare)
  })

async function runs(
  guest: Guest,
  action: Action,
  interfaces: readonly WireInterface[],
  verdict: Verdict,
): Promise<AgentReport> {
  const { report, log } = await guest.agent(action, interfaces)
  assert.equal(report?.verdict, verdict, log)
  return report
}

async function restartWith(guest: Guest, nics: readonly Nic[]): Promise<void> {
  await guest.powerOff()
  guest.nics.splice(0, guest.nics.length, ...nics)
  await guest.start()
  await waitForBoot(guest)
}

async function hasTraffic(guest: Guest, addresses: readonly string[]): Promise<void> {
  for (const address of addresses) await run('ping', ['-c', '1', '-W', '10', address])
  await guest.exec('ping -c 1 -W 10 -M do -s 8900 -I 10.20.0.5 10.20.0.1')
}
