/** Deletion of an object whose Viola does not answer, or that never delivered anything. operator.test.ts has the other cases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type StubResponse, startStubServer } from '../../../test/openstack/stub-server.ts'
import {
  type OpenstackConfig,
  type OpenstackConfigStatus,
  openstackConfigFinalizer,
} from '../../contract/openstack-config.ts'
import type { VerdictWrite } from '../../contract/operator-api.ts'
import { parseCloudsYaml } from '../../openstack/clouds-yaml.ts'
import { type Log, silent } from '../../telemetry/log.ts'
import { createPendingDeletions } from '../deliver/pending-deletions.ts'
import { createLocks } from '../limits/locks.ts'
import { openPolicy } from '../limits/policy.ts'
import { createRecords } from '../record/records.ts'
import { createViolaClients } from '../viola/viola-clients.ts'
import { type DeletionDeps, release } from './deletion.ts'
import { createDeliveries, type DeliveriesOptions } from './deliveries.ts'
import { createObjectEvents } from './object-events.ts'

const deletedAt = Date.parse('2026-11-15T00:00:00Z')

/** An object that a sync has delivered. */
const delivered: OpenstackConfigStatus = {
  lastSyncedAt: '2026-11-14T00:00:00Z',
  deliveredTo: { viola: 'https://viola', providerId: 'biz-1' },
  nodes: { total: 2 },
}
/** An object whose first sync failed. */
const failed: OpenstackConfigStatus = { lastError: 'ProviderUnknown: no cluster' }

function aConfig(more: object = {}, status: OpenstackConfigStatus = delivered): OpenstackConfig {
  return {
    metadata: {
      name: 'main',
      namespace: 'team',
      generation: 2,
      finalizers: ['somebody/else', openstackConfigFinalizer],
      deletionTimestamp: '2026-11-15T00:00:00Z',
    },
    spec: { vmNames: ['x'], credentials: { openstackProviderID: 'cloud-1', k8sProviderID: 'biz-1' }, ...more },
    status,
  } as unknown as OpenstackConfig
}

interface Given {
  minutes?: number
  config?: OpenstackConfig
  /** By default nothing listens at its address. */
  viola?: string
  records?: DeliveriesOptions['records'][number]
  /** What discovery lists of the kind. */
  verbs?: string[]
  seconds?: number
}

const unreachable = 'http://127.0.0.1:9'

/** Reconciles the object this many minutes after its deletion. */
async function releaseAfter(given: Given = {}) {
  const { minutes = 0, seconds = 2, config = aConfig(), viola = unreachable, records, verbs = ['create'] } = given
  const events: string[] = []
  const patches: unknown[] = []
  const statuses: OpenstackConfigStatus[] = []
  const verdicts: VerdictWrite[] = []
  const outcomes: unknown[] = []
  const now = () => new Date(deletedAt + minutes * 60_000 + seconds * 1_000)
  const store = { list: async () => [], put: async () => {}, remove: async () => {} }
  const violaClients = createViolaClients({ store })
  const kube = {
    raw: async () => ({ body: { resources: [{ name: 'openstackconfigs', verbs }] } }),
    patch: async (_: unknown, __: unknown, patch: unknown) => patches.push(patch),
    patchStatus: async (_: unknown, __: unknown, status: OpenstackConfigStatus) => {
      statuses.push(status)
      return config
    },
  } as unknown as DeletionDeps['kube']
  const put = async (_: unknown, written: VerdictWrite[]) => verdicts.push(...written) >= 0
  const deps = {
    policy: await openPolicy({
      env: { CONTRABASS_ENDPOINT: viola, VIOLA_ENDPOINT: viola },
      ...{ hosts: [], ownNamespaces: ['team'], log: silent },
    }),
    maxSyncMs: 2_000,
    sources: () => ({ secret: async () => undefined, ownViolaToken: async () => undefined, parseCloudsYaml }),
    kube,
    deliveries: createDeliveries({ kube, find: () => undefined, records: records ? [records] : [] }),
    objectEvents: createObjectEvents({
      event: (_, __, reason, text) => void events.push(`${reason}: ${text}`),
      flush: async () => {},
    }),
    claims: () => [],
    locks: createLocks(),
    pendingDeletions: createPendingDeletions(now),
    records: createRecords({ put }, now),
    violaClients,
    now,
  } as unknown as DeletionDeps
  const log: Log = {
    ...silent,
    info: (message, facts) => void (message === 'audit' && outcomes.push(facts?.['outcome'])),
  }
  const requeue = await release(config, deps, { log, signal: new AbortController().signal })
  await violaClients.close()
  const conditions = statuses.flatMap(status => status.conditions ?? [])
  return { requeue, events, patches, statuses, conditions, verdicts, outcomes }
}

