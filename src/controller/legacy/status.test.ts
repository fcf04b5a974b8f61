import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BizConfigStatus } from '../../contract/legacy/biz-config.ts'
import type { NodeConfig, NodeConfigStatus } from '../../contract/node-config.ts'
import { aConfig } from '../controller.fixture.ts'
import { aBiz, aBizNode } from './biz-config.fixture.ts'
import { expandBizConfig } from './expand.ts'
import { type BizConfigStatusInput, nextBizConfigStatus } from './status.ts'

const now = new Date('2026-01-01T00:00:00Z')
const biz = aBiz({ nodes: ['a', 'b', 'c'].map((id, index) => aBizNode(`vm-${id}`, [index], id)) })
const [a, b, c] = expandBizConfig({ biz, entries: [], mode: 'dual', now, indexesOf: () => new Map() }).entries as [
  NodeConfig,
  NodeConfig,
  NodeConfig,
]

function as(entry: NodeConfig, state: NodeConfigStatus['state'], reason = 'AllInterfacesConfigured'): NodeConfig {
  const conditions = [{ type: 'Ready', status: 'False' as const, reason, message: `message of ${reason}` }]
  return { ...entry, status: { observedGeneration: 1, state, conditions, lastJobName: 'job' } }
}

function statusFor(entries: NodeConfig[], values: Partial<BizConfigStatusInput> = {}): BizConfigStatus {
  const input = { biz, before: {}, entries, frozen: [], ignored: 0, readOnly: false, now, ownerOf: () => undefined }
  return nextBizConfigStatus({ ...input, ...values }) ?? assert.fail('no new status')
}

const conditionsOf = ({ conditions }: BizConfigStatus) =>
  Object.fromEntries((conditions ?? []).map(one => [one.type, `${one.status} ${one.reason}: ${one.message}`]))

const cases: Record<string, [entries: NodeConfig[], ready: string, progress: string, applied: string]> = {
  'all nodes are configured': [
    [as(a, 'Configured'), as(b, 'Configured'), as(c, 'Configured')],
    'True AllNodesConfigured: 3 of 3 nodes configured',
    'False AllNodesProcessed: all nodes processed',
    'True AllNodesProcessed: 3 of 3 nodes applied',
  ],
  'some nodes are in progress': [
    [as(a, 'Configured'), as(b, 'InProgress', 'Applying'), as(c, 'Pending', 'NodeNotFound')],
    'False ProcessingNodes: 1 of 3 nodes configured',
    'True ProcessingNodes: Processing network configurations for 2 nodes',
    'False ProcessingNodes: 1 of 3 nodes applied',
  ],
  'one node failed': [
    [as(a, 'Configured'), as(b, 'Failed', 'ApplyFailed'), as(c, 'Configured')],
    'False NodesFailed: 1 of 3 nodes failed: see status.nodeStatuses',
    'False AllNodesProcessed: all nodes processed',
    'False NodesFailed: 2 of 3 nodes applied, 1 failed',
  ],
  'one node failed and another one is in progress': [
    [as(a, 'Configured'), as(b, 'Failed', 'ApplyFailed'), as(c, 'InProgress', 'Applying')],
    'False NodesFailed: 1 of 3 nodes failed: see status.nodeStatuses',
    'True ProcessingNodes: Processing network configurations for 1 node',
    'False ProcessingNodes: 1 of 3 nodes applied, 1 failed',
  ],
  'there is no node': [
    [],
    'True NoNodes: 0 of 0 nodes configured',
    'False AllNodesProcessed: all nodes processed',
    'True AllNodesProcessed: 0 of 0 nodes applied',
  ],
}

for (const [name, [entries, ready, progress, applied]] of Object.entries(cases))
  test(`conditions when ${name}`, () => {
    const { Ready, InProgress, Applied } = conditionsOf(statusFor(entries))
    assert.deepEqual([Ready, InProgress, Applied], [ready, progress, applied])
  })

test('the record of a configured node is short, and that of a failed node says why', () => {
  const { nodeStatuses } = statusFor([as(a, 'Configured'), as(b, 'Failed', 'ApplyFailed')])
  assert.deepEqual(Object.keys(nodeStatuses?.[0] ?? {}), [
    ...['attachedNodeId', 'attachedNodeName', 'state', 'lastJobName', 'observedGeneration', 'specHash', 'indexes'],
  ])
  assert.equal(nodeStatuses?.[1]?.message, 'message of ApplyFailed')
  assert.ok(JSON.stringify(nodeStatuses?.[0]).length < 300)
})

test('a node that a MultiNicNodeConfig manages shows the state of that config and names it', () => {
  const owner = aConfig({ name: 'b', status: { state: 'Failed', lastJobName: 'its-own' } })
  const status = statusFor([as(a, 'Configured'), as(b, 'Pending', 'OwnedByNodeConfig')], {
    ownerOf: entry => (entry === a || entry.spec.instanceId === 'vm-b' ? owner : undefined),
  })
  const { state, reason, lastJobName } = status.nodeStatuses?.[1] ?? {}
  assert.deepEqual([state, reason, lastJobName], ['Failed', 'OwnedByNodeConfig', 'its-own'])
  assert.equal(
    conditionsOf(status)['Overridden'],
    'True OwnedByNodeConfig: 1 of 2 nodes managed by MultiNicNodeConfigs: b',
  )
})

test('a read-only BizConfig shows how many nodes an ignored change affects', () => {
  const { ReadOnly } = conditionsOf(statusFor([as(a, 'Configured')], { readOnly: true, ignored: 2 }))
  assert.equal(ReadOnly, 'True ReadOnly: a change to 2 nodes is ignored')
})

test('an unchanged status is not written, and a condition keeps its transition time', () => {
  const before = statusFor([as(a, 'Configured')])
  const later = new Date('2026-01-02T00:00:00Z')
  const input = { biz, before, frozen: [], ignored: 0, readOnly: false, now: later, ownerOf: () => undefined }
  assert.equal(nextBizConfigStatus({ ...input, entries: [as(a, 'Configured')] }), undefined)
  const next = nextBizConfigStatus({ ...input, entries: [as(a, 'Configured'), as(b, 'Configured')] })
  assert.deepEqual(
    next?.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
    before.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
  )
})
