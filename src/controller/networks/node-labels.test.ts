import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interfaceHash } from '../../contract/interface-hash.ts'
import type { InterfaceStatus, NodeConfig } from '../../contract/node-config.ts'
import type { NodeObject } from '../../kube/types.ts'
import { aConfig } from '../controller.fixture.ts'
import { requestedOf } from '../plan/requested.ts'
import { labelChanges, taintRemoval } from './node-labels.ts'
import { provenOf } from './proven.ts'

const node = { bootID: 'boot-1' }
const aliases = ['storage', 'backup']

/** All interfaces are configured as requested. */
function configured(values: Parameters<typeof aConfig>[0] = {}): NodeConfig {
  const config = aConfig({ aliases, ...values })
  const interfaceStatuses = requestedOf(config).interfaces.map(
    (nic): InterfaceStatus => ({
      ...{ id: nic.index, macAddress: nic.macAddress, status: 'Configured', specHash: interfaceHash(nic) },
    }),
  )
  return { ...config, status: { observedGeneration: 3, state: 'Configured', bootID: 'boot-1', interfaceStatuses } }
}

/** The status of the second interface is another one. */
function second(change: Partial<InterfaceStatus>, state: 'Configured' | 'Failed' | 'Pending' = 'Failed'): NodeConfig {
  const config = configured()
  const [first = {}, other = {}] = config.status?.interfaceStatuses ?? []
  return { ...config, status: { ...config.status, state, interfaceStatuses: [first, { ...other, ...change }] } }
}

function edited(change: (config: NodeConfig) => void): NodeConfig {
  const config = structuredClone(configured())
  change(config)
  return config
}

const cases: [name: string, config: NodeConfig, proven: string, all: boolean][] = [
  ['all interfaces are as requested', configured(), 'multinic0 multinic1', true],
  ['one failed', second({ status: 'Failed', reason: 'MtuTooLarge' }), 'multinic0', false],
  ['a check found drift on one', second({ status: 'Failed', reason: 'Drifted' }), 'multinic0', false],
  ['one waits for its NIC', second({ status: 'Pending', reason: 'NicMissing' }, 'Pending'), 'multinic0', false],
  ['one was removed', second({ status: 'Removed' }), 'multinic0', false],
  [
    'a newer request of one waits for the rollout',
    second({ pending: { reason: 'RolloutWaiting', message: '' } }, 'Pending'),
    'multinic0',
    false,
  ],
  ['one was configured with another request', second({ specHash: 'other' }, 'Configured'), 'multinic0', false],
  ['one is of another MAC', second({ macAddress: 'fa:16:3e:00:00:09' }, 'Configured'), 'multinic0', false],
  [
    'a newer spec of the first, and its status is not written yet',
    edited(({ metadata, spec }) => {
      metadata.generation = 4
      Object.assign(spec.interfaces[0] ?? {}, { mtu: 9000 })
    }),
    'multinic1',
    false,
  ],
  [
    'a newer spec with the same interfaces is being applied',
    edited(({ metadata, status }) => {
      metadata.generation = 4
      Object.assign(status ?? {}, { observedGeneration: 4, state: 'InProgress' })
    }),
    'multinic0 multinic1',
    false,
  ],
  [
    'paused after it was configured',
    edited(({ metadata }) => {
      metadata.annotations = { 'multinic.io/paused': 'true' }
    }),
    'multinic0 multinic1',
    true,
  ],
  [
    'the status of the Go implementation, without hashes',
    edited(({ status }) => {
      for (const one of status?.interfaceStatuses ?? []) delete one.specHash
    }),
    'multinic0 multinic1',
    true,
  ],
  [
    'the same, before a newer spec',
    edited(({ metadata, status }) => {
      metadata.generation = 4
      for (const one of status?.interfaceStatuses ?? []) delete one.specHash
    }),
    '',
    false,
  ],
  ['of an earlier boot', edited(({ status }) => Object.assign(status ?? {}, { bootID: 'boot-0' })), '', false],
  ['of the Go implementation, which recorded no boot', edited(({ status }) => delete status?.bootID), '', false],
  [
    'deleted',
    edited(({ metadata }) => {
      metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
    }),
    '',
    false,
  ],
  ['without a status', aConfig({ aliases }), '', false],
  ['without interfaces', configured({ nics: 0 }), '', false],
]

for (const [name, config, expected, all] of cases)
  test(`proven of a config: ${name}`, () => {
    const proven = provenOf(config, node)
    assert.equal(proven.interfaces.map(nic => nic.name).join(' '), expected)
    assert.equal(proven.all, all)
  })

const withLabels = (labels?: Record<string, string>): NodeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'w1', uid: 'u', ...(labels && { labels }) },
})
const changes = (config: NodeConfig, labels?: Record<string, string>) =>
  labelChanges(withLabels(labels), requestedOf(config).interfaces, provenOf(config, node))
const [storage, backup] = ['network.multinic.io/storage', 'network.multinic.io/backup']

test('a Node gets a label for each proven network with an alias', () => {
  assert.deepEqual(changes(configured()), { [storage]: 'ready', [backup]: 'ready' })
  assert.deepEqual(changes(configured({ aliases: ['storage'] })), { [storage]: 'ready' })
  assert.deepEqual(changes(configured({ aliases: [] })), {})
})

test('labels that are up to date are not written again', () =>
  assert.deepEqual(changes(configured(), { [storage]: 'ready', [backup]: 'ready', zone: 'z' }), {}))

test('only labels with the prefix are changed: another value, an unknown alias, a network that is not proven', () => {
  const labels = { [storage]: 'no', [backup]: 'ready', 'network.multinic.io/old': 'ready', 'multinic.io/backend': 'x' }
  assert.deepEqual(changes(second({ status: 'Failed' }), labels), {
    [storage]: 'ready',
    [backup]: null,
    'network.multinic.io/old': null,
  })
})

test('two interfaces with one alias are ready together', () => {
  const config = (status: 'Configured' | 'Failed') => {
    const { status: both, ...rest } = second({ status })
    const interfaces = rest.spec.interfaces.map(nic => ({ ...nic, alias: 'storage' }))
    return { ...rest, spec: { ...rest.spec, interfaces }, ...(both && { status: both }) }
  }
  assert.deepEqual(changes(config('Configured')), { [storage]: 'ready' })
  assert.deepEqual(changes(config('Failed'), { [storage]: 'ready' }), { [storage]: null })
})

test('the removal of the taint names its position and its content, and no other taint', () => {
  const own = { key: 'multinic.io/not-ready', effect: 'NoSchedule' }
  const taints = [
    { key: 'multinic.io/not-ready', effect: 'NoExecute' },
    { key: 'other', effect: 'NoSchedule' },
    { ...own, value: 'yes' },
  ]
  assert.deepEqual(taintRemoval({ ...withLabels(), spec: { taints } }), [
    { op: 'test', path: '/metadata/uid', value: 'u' },
    { op: 'test', path: '/spec/taints/2', value: { ...own, value: 'yes' } },
    { op: 'remove', path: '/spec/taints/2' },
  ])
  assert.equal(taintRemoval({ ...withLabels(), spec: { taints: taints.slice(0, 2) } }), undefined)
  assert.equal(taintRemoval(withLabels()), undefined)
})
