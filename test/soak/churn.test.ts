/** The churn of a soak: repeatable, valid, and with every kind of action. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Action, churnOf } from './churn.ts'

const options = { vms: 50, groups: 10, portsAtFirst: 2 }
const actionsOf = (seed: number, count = 2_000): Action[] => Array.from({ length: count }, churnOf(seed, options))

test('the seed determines the churn', () => {
  assert.deepEqual(actionsOf(7), actionsOf(7))
  assert.notDeepEqual(actionsOf(7), actionsOf(8))
})

test('every kind of action occurs', () => {
  assert.deepEqual([...new Set(actionsOf(1).map(({ kind }) => kind))].sort(), [
    'attach',
    'delete-node-config',
    'detach',
    'exclude-vm',
    'include-vm',
    'mtu',
    'reboot',
    'recreate',
    'rename',
  ])
})

test('a VM keeps at least one port and never has more than six', () => {
  for (let seed = 0; seed < 10; seed++) {
    const ports = Array<number>(options.vms).fill(options.portsAtFirst)
    for (const action of actionsOf(seed)) {
      if (action.kind !== 'attach' && action.kind !== 'detach') continue
      const now = (ports[action.vm] ?? 0) + (action.kind === 'attach' ? 1 : -1)
      ports[action.vm] = now
      assert.ok(now >= 1 && now <= 6, `seed ${seed}: VM ${action.vm} has ${now}`)
    }
  }
})

test('only excluded VMs are included again, and few are excluded at a time', () => {
  const excluded = new Set<number>()
  for (const action of actionsOf(3)) {
    if (action.kind === 'exclude-vm')
      assert.ok(!excluded.has(action.vm) && excluded.add(action.vm).size <= 1, `VM ${action.vm}`)
    if (action.kind === 'include-vm') assert.ok(excluded.delete(action.vm), `VM ${action.vm}`)
  }
})
