import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { ownershipsOf } from './ownership.ts'
import { aRecord } from './record.fixture.ts'

test('the histories give the owners of an address in order, the current owner without an end', () => {
  const entry = (id: number, hour: number, more: Pick<HistoryEntry, 'before' | 'after'>): HistoryEntry => ({
    id,
    at: new Date(Date.UTC(2026, 0, 1, hour)).toISOString(),
    what: 'config',
    why: '',
    ...more,
  })
  const [a, b] = [aRecord('a', { 2: { address: '10.0.0.7' } }), aRecord('b', { 0: { address: '10.0.0.7' } })]
  const history = [
    entry(4, 9, { after: b }),
    entry(1, 1, { after: a }),
    entry(3, 5, { before: a, after: aRecord('a', {}) }),
    entry(2, 2, { before: a, after: a }),
  ]
  const owners = (value: string) =>
    ownershipsOf(value, history).map(({ nodeName, nic, from, to }) => [
      nodeName,
      nic,
      new Date(from).getUTCHours(),
      to && new Date(to).getUTCHours(),
    ])
  assert.deepEqual(owners('10.0.0.7'), [
    ['a', 'multinic2', 1, 5],
    ['b', 'multinic0', 9, undefined],
  ])
  assert.deepEqual(owners('FA:16:3E:00:00:00'), [['b', 'multinic0', 9, undefined]])
  assert.deepEqual(owners('10.0.0.70'), [])
})
