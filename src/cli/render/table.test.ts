/** Tables on a terminal of 80 columns: they fit, and keep what a person copies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../../test/support/inventory.ts'
import type { InventoryRecord } from '../../contract/inventory.ts'
import { en } from '../messages/en.ts'
import { statusOf } from '../status.ts'
import { list } from './list.ts'
import { deviationLines, hitColumns, holderColumns } from './lists.ts'
import { plain } from './paint.ts'
import { statusTree } from './status-tree.ts'
import { table } from './table.ts'
import { widthOf } from './wrap.ts'

const now = new Date('2026-01-31T10:00:00Z')
const options = { paint: plain, wide: false, now, language: 'en' as const, texts: en, columns: 80 }
const observedAt = '2026-01-31T09:48:00Z'
const [node, portId, provider] = ['worker-12', 'c0ffee00-1111-4222-8333-444455556666', 'biz-cluster-seoul-1']

function fits(lines: readonly string[], columns: number, kept: readonly string[]): void {
  for (const line of lines) assert.ok(widthOf(line) <= columns, `${widthOf(line)} columns: ${line}`)
  const words = lines.join(' ').split(/\s+/)
  for (const text of kept) assert.ok(words.includes(text), `${text} is missing:\n${lines.join('\n')}`)
}

function aRecord(): InventoryRecord {
  const { why: _, ...write } = aWrite(node, { nics: 10 })
  const interfaces = write.config.interfaces.map(({ macAddress, portId: port = '' }) => ({
    ...{ macAddress, portId: port, status: 'Configured' as const, lastChecked: observedAt },
  }))
  for (const [at, nic] of write.config.interfaces.entries())
    Object.assign(nic, { address: `192.168.100.10${at}`, source: 'multinic-system/main' })
  return { ...write, updatedAt: observedAt, state: 'Configured', interfaces }
}

test('experience: the status tree fits 80 columns, and a wider terminal shows more', () => {
  const view = statusOf([aRecord()], now)
  const narrow = statusTree(view, options)
  fits(narrow, 80, [node, 'multinic9', 'Configured'])
  assert.match(narrow.at(-1) ?? '', /observed 12m ago/)
  assert.doesNotMatch(narrow.join('\n'), /02:00:00/)
  assert.match(statusTree(view, { ...options, columns: 120 }).join('\n'), /02:00:00/)
})

const deviation = { providerId: provider, nodeName: node, interface: 'multinic0', portId, delivered: true, observedAt }
const differences = [
  { field: 'mtu', wanted: '9000', observed: '1500' },
  { field: 'addresses', wanted: '192.168.100.101/24', observed: '' },
]

test('experience: the table of check fits 80 columns, with its texts in lines of their own', () => {
  const lines = deviationLines([{ ...deviation, status: 'Failed', reason: 'Drifted', differences }], options)
  fits(lines.slice(0, lines.indexOf('')), 80, [node, 'multinic0', 'Failed', 'Drifted', '192.168.100.101/24', '1500,'])
})

test('experience: the table of find fits 80 columns and keeps whole IDs', () => {
  const hit = { kind: 'port' as const, value: portId, ...deviation, status: 'Configured', differences: [] }
  fits(list([hit], hitColumns).lines(options), 80, [portId, node, 'multinic0', 'Configured'])
})

test('experience: the table of find --ever fits 80 columns', () => {
  const [from, to] = ['2026-01-01T10:00:00.000Z', '2026-01-02T10:00:00.000Z']
  const holder = {
    kind: 'port' as const,
    value: portId,
    providerId: provider,
    nodeName: node,
    interface: 'multinic0',
    from,
    to,
  }
  fits(list([holder], holderColumns).lines(options), 80, [node, 'multinic0', from, to])
})

const rows = [['worker-1', 'one two three four five six', 'optional']]
const cases: Record<string, [columns: number | undefined, lines: string[]]> = {
  'a pipe gets whole lines': [
    undefined,
    ['NODE      TEXT                         MORE', 'worker-1  one two three four five six  optional'],
  ],
  'a terminal without a width gets whole lines': [
    0,
    ['NODE      TEXT                         MORE', 'worker-1  one two three four five six  optional'],
  ],
  'texts wrap first': [
    36,
    ['NODE      TEXT              MORE', 'worker-1  one two three     optional', '          four five six'],
  ],
  'then optional columns go': [24, ['NODE      TEXT', 'worker-1  one two three', '          four five six']],
}
for (const [name, [columns, lines]] of Object.entries(cases))
  test(`a table: ${name}`, () =>
    assert.deepEqual(table(['NODE', 'TEXT', 'MORE'], rows, plain, { columns, optional: [2] }), lines))
