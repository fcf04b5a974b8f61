/** Texts of the commands, as tables: no server, no terminal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../../test/support/inventory.ts'
import type { InventoryRecord } from '../../contract/inventory.ts'
import type { OpenstackConfig, OpenstackConfigStatus } from '../../contract/openstack-config.ts'
import { reasonText } from '../../contract/reasons/catalogue.ts'
import { en } from '../messages/en.ts'
import { statusOf } from '../status.ts'
import { changesOf } from './history-text.ts'
import { deviationLines } from './lists.ts'
import { coloured, paintFor, plain, printable } from './paint.ts'
import { ago } from './reason.ts'
import { statusTree } from './status-tree.ts'
import { aligned } from './table.ts'
import { treeLines } from './tree.ts'

const now = new Date('2026-01-31T10:00:00Z')
const options = { paint: plain, wide: false, now, language: 'en' as const, texts: en }

function aRecord(nodeName: string, more: Partial<InventoryRecord> & { nics?: number; source?: string } = {}) {
  const { nics = 1, source, ...rest } = more
  const { why: _why, ...write } = aWrite(nodeName, { nics })
  const record: InventoryRecord = { ...write, updatedAt: '2026-01-31T09:58:00Z', state: 'Configured', ...rest }
  if (source) for (const nic of record.config.interfaces) nic.source = source
  return record
}

function aConfig(name: string, status?: OpenstackConfigStatus): OpenstackConfig {
  return {
    apiVersion: 'multinic.example.com/v1alpha1',
    kind: 'OpenstackConfig',
    metadata: { name, namespace: 'ns', generation: 2 },
    spec: {
      vmNames: ['vm'],
      credentials: { openstackProviderID: 'cloud', k8sProviderID: 'p1', projectID: '0'.repeat(32) },
    },
    ...(status && { status: { observedGeneration: 2, ...status } }),
  }
}
function aDeleted(config: OpenstackConfig): OpenstackConfig {
  return { ...config, metadata: { ...config.metadata, deletionTimestamp: '2026-01-31T09:58:00Z' } }
}
const ready = { type: 'Ready', status: 'True' as const, reason: 'Synced', message: 'sent 1', lastTransitionTime: '' }
const trees: Record<string, [InventoryRecord[], OpenstackConfig[], string[]]> = {
  'nothing is nothing': [[], [], []],
  'a node without NICs hangs from its provider': [
    [aRecord('w1', { nics: 0 })],
    [],
    ['provider p1  1 node, 1 Configured', '└─ w1  Configured'],
  ],
  'an OpenstackConfig without nodes is there too': [
    [],
    [aConfig('new')],
    ['provider p1  0 nodes', '└─ OpenstackConfig ns/new  not synced yet'],
  ],
  'an OpenstackConfig says how its last sync went and which ports it left out': [
    [],
    [
      aConfig('main', {
        conditions: [ready],
        lastSyncedAt: '2026-01-31T09:59:00Z',
        ports: { summary: '1/3', skipped: { DeviceOwnerNotAllowed: 2 } },
      }),
    ],
    [
      'provider p1  0 nodes',
      '└─ OpenstackConfig ns/main  Ready  ports 1/3  synced 1m ago',
      '      ignored ports: 2 DeviceOwnerNotAllowed',
    ],
  ],
  'a failed sync tells its reason once, with what to do': [
    [],
    [
      aConfig('main', {
        conditions: [
          { ...ready, status: 'False', reason: 'SubnetRequired', message: 'no subnet' },
          { ...ready, type: 'Degraded', reason: 'SubnetRequired', message: 'no subnet' },
        ],
      }),
    ],
    [
      'provider p1  0 nodes',
      '└─ OpenstackConfig ns/main  not ready',
      '      SubnetRequired: The OpenstackConfig selects no subnet.',
      '      no subnet',
      '      → Set subnets, subnetIDs, subnetID or subnetName.',
    ],
  ],
  'a deletion that waits says since when and why, once': [
    [],
    [
      aDeleted(
        aConfig('main', {
          conditions: [
            { ...ready, status: 'False', reason: 'RemovalPending', message: 'viola: down' },
            { ...ready, type: 'Degraded', reason: 'RemovalPending', message: 'viola: down' },
            { ...ready, type: 'RemovalPending', reason: 'RemovalPending', message: 'viola: down' },
            { ...ready, type: 'CloudReady', status: 'False', reason: 'KeystoneError', message: 'HTTP 401' },
          ],
        }),
      ),
    ],
    [
      'provider p1  0 nodes',
      '└─ OpenstackConfig ns/main  not ready  being deleted, requested 2m ago',
      ...['RemovalPending', 'KeystoneError'].flatMap((reason, at) => [
        `      ${reason}: ${reasonText(reason)?.meaning}`,
        `      ${['viola: down', 'HTTP 401'][at]}`,
        `      → ${reasonText(reason)?.remedy}`,
      ]),
    ],
  ],
  'a removal that was on hold and is not any more is no problem': [
    [],
    [aConfig('main', { conditions: [ready, { ...ready, type: 'RemovalHeld', status: 'False', reason: 'Healthy' }] })],
    ['provider p1  0 nodes', '└─ OpenstackConfig ns/main  Ready'],
  ],
  'a status of an older generation is not believed': [
    [],
    [aConfig('main', { observedGeneration: 1, conditions: [ready] })],
    ['provider p1  0 nodes', '└─ OpenstackConfig ns/main  not synced yet'],
  ],
}

for (const [name, [records, configs, lines]] of Object.entries(trees))
  test(`status: ${name}`, () => assert.deepEqual(statusTree(statusOf(records, now, configs), options), lines))

test('status: a node of two OpenstackConfigs is under both, with the NICs of each', () => {
  const record = aRecord('w1', { nics: 2 })
  for (const [at, nic] of record.config.interfaces.entries()) nic.source = `ns/config-${at}`
  const names = statusOf([record], now)[0]?.configs.map(({ name, nodes }) => [
    name,
    nodes[0]?.interfaces.map(nic => nic.name),
  ])
  assert.deepEqual(names, [
    ['ns/config-0', ['multinic0']],
    ['ns/config-1', ['multinic1']],
  ])
})

test('history: added, removed and changed interfaces', () => {
  const before = aRecord('w1', { nics: 2, state: 'Failed', reason: 'ApplyFailed' })
  const after = aRecord('w1', { nics: 1 })
  const [nic] = after.config.interfaces
  if (nic) nic.mtu = 9000
  const changes = changesOf(before, after)
  assert.equal(changes[0], '~ node state  Failed ApplyFailed → Configured')
  assert.match(changes[1] ?? '', /^~ multinic0 {2}10\.\S+ mtu 1450 .* → 10\.\S+ mtu 9000 /)
  assert.match(changes[2] ?? '', /^- multinic1 {2}10\.1\./)
  assert.deepEqual(changesOf(before, before), [])
  assert.ok(changesOf(before, undefined).every(change => change.startsWith('- ')))
})

test('history: a name alone is no change, and a changed interface shows its subnet', () => {
  const before = aRecord('w1')
  const after = structuredClone({ ...before, instanceName: 'web' })
  Object.assign(after.config.interfaces[0] ?? {}, { subnetName: 'storage' })
  assert.deepEqual(changesOf(before, after), [])
  Object.assign(after.config.interfaces[0] ?? {}, { mtu: 9000 })
  assert.match(changesOf(before, after)[0] ?? '', /^~ multinic0 .* → .*mtu 9000 .*\(storage\)$/)
})

test('check: a remedy is printed once, however many NICs need it', () => {
  const one = { providerId: 'p1', nodeName: 'w1', interface: 'multinic0', status: 'Failed' as const, delivered: true }
  const wrong = { ...one, reason: 'InterfaceNameInUse', remedy: 'Rename that device.', differences: [] }
  const drifted = { ...one, differences: [{ field: 'mtu', wanted: '9000', observed: '1500' }] }
  const lines = deviationLines([wrong, { ...wrong, nodeName: 'w2' }, drifted], options)
  assert.equal(lines.filter(line => line.includes('Rename that device.')).length, 1)
  assert.match(lines[3] ?? '', /mtu is 1500, requested 9000/)
})

test('columns are aligned, also with colours, and empty ones are dropped', () => {
  const rows = [
    ['a', '', { text: 'x', tone: 'good' as const }, '1'],
    ['long', undefined, 'yy', '2'],
  ]
  assert.deepEqual(aligned(rows), ['a     x   1', 'long  yy  2'])
  assert.deepEqual(aligned(rows, coloured), ['a     \u001b[32mx\u001b[0m   1', 'long  yy  2'])
})

test('a tree keeps its notes under their branch', () => {
  const lines = treeLines([{ text: 'a', notes: ['n'], children: [{ text: 'b', notes: ['m'] }, { text: 'c' }] }])
  assert.deepEqual(lines, ['a', '│  n', '├─ b', '│     m', '└─ c'])
})

const terminals: Record<string, [boolean, Record<string, string>, boolean]> = {
  'a terminal has colours': [true, {}, true],
  'a pipe has none': [false, {}, false],
  'NO_COLOR is heard': [true, { NO_COLOR: '1' }, false],
  'FORCE_COLOR colours a pipe': [false, { FORCE_COLOR: '1' }, true],
  'FORCE_COLOR is stronger than NO_COLOR': [false, { FORCE_COLOR: '3', NO_COLOR: '1' }, true],
  'FORCE_COLOR=0 is none': [true, { FORCE_COLOR: '0' }, false],
  'a dumb terminal has none': [true, { TERM: 'dumb' }, false],
}
for (const [name, [terminal, env, expected]] of Object.entries(terminals))
  test(name, () => assert.equal(paintFor(terminal, env) === coloured, expected))

test('no text contains terminal control sequences or marks of the writing direction', () => {
  assert.equal(printable('a\u202eb\u2066c\u200b\u2028d\ud800'), 'a\ufffdb\ufffdc\ufffd\ufffdd\ufffd')
  assert.equal(printable('a\u001b[31mb\u009b1m\rc\n\td\r\n'), 'a\ufffd[31mb\ufffd1m\ufffdc\n\td\r\n')
})

const times: Record<string, string> = {
  '2026-01-31T10:00:00Z': 'now',
  '2026-01-31T09:59:18Z': '42s ago',
  '2026-01-31T08:00:00Z': '2h ago',
  '2026-01-01T10:00:00Z': '30d ago',
  '2026-01-31T11:00:00Z': 'now',
}
for (const [time, words] of Object.entries(times))
  test(`${time} is ${words}`, () => assert.equal(ago(time, options), words))
