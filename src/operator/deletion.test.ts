/** Deletion of an object whose Viola is unreachable. operator.test.ts has the other cases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startStubServer } from '../../test/openstack/stub-server.ts'
import { type OpenstackConfig, openstackConfigFinalizer } from '../contract/openstack-config.ts'
import { silent } from '../telemetry/log.ts'
import { type DeletionDeps, release } from './deletion.ts'
import { createLocks } from './locks.ts'
import { createObjectEvents } from './object-events.ts'
import { createPendingDeletions } from './pending-deletions.ts'
import { openPolicy } from './policy.ts'
import { createRecords } from './records.ts'
import { createViolaClients } from './viola-clients.ts'

const deletedAt = Date.parse('2026-11-15T00:00:00Z')

function aConfig(more: object = {}): OpenstackConfig {
  return {
    metadata: {
      name: 'main',
      namespace: 'team',
      finalizers: ['somebody/else', openstackConfigFinalizer],
      deletionTimestamp: new Date(deletedAt).toISOString(),
    },
    spec: { vmNames: ['x'], credentials: { openstackProviderID: 'cloud-1', k8sProviderID: 'biz-1' }, ...more },
  } as unknown as OpenstackConfig
}

/** Reconciles the object this many minutes after its deletion. By default nothing listens at Viola's address. */
async function releaseAfter(minutes: number, config = aConfig(), viola = 'http://127.0.0.1:9') {
  const events: string[] = []
  const patches: unknown[] = []
  const now = () => new Date(deletedAt + minutes * 60_000)
  const store = { list: async () => [], put: async () => {}, remove: async () => {} }
  const violaClients = createViolaClients({ store })
  const deps = {
    policy: await openPolicy({
      env: { CONTRABASS_ENDPOINT: viola, VIOLA_ENDPOINT: viola },
      ...{ hosts: [], ownNamespaces: ['team'], log: silent },
    }),
    maxSyncMs: 2_000,
    sources: () => ({ secret: async () => undefined, ownViolaToken: async () => undefined }),
    kube: { patch: async (_: unknown, __: unknown, patch: unknown) => patches.push(patch) },
    objectEvents: createObjectEvents({
      event: (_, __, reason, text) => void events.push(`${reason}: ${text}`),
      flush: async () => {},
    }),
    claims: () => [],
    locks: createLocks(),
    pendingDeletions: createPendingDeletions(now),
    records: createRecords(undefined, now),
    violaClients,
    now,
  } as unknown as DeletionDeps
  const requeue = await release(config, deps, { log: silent, signal: new AbortController().signal })
  await violaClients.close()
  return { requeue, events, patches }
}

test('while Viola is unreachable, the object stays and an Event gives the reason', async () => {
  const { requeue, events, patches } = await releaseAfter(14)
  assert.deepEqual([requeue, patches], [{ after: 5_000 }, []])
  assert.match(events.join(), /^RemovalPending: viola: GET .*ECONNREFUSED/)
})

test('after 15 minutes without Viola the object is deleted, and an Event says that the interfaces stay', async () => {
  const { requeue, events, patches } = await releaseAfter(16)
  assert.equal(requeue, undefined)
  assert.deepEqual(patches, [{ metadata: { finalizers: ['somebody/else'] } }])
  assert.match(events.join(), /^RemovalPending: gave up, the interfaces stay on the nodes: viola: GET .*ECONNREFUSED/)
})

test('with Retain, Viola is not called', async () => {
  const { events, patches } = await releaseAfter(0, aConfig({ deletionPolicy: 'Retain' }))
  assert.deepEqual([events, patches.length], [[], 1])
})

test('operator 8: a Viola that hangs does not keep a deletion, and its worker, beyond the time limit of a sync', async () => {
  await using viola = await startStubServer(() => ({ status: 200, hang: true }))
  const { requeue, events } = await releaseAfter(1, aConfig(), viola.url)
  assert.deepEqual(requeue, { after: 5_000 })
  assert.match(events.join(), /^RemovalPending: .*aborted due to timeout/)
})
