import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aRecord } from '../model/record.fixture.ts'
import { changesOfHolders, nodeChangesOf } from './node-changes.ts'

test('experience Low: the history question also filters the list of changes', () => {
  const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString()
  const [one, two] = [
    aRecord('a', { 0: { address: '10.0.0.1' } }),
    aRecord('a', { 0: { address: '10.0.0.1' }, 1: { address: '10.0.0.2' } }),
  ]
  const entries = [
    { id: 4, at: at(4), what: 'created' as const, why: '', after: aRecord('b', { 1: { address: '10.0.0.2' } }) },
    { id: 3, at: at(3), what: 'config' as const, why: '', before: two, after: one },
    { id: 2, at: at(2), what: 'config' as const, why: '', before: one, after: two },
    { id: 1, at: at(1), what: 'created' as const, why: '', after: one },
  ]
  const { providerId } = one
  const holder = { kind: 'address' as const, value: 'x', providerId, nodeName: 'a', interface: 'multinic1' }
  const shown = (from: number, to?: number) =>
    changesOfHolders(nodeChangesOf(entries, undefined), [
      { ...holder, from: at(from), ...(to === undefined ? {} : { to: at(to) }) },
    ]).map(({ key, changes }) => `${key} ${changes.map(({ op, nic }) => `${op} ${nic}`)}`)
  assert.deepEqual(shown(2, 3), ['3 removed multinic1', '2 added multinic1'])
  assert.deepEqual(shown(4), [])
})
