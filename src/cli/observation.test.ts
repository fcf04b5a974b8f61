/** How old an observation is, in every command that vouches for a NIC, against a real inventory. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../test/support/cli.ts'
import { aWrite, someVerdicts } from '../../test/support/inventory.ts'
import { startOpenInventory } from '../../test/support/open-inventory.ts'
import type { InventoryWrite } from '../contract/inventory.ts'
import type { RunningInventory } from '../inventory/main.ts'

let open: RunningInventory
let multinic: Run

before(async () => {
  open = await startOpenInventory()
  multinic = runner({ MULTINIC_INVENTORY_URL: open.url })
})
after(async () => {
  await open.close()
})

test('experience H6: check, why, status and find compare, show the age of each observation, and say what nobody verified', async () => {
  const hoursAgo = (hours: number) => `${new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 19)}Z`
  const write = (checkedAt: string, mtu = 1450): InventoryWrite => {
    const w4 = aWrite('w4', { providerId: 'p4' })
    const [nic] = w4.config.interfaces
    const address = `${nic?.address}/16`
    const observed = { name: 'multinic0', mtu, addresses: [address], link: 'up' as const }
    const at = { lastChecked: checkedAt, lastConfigured: hoursAgo(5), checkIntervalSeconds: 3_600 }
    const stages = { seen: hoursAgo(5), delivered: hoursAgo(6) }
    const state = { macAddress: nic?.macAddress ?? '', status: 'Configured' as const, observed, stages, ...at }
    return { ...w4, state: 'Configured', interfaces: [state] }
  }
  const run = (...args: string[]) => multinic(...args, '--provider', 'p4')

  await open.recorder.put([write(hoursAgo(1.5))])
  const fresh = await run('check')
  assert.deepEqual(
    [fresh.code, fresh.out],
    [0, '1 interface on 1 node match the request; the oldest observation was made 1h ago\n'],
  )
  assert.match((await run('status')).out, /● multinic0 .* observed 1h ago\n$/)
  assert.match((await run('why', 'w4')).out, /observed 1h ago\n {4}\d{4}-\S+ seen \S+ → delivered \(clock differs\) /)
  assert.match((await multinic('find', 'port-w4-0')).out, /port-w4-0 +w4 +multinic0 +Configured +observed 1h ago/)

  const since = hoursAgo(3)
  await open.recorder.put([write(since)])
  const stale = new RegExp(`not verified since ${since}`)
  for (const args of [['check'], ['status'], ['why', 'w4']])
    assert.match((await run(...args)).out, stale, args.join(' '))
  assert.match((await multinic('find', 'port-w4-0')).out, stale)
  assert.equal((await run('check')).code, 1)
  const [entry] = JSON.parse((await run('check', '-o', 'json')).out)
  assert.deepEqual([entry.status, entry.notVerifiedSince, entry.differences], ['Configured', since, []])

  await open.recorder.put([write(hoursAgo(0), 1400)])
  for (const args of [['check'], ['status'], ['why', 'w4']])
    assert.match((await run(...args)).out, /mtu is 1400, requested 1450/, args.join(' '))
  assert.match((await multinic('find', 'port-w4-0')).out, /mtu is 1400, requested 1450/)
})

test('experience H6: a selected port that no node has is not as requested', async () => {
  const port = { vm: 'vm-w5', portId: 'port-w5-0', name: 'multinic0', reason: 'Selected', message: '' }
  await open.recorder.put(
    [aWrite('w6', { providerId: 'p5', providerName: 'Seoul 1' })],
    [someVerdicts([port], { providerId: 'p5' })],
  )
  const { code, out } = await multinic('check', '--provider', 'p5')
  assert.equal(code, 1)
  assert.match(out, /vm-w5 +multinic0 +Pending +selected, but not delivered yet\n/)
  assert.match((await multinic('check', '--provider', 'p5', '-o', 'wide')).out, /port-w5-0 +Seoul 1 \(p5\)/)
  assert.match(
    (await multinic('why', 'port-w5-0')).out,
    /^port port-w5-0 {2}multinic0 {2}selected, but not delivered yet/,
  )
})
