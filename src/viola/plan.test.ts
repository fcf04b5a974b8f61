import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig } from '../contract/node-config.ts'
import {
  appliedObject,
  belongsTo,
  otherOwners,
  planNodeConfig,
  planNodeConfigs,
  type RequestedNode,
  toViolaNode,
} from './plan.ts'
import { nodesFrom } from './request.ts'

const providerId = 'p1'
const nics = [{ id: 0, macAddress: '02:00:00:00:00:01', mtu: 1500 }]

function requested(change: object = {}): RequestedNode {
  const [node] = nodesFrom(
    [{ nodeName: 'worker-1', instanceId: 'vm-1', interfaces: nics, ...change }],
    providerId,
  ).nodes
  return node ?? assert.fail('not a node')
}

function withNames(names: object): RequestedNode {
  return requested({ interfaces: [{ ...nics[0], name: 'multinic0', ...names }] })
}

function objectOf(node: RequestedNode, change: { spec?: object; metadata?: object } = {}): NodeConfig {
  const { metadata, spec } = appliedObject(node, { providerId })
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { ...metadata, uid: 'u1', generation: 3, resourceVersion: '7', ...change.metadata },
    spec: { ...spec, ...change.spec },
  }
}

const current = objectOf(requested())
const { specHash } = requested()
const edited = objectOf(requested(), { spec: { interfaces: [{ ...nics[0], mtu: 9000 }] } })

