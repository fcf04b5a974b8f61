import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import { causeOfEntry, changesBetween, fieldChangesOf, headlineOf, nicRange, transitionsOf } from './diff.ts'
import { aRecord } from './record.fixture.ts'

test('a change lists the NICs that were added, removed and changed', () => {
  const before = aRecord('w', { 0: { address: '10.0.0.1', status: 'Pending' }, 1: { address: '10.0.0.2' } })
  const after = aRecord('w', {
    0: { address: '10.0.0.1', status: 'Configured', mtu: 9000 },
    2: { address: '10.0.0.3' },
  })
  const changes = changesBetween(before, after)
  assert.deepEqual(
    changes.map(({ op, nic }) => `${op} ${nic}`),
    ['changed multinic0', 'removed multinic1', 'added multinic2'],
  )
  assert.deepEqual(transitionsOf(changes), [
    { nic: 'multinic0', nics: 'multinic0', before: 'pending', after: 'configured', reason: '' },
  ])
  assert.deepEqual(changes.flatMap(fieldChangesOf), [{ field: 'mtu', before: '', after: '9000' }])
  assert.deepEqual(changesBetween(after, after), [])
})

test('names of NICs are shortened to ranges', () => {
  assert.equal(nicRange(['multinic0', 'multinic1', 'multinic2', 'multinic5']), 'multinic0–2, 5')
  assert.equal(nicRange(['multinic3', 'multinic4']), 'multinic3, 4')
  assert.equal(nicRange(['ens3']), 'ens3')
  assert.equal(nicRange([]), '')
})

test('experience M3: an entry names only the NICs that became what it says', () => {
  const states = (...all: ('Pending' | 'Configured' | 'Failed')[]) =>
    aRecord('worker-2', Object.fromEntries(all.map((status, id) => [id, { address: `10.0.0.${id + 1}`, status }])))
  const before = states('Pending', 'Pending', 'Pending')
  const headline = (after: InventoryRecord) => {
    const { nics, severity } = headlineOf({ what: 'status', before, after })
    return `${nics} ${severity}`
  }
  assert.equal(headline(states('Configured', 'Configured', 'Failed')), 'multinic2 failed')
  assert.equal(headline(states('Configured', 'Configured', 'Pending')), 'multinic0, 1 configured')
})

test('an entry gives the reason of the NICs that it names, with the remedy', () => {
  const [good, bad] = ['Configured', 'Failed'] as const
  const before = aRecord('w', { 0: { address: '10.0.0.1', status: good }, 1: { address: '10.0.0.2', status: good } })
  const failed = aRecord('w', { 0: { address: '10.0.0.1', status: good }, 1: { address: '10.0.0.2', status: bad } })
  const missing = { reason: 'NicMissing', message: 'no NIC has the MAC', remedy: 'Attach the port again.' }
  const after = {
    ...failed,
    state: 'Failed' as const,
    reason: 'ApplyFailed',
    interfaces: failed.interfaces?.map(nic => (nic.status === bad ? { ...nic, ...missing } : nic)) ?? [],
  }
  assert.deepEqual(causeOfEntry({ what: 'status', before, after }), missing)
  assert.equal(causeOfEntry({ what: 'config', before, after }), undefined, 'the request is the cause')
  assert.equal(causeOfEntry({ what: 'status', before: after, after: before }), undefined, 'all is as requested')
})