const gone = [{ metadata: { finalizers: ['somebody/else'] } }]
const aRecord = (source: string) => ({
  nodeName: 'worker-1',
  instanceId: 'vm-1',
  interfaces: [
    { name: 'multinic0', portId: 'port-0', macAddress: '02:00:00:00:00:00', source },
    { name: 'multinic1', portId: 'port-1', macAddress: '02:00:00:00:00:01', source },
    { name: 'multinic2', portId: 'port-2', macAddress: '02:00:00:00:00:02', source: 'team/other' },
  ],
})

test('while Viola is unreachable, Event and status say what remains, why, since when, until when, and the way out', async () => {
  const records = async () => [aRecord('team/main')]
  const { requeue, events, patches, statuses, conditions } = await releaseAfter({ minutes: 14, records })
  assert.deepEqual([requeue, patches], [{ after: 5_000 }, []])
  const [condition] = conditions.filter(({ type }) => type === 'RemovalPending')
  assert.match(
    condition?.message ?? '',
    /^viola: GET .*ECONNREFUSED.*\. On the nodes: worker-1 multinic0, multinic1\. Deleted at 2026-11-15T00:00:00Z; the operator retries until 2026-11-15T00:15:00Z, then it deletes the object and the interfaces stay\. To delete the object now and keep the interfaces: kubectl -n team patch osc main --type=merge -p '\{"spec":\{"deletionPolicy":"Retain"\}\}'$/,
  )
  assert.deepEqual(events, [`RemovalPending: ${condition?.message}`])
  assert.deepEqual(
    conditions.map(({ type, status, reason }) => [type, status, reason]),
    [
      ['Ready', 'False', 'RemovalPending'],
      ['Degraded', 'True', 'RemovalPending'],
      ['RemovalPending', 'True', 'RemovalPending'],
    ],
  )
  assert.deepEqual([statuses[0]?.observedGeneration, statuses[0]?.nextSyncAt], [2, '2026-11-15T00:15:00.000Z'])
})

test('a status that says so already is not written again', async () => {
  const { statuses } = await releaseAfter({ minutes: 1 })
  const again = await releaseAfter({ minutes: 2, config: aConfig({}, { ...delivered, ...statuses[0] }) })
  assert.deepEqual([statuses.length, again.statuses.length], [1, 0])
})

test('without a record of its interfaces, the status counts their nodes', async () => {
  const { events } = await releaseAfter({ records: () => Promise.reject(new Error('down')) })
  assert.match(events.join(), / On the nodes: interfaces on 2 nodes\. /)
})

test('the verdicts of ports that remain say so, and go with the object', async () => {
  const records = async () => [aRecord('team/main')]
  const pending = await releaseAfter({ minutes: 14, records })
  assert.deepEqual(
    pending.verdicts.flatMap(({ verdicts }) =>
      verdicts.map(({ vm, portId, name, reason }) => [vm, portId, name, reason]),
    ),
    [
      ['vm-1', 'port-0', 'multinic0', 'RemovalPending'],
      ['vm-1', 'port-1', 'multinic1', 'RemovalPending'],
    ],
  )
  const { verdicts } = await releaseAfter({ minutes: 16, records })
  assert.deepEqual(
    verdicts.map(({ removed }) => removed),
    [true],
  )
})

test('after 15 minutes without Viola the object is deleted, and an Event lists what stays on which node', async () => {
  const records = async () => [aRecord('team/main'), { ...aRecord('team/main'), nodeName: 'worker-2' }]
  const { requeue, events, patches } = await releaseAfter({ minutes: 16, records })
  assert.equal(requeue, undefined)
  assert.deepEqual(patches, gone)
  assert.match(
    events.join(),
    /^RemovalPending: gave up, the interfaces stay on the nodes: worker-1 multinic0, multinic1; worker-2 multinic0, multinic1: viola: GET .*ECONNREFUSED/,
  )
})

test('with Retain, Viola is not called', async () => {
  const { events, patches } = await releaseAfter({ config: aConfig({ deletionPolicy: 'Retain' }) })
  assert.deepEqual([events, patches.length], [[], 1])
})

test('operator 8: a Viola that hangs does not keep a deletion, and its worker, beyond the time limit of a sync', async () => {
  await using viola = await startStubServer(() => ({ status: 200, hang: true }))
  const { requeue, events } = await releaseAfter({ minutes: 1, viola: viola.url })
  assert.deepEqual(requeue, { after: 5_000 })
  assert.match(events.join(), /^RemovalPending: .*aborted due to timeout/)
})

const unknownProvider = () => ({ status: 404, body: { detail: 'no cluster configured for provider biz-1' } })
const refusing: Record<string, (() => StubResponse) | undefined> = {
  'is unreachable': undefined,
  'does not know the provider': unknownProvider,
  'refuses the token': () => ({ status: 401, body: { detail: 'unknown bearer token' } }),
  'has nothing of it': () => ({ status: 200, body: { items: [] } }),
}
for (const [name, answer] of Object.entries(refusing))
  test(`an object that never delivered anything goes at once while Viola ${name}`, async () => {
    await using server = await startStubServer(answer ?? (() => ({ status: 500 })))
    const viola = answer ? server.url : unreachable
    const records = async () => [aRecord('team/other')]
    const { requeue, patches, events } = await releaseAfter({ config: aConfig({}, failed), viola, records })
    assert.deepEqual([requeue, patches, events], [undefined, gone, []])
  })

