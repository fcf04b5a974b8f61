import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BizConfigStatus } from '../../contract/legacy/biz-config.ts'
import type { NodeConfig, NodeConfigStatus } from '../../contract/node-config.ts'
import { aConfig } from '../controller.fixture.ts'
import { aBiz, aBizNode } from './biz-config.fixture.ts'
import { unfold } from './expand.ts'
import { type Folding, nextBizStatus } from './status.ts'

const now = new Date('2026-01-01T00:00:00Z')
const biz = aBiz({ nodes: ['a', 'b', 'c'].map((id, index) => aBizNode(`vm-${id}`, [index], id)) })
const [a, b, c] = unfold({ biz, entries: [], mode: 'dual', now, numbersOf: () => new Map() }).entries as [
  NodeConfig,
  NodeConfig,
  NodeConfig,
]

function as(entry: NodeConfig, state: NodeConfigStatus['state'], reason = 'AllInterfacesConfigured'): NodeConfig {
  const conditions = [{ type: 'Ready', status: 'False' as const, reason, message: `it is ${reason}` }]
  return { ...entry, status: { observedGeneration: 1, state, conditions, lastJobName: 'job' } }
}

function fold(entries: NodeConfig[], values: Partial<Folding> = {}): BizConfigStatus {
  const folding = { biz, before: {}, entries, frozen: [], ignored: 0, readOnly: false, now, ownerOf: () => undefined }
  return nextBizStatus({ ...folding, ...values }) ?? assert.fail('nothing is to be said')
}

const said = ({ conditions }: BizConfigStatus) =>
  Object.fromEntries((conditions ?? []).map(one => [one.type, `${one.status} ${one.reason}: ${one.message}`]))

const cases: Record<string, [entries: NodeConfig[], ready: string, progress: string, applied: string]> = {
  'all nodes are configured': [
    [as(a, 'Configured'), as(b, 'Configured'), as(c, 'Configured')],
    'True AllNodesConfigured: 3 of 3 nodes configured',
    'False AllNodesProcessed: no node waits',
    'True AllNodesProcessed: 3 nodes of 3 were worked on',
  ],
  'some are on their way': [
    [as(a, 'Configured'), as(b, 'InProgress', 'Applying'), as(c, 'Pending', 'NodeNotFound')],
    'False ProcessingNodes: 1 of 3 nodes configured',
    'True ProcessingNodes: Processing network configurations for 2 nodes',
    'False ProcessingNodes: 1 node of 3 were worked on',
  ],
  'one failed': [
    [as(a, 'Configured'), as(b, 'Failed', 'ApplyFailed'), as(c, 'Configured')],
    'False NodesFailed: 1 of 3 nodes failed; nodeStatuses tells of each',
    'False AllNodesProcessed: no node waits',
    'True AllNodesProcessed: 3 nodes of 3 were worked on',
  ],
  'there is no node': [
    [],
    'True NoNodes: 0 of 0 nodes configured',
    'False AllNodesProcessed: no node waits',
    'True AllNodesProcessed: 0 nodes of 0 were worked on',
  ],
}

for (const [name, [entries, ready, progress, applied]] of Object.entries(cases))
  test(`what a document says when ${name}`, () => {
    const { Ready, InProgress, Applied } = said(fold(entries))
    assert.deepEqual([Ready, InProgress, Applied], [ready, progress, applied])
  })

test('a node that is fine takes little room, and one that is not says why', () => {
  const { nodeStatuses } = fold([as(a, 'Configured'), as(b, 'Failed', 'ApplyFailed')])
  assert.deepEqual(Object.keys(nodeStatuses?.[0] ?? {}), [
    ...['attachedNodeId', 'attachedNodeName', 'state', 'lastJobName', 'observedGeneration', 'specHash', 'numbers'],
  ])
  assert.equal(nodeStatuses?.[1]?.message, 'it is ApplyFailed')
  assert.ok(JSON.stringify(nodeStatuses?.[0]).length < 300)
})

test('a node that a MultiNicNodeConfig has is as that one says, and the document names it', () => {
  const owner = aConfig({ name: 'b', status: { state: 'Failed', lastJobName: 'its-own' } })
  const status = fold([as(a, 'Configured'), as(b, 'Pending', 'OwnedByNodeConfig')], {
    ownerOf: entry => (entry === a || entry.spec.instanceId === 'vm-b' ? owner : undefined),
  })
  const { state, reason, lastJobName } = status.nodeStatuses?.[1] ?? {}
  assert.deepEqual([state, reason, lastJobName], ['Failed', 'OwnedByNodeConfig', 'its-own'])
  assert.equal(said(status)['Overridden'], 'True OwnedByNodeConfig: 1 node of 2: b')
})

test('a read-only document tells how much of a change is ignored', () => {
  const { ReadOnly } = said(fold([as(a, 'Configured')], { readOnly: true, ignored: 2 }))
  assert.equal(ReadOnly, 'True ReadOnly: a change of 2 nodes is ignored')
})

test('the same is not said twice, and a condition keeps the time since when it holds', () => {
  const before = fold([as(a, 'Configured')])
  const later = new Date('2026-01-02T00:00:00Z')
  const folding = { biz, before, frozen: [], ignored: 0, readOnly: false, now: later, ownerOf: () => undefined }
  assert.equal(nextBizStatus({ ...folding, entries: [as(a, 'Configured')] }), undefined)
  const next = nextBizStatus({ ...folding, entries: [as(a, 'Configured'), as(b, 'Configured')] })
  assert.deepEqual(
    next?.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
    before.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
  )
})
