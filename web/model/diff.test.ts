import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HistoryEntry, InventoryRecord } from '../../src/contract/inventory.ts'
import { changesBetween, detailsOf, holdingsOf, nicRange, turnsOf } from './diff.ts'

type Status = NonNullable<InventoryRecord['interfaces']>[number]['status']

function aRecord(
  nodeName: string,
  nics: Record<number, { address: string; status?: Status; mtu?: number }>,
): InventoryRecord {
  const list = Object.entries(nics).map(([id, nic]) => ({ id: Number(id), mac: `fa:16:3e:00:00:0${id}`, ...nic }))
  return {
    providerId: 'biz',
    nodeName,
    instanceId: 'vm',
    config: {
      nodeName,
      interfaces: list.map(({ id, mac, address, mtu }) => ({
        id,
        macAddress: mac,
        portId: `${nodeName}-${id}`,
        address,
        cidr: '10.0.0.0/24',
        ...(mtu ? { mtu } : {}),
      })),
    },
    lastConfigHash: 'h',
    updatedAt: '2026-01-01T00:00:00Z',
    interfaces: list.map(({ id, mac, status }) => ({ id, macAddress: mac, status })),
  }
}

test('a change is told NIC by NIC: come, gone, different', () => {
  const before = aRecord('w', { 0: { address: '10.0.0.1', status: 'Pending' }, 1: { address: '10.0.0.2' } })
  const after = aRecord('w', {
    0: { address: '10.0.0.1', status: 'Configured', mtu: 9000 },
    2: { address: '10.0.0.3' },
  })
  const changes = changesBetween(before, after)
  assert.deepEqual(
    changes.map(({ op, nic }) => `${op} ${nic}`),
    ['chg multinic0', 'del multinic1', 'add multinic2'],
  )
  assert.deepEqual(turnsOf(changes), [{ nic: 'multinic0', nics: 'multinic0', before: 'pend', after: 'ok', reason: '' }])
  assert.deepEqual(changes.flatMap(detailsOf), [{ field: 'mtu', before: '', after: '9000' }])
  assert.deepEqual(changesBetween(after, after), [])
})

test('NICs that went the same way are named together', () => {
  assert.equal(nicRange(['multinic0', 'multinic1', 'multinic2', 'multinic5']), 'multinic0–2, 5')
  assert.equal(nicRange(['multinic3', 'multinic4']), 'multinic3, 4')
  assert.equal(nicRange(['ens3']), 'ens3')
  assert.equal(nicRange([]), '')
})

test('who had an address is read from the histories: one after the other, and the last one still', () => {
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
  const told = (value: string) =>
    holdingsOf(value, history).map(({ nodeName, nic, from, to }) => [
      nodeName,
      nic,
      new Date(from).getUTCHours(),
      to && new Date(to).getUTCHours(),
    ])
  assert.deepEqual(told('10.0.0.7'), [
    ['a', 'multinic2', 1, 5],
    ['b', 'multinic0', 9, undefined],
  ])
  assert.deepEqual(told('FA:16:3E:00:00:00'), [['b', 'multinic0', 9, undefined]])
  assert.deepEqual(told('10.0.0.70'), [])
})