test('an object that never delivered anything goes at once without its Secret', async () => {
  const config = aConfig({ secrets: { violaTokenSecretRef: { name: 'deleted', key: 'token' } } }, failed)
  assert.deepEqual((await releaseAfter({ config })).patches, gone)
})

test('an object that never delivered anything does not wait for a Viola that hangs', async () => {
  await using viola = await startStubServer(() => ({ status: 200, hang: true }))
  assert.deepEqual((await releaseAfter({ config: aConfig({}, failed), viola: viola.url })).patches, gone)
})

test('what Viola lists counts more than a status without a delivery', async () => {
  const nic = { id: 0, name: 'multinic0', portId: 'port-0', macAddress: '02:00:00:00:00:00', source: 'team/main' }
  const node = { nodeName: 'worker-1', instanceId: 'vm-1', specHash: 'h', generation: 1, interfaces: [nic] }
  const answer = { status: 200, body: { items: [node], resourceVersion: '1' } }
  await using viola = await startStubServer(({ method }) => (method === 'GET' ? answer : { status: 200, hang: true }))
  const { requeue, patches, events } = await releaseAfter({ config: aConfig({}, failed), viola: viola.url })
  assert.deepEqual([requeue, patches], [{ after: 5_000 }, []])
  assert.match(events.join(), /aborted due to timeout.* On the nodes: worker-1 multinic0\./)
})

const reserved = [{ vmId: 'vm-1', portId: 'port-1', index: 0, until: '2026-11-15T01:00:00Z' }]
const target = { viola: 'https://viola', providerId: 'biz-0', nodes: 1 }
const evidence: Record<string, [status: OpenstackConfigStatus, records?: Given['records']]> = {
  'its status names a cluster': [{ ...failed, deliveredTo: { viola: 'https://viola', providerId: 'biz-1' } }],
  'its status has the time of a change': [{ ...failed, lastChangeAt: '2026-11-14T00:00:00Z' }],
  'its status reserves an index': [{ ...failed, reservedIndexes: reserved }],
  'its status holds a removal': [{ ...failed, heldRemovals: ['worker-1 multinic0 (port port-0)'] }],
  'it left nodes behind': [{ ...failed, orphanedNodes: [target] }],
  'no sync wrote its status': [{}],
  'a record has an interface of it': [failed, async () => [aRecord('team/main')]],
  'the records cannot be read': [failed, () => Promise.reject(new Error('inventory: down'))],
}
for (const [name, [status, records]] of Object.entries(evidence))
  test(`something may have been delivered: ${name}`, async () => {
    const config = aConfig({}, status)
    const { requeue, patches } = await releaseAfter({ config, ...(records && { records }) })
    assert.deepEqual([requeue, patches], [{ after: 5_000 }, []])
  })

test('a status without a sync stays one while the deletion waits', async () => {
  const { statuses } = await releaseAfter({ config: aConfig({}, {}) })
  assert.deepEqual((await releaseAfter({ config: aConfig({}, statuses[0] ?? {}) })).patches, [])
})

test('an object that is deleted with its CRD leaves its interfaces on the nodes, and an Event says so', async () => {
  const { requeue, events, patches } = await releaseAfter({ verbs: ['get', 'delete'] })
  assert.deepEqual([requeue, patches], [undefined, gone])
  assert.deepEqual(events, [
    'InterfacesRetained: deleted with its CustomResourceDefinition: the interfaces stay on the nodes. To remove them, create both again and delete the object.',
  ])
})

test('a deletion waits until discovery would show that the CRD is deleted too', async () => {
  const { requeue, patches } = await releaseAfter({ seconds: 0.5, verbs: [] })
  assert.deepEqual([requeue, patches], [{ after: 1_500 }, []])
})

test('with the annotation that approves removals, an object that is deleted with its CRD removes its interfaces', async () => {
  const config = aConfig()
  config.metadata.annotations = { 'multinic.io/approve-removals': '1' }
  const { events } = await releaseAfter({ config, verbs: ['get', 'delete'] })
  assert.match(events.join(), /^RemovalPending: viola: GET /)
})

const outcomes: [what: string, given: Given, outcome: string][] = [
  ['its interfaces stay with its CRD', { verbs: ['get', 'delete'] }, 'interfaces kept'],
  ['the operator gave up', { minutes: 15 }, 'interfaces kept'],
  ['nothing was delivered', { config: aConfig({}, failed) }, 'interfaces removed'],
]
for (const [what, given, outcome] of outcomes)
  test(`the audit says what became of the interfaces: ${what}`, async () => {
    assert.deepEqual((await releaseAfter(given)).outcomes, [outcome])
  })
