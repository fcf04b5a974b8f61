/**
 * The first case of every guest: a NIC that is attached while it runs, configured by the agent, and the same after a real reboot.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { run } from '../rigs/process.ts'
import {
  type Guest,
  type GuestOptions,
  interfaceFor,
  sameState,
  startGuest,
  stateOf,
  withoutSlotNames,
} from '../rigs/vm/rig.ts'

export const nic = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
export const requested = interfaceFor(nic, 0, {
  address: '192.168.10.11',
  cidr: '192.168.10.0/24',
  gateway: '192.168.10.1',
  addresses: ['fd00:10::11/64'],
  mtu: 1450,
})
export const networks = [{ name: 'net-a', addresses: ['192.168.10.1/24', 'fd00:10::1/64', 'fe80::1/64'] }]

/** `inspect` runs before the agent, after its first run, and after the reboot. */
export async function hotPlugCase(
  t: TestContext,
  options: Omit<GuestOptions, 'networks'>,
  inspect: (guest: Guest) => Promise<void> = async () => {},
): Promise<void> {
  const guest = await startGuest(t, { ...options, networks })
  await inspect(guest)
  await guest.plug(nic)

  const applied = await guest.agent('apply', [requested])
  assert.equal(applied.report?.verdict, 'Configured', applied.log)
  await pings()
  const before = await stateOf(guest)
  await inspect(guest)

  await guest.reboot()
  await sameState(guest, before, withoutSlotNames)
  await pings()
  for (const action of ['check', 'apply'] as const) {
    const again = await guest.agent(action, [requested])
    assert.equal(again.report?.verdict, action === 'check' ? 'InSync' : 'Configured', again.log)
    assert.equal(again.report?.changed, 0, again.log)
  }
  await sameState(guest, before, withoutSlotNames)
  await inspect(guest)

  async function pings(): Promise<void> {
    for (const [ours, router] of [
      ['192.168.10.11', '192.168.10.1'],
      ['fd00:10::11', 'fd00:10::1'],
    ] as const) {
      await guest.exec(`ping -c 1 -W 10 -I ${ours} ${router}`)
      await run('ping', ['-c', '1', '-W', '10', ours])
    }
  }
}