type Case = [node: RequestedNode, existing: NodeConfig | undefined, expected: string]
const cases: Record<string, Case> = {
  'a new node is created': [requested(), undefined, 'create'],
  'an unchanged node is not written': [requested(), current, 'nothing'],
  'other labels do not matter': [
    requested(),
    objectOf(requested(), { metadata: { labels: { ...requested().labels, team: 'net' } } }),
    'nothing',
  ],
  'another interface is an update': [requested({ interfaces: [] }), current, 'update'],
  'a manual edit is reverted even if spec.specHash is unchanged': [requested(), edited, 'update'],
  'a missing label is restored': [requested(), objectOf(requested(), { metadata: { labels: {} } }), 'update'],
  'one wrong label is corrected': [
    requested(),
    objectOf(requested(), { metadata: { labels: { ...requested().labels, 'multinic.io/node-name': 'other' } } }),
    'update',
  ],
  'a stale spec.specHash is corrected': [requested(), objectOf(requested(), { spec: { specHash: 'old' } }), 'update'],
  'another alias is an update': [withNames({ alias: 'data' }), objectOf(withNames({ alias: 'storage' })), 'update'],
  'the same alias is not written': [withNames({ alias: 'data' }), objectOf(withNames({ alias: 'data' })), 'nothing'],
  'the name of a network alone is no change': [
    withNames({ networkName: 'new' }),
    objectOf(withNames({ networkName: 'old' })),
    'nothing',
  ],
  'an alias of an interface without a name is no change': [
    requested(),
    objectOf(requested(), { spec: { interfaces: [{ ...nics[0], alias: 'data' }] } }),
    'nothing',
  ],
  'a VM that was recreated under the same name is an update': [requested({ instanceId: 'vm-2' }), current, 'update'],
  'an object without a provider is taken by the first one that writes it': [
    requested({ instanceId: 'vm-2' }),
    objectOf(requested(), { spec: { providerId: undefined } }),
    'update',
  ],
  'two nodes without an instance ID are not known to be the same VM': [
    requested({ instanceId: '' }),
    objectOf(requested({ instanceId: '' }), { spec: { providerId: 'p2' } }),
    'refuse: node worker-1 belongs to provider p2',
  ],
  'an object with the expected hash is updated': [
    requested({ interfaces: [], expectedSpecHash: specHash }),
    current,
    'update',
  ],
  'an object with another hash is refused': [
    requested({ expectedSpecHash: 'old' }),
    current,
    `refuse: node worker-1 has config ${specHash}, expected old`,
  ],
  'a manual edit changes the hash': [
    requested({ interfaces: [], expectedSpecHash: specHash }),
    edited,
    `refuse: node worker-1 has config ${toViolaNode(edited).specHash}, expected ${specHash}`,
  ],
  'an existing node is refused if none is expected': [
    requested({ expectedSpecHash: '' }),
    current,
    'refuse: node worker-1 already has a config, expected none',
  ],
  'a missing node is refused if a hash is expected': [
    requested({ expectedSpecHash: 'old' }),
    undefined,
    'refuse: node worker-1 has no config, expected old',
  ],
  'an object of another node name is refused': [
    requested({ nodeName: 'Worker-1' }),
    current,
    'refuse: object worker-1 belongs to node worker-1',
  ],
  'a node of another provider is refused': [
    requested({ instanceId: 'vm-2' }),
    objectOf(requested(), { spec: { providerId: 'p2' } }),
    'refuse: node worker-1 belongs to provider p2',
  ],
  'a node of the same VM with another provider ID is taken over': [
    requested(),
    objectOf(requested(), { spec: { providerId: 'p2' } }),
    'update',
  ],
  'a node of a provider that the caller may not act for is not taken over': [
    requested(),
    objectOf(requested(), { spec: { providerId: 'p3' } }),
    'refuse: node worker-1 belongs to provider p3, and the caller may not act for it',
  ],
  'a config that is being deleted is refused': [
    requested(),
    objectOf(requested(), { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    'refuse: the config of node worker-1 is being deleted; retry after its deletion',
  ],
}

for (const [name, [node, existing, expected]] of Object.entries(cases)) {
  test(name, () => {
    const decision = planNodeConfig(node, existing, { providerId, mayTakeOver: id => id !== 'p3' })
    assert.equal(decision.do === 'refuse' ? `refuse: ${decision.message}` : decision.do, expected)
  })
}

test('the message about many nodes that map to the same object has five names and the number of the others', () => {
  const refusalOf = (count: number) => {
    const node = requested()
    const nodes = Array.from({ length: count }, (_, n) => ({ ...node, nodeName: `w${n}`, objectName: 'w' }))
    const decisions = planNodeConfigs(nodes, { providerId, existing: () => undefined, mayTakeOver: () => true })
    return [...new Set(decisions.map(decision => (decision.do === 'refuse' ? decision.message : decision.do)))]
  }
  assert.deepEqual(refusalOf(1_000), ['w0 and w1 and w2 and w3 and w4 and 995 more map to the same object w'])
  assert.deepEqual(refusalOf(5), ['w0 and w1 and w2 and w3 and w4 map to the same object w'])
})

test('the other providers that own a requested node are listed once', () => {
  const owners: Record<string, string | undefined> = { a: 'p2', b: 'p1', c: '', d: 'p2', e: undefined }
  const nodes = [...Object.keys(owners), 'new'].map(name => ({ ...requested(), objectName: name }))
  const existing = (name: string) =>
    name === 'new' ? undefined : objectOf(requested(), { spec: { providerId: owners[name] } })
  assert.deepEqual([...otherOwners(nodes, existing, providerId)], ['p2'])
})

test('two nodes of one request that map to the same object are both refused, and the others are not', () => {
  const interfaces: object[] = []
  const { nodes } = nodesFrom(
    [
      { nodeName: 'w_1', interfaces },
      { nodeName: 'other', interfaces },
      { nodeName: 'w-1', interfaces },
    ],
    providerId,
  )
  const decisions = planNodeConfigs(nodes, { providerId, existing: () => undefined, mayTakeOver: () => true })
  assert.deepEqual(
    decisions.map(decision => (decision.do === 'refuse' ? decision.message : decision.do)),
    ['w_1 and w-1 map to the same object w-1', 'create', 'w_1 and w-1 map to the same object w-1'],
  )
})

test('a removed instance ID is set to empty, because another field manager may own it', () => {
  assert.equal(appliedObject(requested({ instanceId: '' }), { providerId }, current).spec.instanceId, '')
  assert.equal('instanceId' in appliedObject(requested({ instanceId: '' }), { providerId }).spec, false)
})

test('the labels and the names of provider and VM are written', () => {
  const node = requested({ instanceName: 'web-1' })
  const { metadata, spec } = appliedObject(node, { providerId, providerName: 'seoul' })
  assert.deepEqual(metadata, { name: 'worker-1', labels: node.labels })
  assert.deepEqual([spec.providerName, spec.instanceName], ['seoul', 'web-1'])
})

test('an object is shown with its VM, provider, generation and status', () => {
  const status = { state: 'Configured' as const, observedGeneration: 3 }
  const object = { ...objectOf(requested({ instanceName: 'web-1' })), status }
  assert.deepEqual(toViolaNode(object), {
    ...{ nodeName: 'worker-1', instanceId: 'vm-1', instanceName: 'web-1', providerId, specHash, generation: 3 },
    interfaces: object.spec.interfaces,
    status,
  })
  assert.equal(toViolaNode(objectOf(requested(), { metadata: { generation: undefined } })).generation, 0)
})

test('the shown node of an object is made once, and shares its interfaces', () => {
  const object = objectOf(requested())
  assert.equal(toViolaNode(object), toViolaNode(object))
  assert.equal(toViolaNode(object).interfaces, object.spec.interfaces)
})

test('of an object with invalid interfaces only the valid ones are shown, and its hash differs', () => {
  const odd = { ...nics[0], id: 1, macAddress: 'none' }
  const object = {
    ...objectOf(requested(), { spec: { interfaces: [...nics, odd] } }),
    status: { state: 'Odd' as never },
  }
  const shown = toViolaNode(object)
  assert.deepEqual(
    shown.interfaces.map(({ id }) => id),
    [0],
  )
  assert.equal(shown.status, undefined)
  assert.notEqual(shown.specHash, specHash)
})

test('objects without a provider belong to all providers, and those of older versions to the provider of their label', () => {
  const by = (spec: object, labels?: object) => belongsTo(objectOf(requested(), { spec, metadata: { labels } }), 'P1')
  assert.equal(by({ providerId: undefined }, {}), true)
  assert.equal(by({ providerId: undefined }), true)
  assert.equal(by({ providerId: undefined }, { 'multinic.io/provider-id': 'p1' }), true)
  assert.equal(by({ providerId: undefined }, { 'multinic.io/provider-id': 'p2' }), false)
  assert.equal(by({ providerId: 'p1' }, {}), false)
  assert.equal(by({ providerId: 'P1' }, { 'multinic.io/provider-id': 'p2' }), true)
})
