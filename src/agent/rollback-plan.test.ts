import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aNode, anInterface, theSettings } from './agent.fixture.ts'
import { inWords } from './change.ts'
import type { Observed } from './observed.ts'
import { hostPaths } from './paths.ts'
import { planRun } from './plan.ts'
import { afterUnits } from './predict.ts'
import { planUndo } from './rollback-plan.ts'

const before = aNode(1)
const { units } = planRun({
  interfaces: [anInterface(0)],
  nodeAddresses: [],
  settings: theSettings(),
  paths: hostPaths,
  observed: before,
})
const after = afterUnits(before, units)
const netplan = '/etc/netplan/90-multinic0.yaml'

const words = (observed: Observed, options?: Parameters<typeof planUndo>[2]) => {
  const undo = planUndo(units, observed, options)
  return { changes: undo.units.flatMap(unit => unit.changes.map(inWords)), contested: undo.contested }
}

test('what was not done yet needs no undo', () => {
  assert.deepEqual(words(before), { changes: [], contested: [] })
})

test('a link goes down before it may listen to router advertisements again', () => {
  const { changes } = words(after)
  assert.ok(changes.indexOf('link down') < changes.indexOf('ipv6.accept_ra 0 to 1'))
  assert.ok(changes.indexOf('remove rule from 10.100.0.10/32 lookup 100 priority 10100') < changes.indexOf('link down'))
})

test('after a reboot only files are taken back', () => {
  const rebooted = { ...before, files: after.files }
  const { changes, contested } = words(rebooted, { only: 'files' })
  assert.ok(changes.length > 0 && changes.every(change => change.startsWith('remove /')))
  assert.deepEqual(contested, [])
})

test('a value that somebody else changed meanwhile is told and left alone', () => {
  const meddled: Observed = {
    ...after,
    links: after.links.map(link => (link.name === 'multinic0' ? { ...link, mtu: 1333 } : link)),
    files: { ...after.files, [netplan]: { text: 'mine now', mode: 0o600, uid: 0, gid: 0 } },
  }
  const { changes, contested } = words(meddled)
  assert.deepEqual(contested, [
    'multinic0: mtu is neither what it was nor what was set',
    `multinic0: file ${netplan} is neither what it was nor what was set`,
  ])
  assert.ok(!changes.some(change => change.includes('mtu') || change.includes(netplan)))
  assert.ok(changes.includes('rename multinic0 to ens4'))
})

test('a device that is gone, or another one with its number, loses only rules and files', () => {
  const replaced: Observed = {
    ...after,
    links: after.links.map(link => (link.ifindex === 3 ? { ...link, mac: 'fa:16:3e:77:77:77', name: 'ens9' } : link)),
  }
  const { changes } = words(replaced)
  assert.ok(
    changes.every(change => change.startsWith('remove rule') || change.startsWith('remove /')),
    changes.join(),
  )
  assert.equal(changes.filter(change => change.startsWith('remove rule')).length, 2)
})
