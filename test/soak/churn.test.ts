/** The churn of a soak: repeatable, within bounds, and of every kind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { churnOf, type Deed } from './churn.ts'

const options = { vms: 50, groups: 10, portsAtFirst: 2 }
const deedsOf = (seed: number, count = 2_000): Deed[] => Array.from({ length: count }, churnOf(seed, options))

test('a seed tells the whole churn', () => {
  assert.deepEqual(deedsOf(7), deedsOf(7))
  assert.notDeepEqual(deedsOf(7), deedsOf(8))
})

test('every kind of act has its turn', () => {
  assert.deepEqual([...new Set(deedsOf(1).map(({ act }) => act))].sort(), [
    'attach',
    'delete-node-config',
    'detach',
    'join',
    'leave',
    'mtu',
    'reboot',
    'remake',
    'rename',
  ])
})

test('a VM keeps at least one port and never has more than six', () => {
  for (let seed = 0; seed < 10; seed++) {
    const ports = Array<number>(options.vms).fill(options.portsAtFirst)
    for (const deed of deedsOf(seed)) {
      if (deed.act !== 'attach' && deed.act !== 'detach') continue
      const now = (ports[deed.vm] ?? 0) + (deed.act === 'attach' ? 1 : -1)
      ports[deed.vm] = now
      assert.ok(now >= 1 && now <= 6, `seed ${seed}: VM ${deed.vm} has ${now}`)
    }
  }
})

test('only who left comes back, and few are away at once', () => {
  const away = new Set<number>()
  for (const deed of deedsOf(3)) {
    if (deed.act === 'leave') assert.ok(!away.has(deed.vm) && away.add(deed.vm).size <= 1, `VM ${deed.vm}`)
    if (deed.act === 'join') assert.ok(away.delete(deed.vm), `VM ${deed.vm}`)
  }
})
