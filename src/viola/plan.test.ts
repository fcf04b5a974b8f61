import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig } from '../contract/node-config.ts'
import { appliedObject, belongsTo, heldNode, planNodeConfig, planNodeConfigs, type WantedNode } from './plan.ts'
import { nodesFrom } from './request.ts'

const providerId = 'p1'
const nics = [{ id: 0, macAddress: '02:00:00:00:00:01', mtu: 1500 }]

function wanted(change: object = {}): WantedNode {
  const [node] = nodesFrom(
    [{ nodeName: 'worker-1', instanceId: 'vm-1', interfaces: nics, ...change }],
    providerId,
  ).nodes
  return node ?? assert.fail('not a node')
}

function held(node: WantedNode, change: { spec?: object; metadata?: object } = {}): NodeConfig {
  const { metadata, spec } = appliedObject(node, providerId)
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { ...metadata, uid: 'u1', generation: 3, resourceVersion: '7', ...change.metadata },
    spec: { ...spec, ...change.spec },
  }
}

const same = held(wanted())
const { specHash } = wanted()
const edited = held(wanted(), { spec: { interfaces: [{ ...nics[0], mtu: 9000 }] } })

type Case = [node: WantedNode, held: NodeConfig | undefined, says: string]
const cases: Record<string, Case> = {
  'a node that the cluster does not hold is created': [wanted(), undefined, 'create'],
  'what the cluster holds already is left': [wanted(), same, 'nothing'],
  'labels of others do not matter': [
    wanted(),
    held(wanted(), { metadata: { labels: { ...wanted().labels, team: 'net' } } }),
    'nothing',
  ],
  'another interface is an update': [wanted({ interfaces: [] }), same, 'update'],
  'an edit by hand is put right, whatever its hash says': [wanted(), edited, 'update'],
  'a label of ours that is gone comes back': [wanted(), held(wanted(), { metadata: { labels: {} } }), 'update'],
  'the expected state is updated': [wanted({ interfaces: [], expectedSpecHash: specHash }), same, 'update'],
  'another state than expected is refused': [
    wanted({ expectedSpecHash: 'old' }),
    same,
    `refuse: the cluster holds ${specHash} for worker-1; old was expected`,
  ],
  'an edit by hand is another state': [
    wanted({ interfaces: [], expectedSpecHash: specHash }),
    edited,
    `refuse: the cluster holds ${heldNode(edited).specHash} for worker-1; ${specHash} was expected`,
  ],
  'a node that must not exist is refused when it does': [
    wanted({ expectedSpecHash: '' }),
    same,
    'refuse: the cluster holds a config of worker-1 already',
  ],
  'a node that must exist is refused when it does not': [
    wanted({ expectedSpecHash: 'old' }),
    undefined,
    'refuse: the cluster holds no config of worker-1; old was expected',
  ],
  'two node names never share an object': [
    wanted({ nodeName: 'Worker-1' }),
    same,
    'refuse: the object worker-1 belongs to the node worker-1 already',
  ],
  'a node of another provider is not touched': [
    wanted({ instanceId: 'vm-2' }),
    held(wanted(), { spec: { providerId: 'p2' } }),
    'refuse: the node worker-1 belongs to provider p2',
  ],
  'the same VM under another provider id is taken over': [
    wanted(),
    held(wanted(), { spec: { providerId: 'p2' } }),
    'update',
  ],
  'but not from a provider that the caller has no right to': [
    wanted(),
    held(wanted(), { spec: { providerId: 'p3' } }),
    'refuse: the node worker-1 belongs to provider p3, which is not yours',
  ],
  'a config on its way out is waited for': [
    wanted(),
    held(wanted(), { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    'refuse: the config of worker-1 is being deleted; send it again when it is gone',
  ],
}

for (const [name, [node, existing, says]] of Object.entries(cases)) {
  test(name, () => {
    const decision = planNodeConfig(node, existing, { providerId, mayTakeFrom: id => id !== 'p3' })
    assert.equal(decision.do === 'refuse' ? `refuse: ${decision.message}` : decision.do, says)
  })
}

test('two nodes of one request that would be one object are both refused, the others go on', () => {
  const interfaces: object[] = []
  const { nodes } = nodesFrom(
    [
      { nodeName: 'w_1', interfaces },
      { nodeName: 'other', interfaces },
      { nodeName: 'w-1', interfaces },
    ],
    providerId,
  )
  const decisions = planNodeConfigs(nodes, { providerId, held: () => undefined, mayTakeFrom: () => true })
  assert.deepEqual(
    decisions.map(decision => (decision.do === 'refuse' ? decision.message : decision.do)),
    ['w_1 and w-1 would both be the object w-1', 'create', 'w_1 and w-1 would both be the object w-1'],
  )
})

test('an instance id that is wanted no more is emptied, because another manager may hold it', () => {
  assert.equal(appliedObject(wanted({ instanceId: '' }), providerId, same).spec.instanceId, '')
  assert.equal('instanceId' in appliedObject(wanted({ instanceId: '' }), providerId).spec, false)
})

test('an object from before our schema is shown as far as it is sound, and counts as another state', () => {
  const odd = { ...nics[0], id: 1, macAddress: 'none' }
  const object = { ...held(wanted(), { spec: { interfaces: [...nics, odd] } }), status: { state: 'Odd' as never } }
  const shown = heldNode(object)
  assert.deepEqual(
    shown.interfaces.map(({ id }) => id),
    [0],
  )
  assert.equal(shown.status, undefined)
  assert.notEqual(shown.specHash, specHash)
})

test('objects without a provider are everybody’s, those of older versions are told by their label', () => {
  const by = (spec: object, labels: object) => belongsTo(held(wanted(), { spec, metadata: { labels } }), 'P1')
  assert.equal(by({ providerId: undefined }, {}), true)
  assert.equal(by({ providerId: undefined }, { 'multinic.io/provider-id': 'p1' }), true)
  assert.equal(by({ providerId: undefined }, { 'multinic.io/provider-id': 'p2' }), false)
  assert.equal(by({ providerId: 'p1' }, {}), false)
})
