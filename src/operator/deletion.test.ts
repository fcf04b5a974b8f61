/** The end of an object whose Viola is away for good; the other ends are in operator.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OpenstackConfig, openstackConfigFinalizer } from '../contract/openstack-config.ts'
import { silent } from '../telemetry/log.ts'
import { type DeletionDeps, release } from './deletion.ts'
import { createLocks } from './locks.ts'
import { createNotices } from './object-events.ts'
import { createLeaving } from './pending-deletions.ts'
import { createRecords } from './records.ts'
import { createViolas } from './viola-clients.ts'

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

/** What becomes of the object so many minutes after its deletion, with nobody at Viola's address. */
async function after(minutes: number, config = aConfig()) {
  const said: string[] = []
  const patches: unknown[] = []
  const now = () => new Date(deletedAt + minutes * 60_000)
  const store = { list: async () => [], put: async () => {}, remove: async () => {} }
  const violas = createViolas({ store })
  const deps = {
    env: { CONTRABASS_ENDPOINT: 'http://127.0.0.1:9', VIOLA_ENDPOINT: 'http://127.0.0.1:9' },
    sources: () => ({ secret: async () => undefined, ownViolaToken: async () => undefined }),
    kube: { patch: async (_: unknown, __: unknown, patch: unknown) => patches.push(patch) },
    notices: createNotices({
      event: (_, __, reason, text) => void said.push(`${reason}: ${text}`),
      flush: async () => {},
    }),
    claims: () => [],
    locks: createLocks(),
    leaving: createLeaving(now),
    records: createRecords(undefined, now),
    violas,
    now,
  } as unknown as DeletionDeps
  const requeue = await release(config, deps, { log: silent, signal: new AbortController().signal })
  await violas.close()
  return { requeue, said, patches }
}

test('a Viola that is away is waited for, and people are told why the object is still there', async () => {
  const { requeue, said, patches } = await after(14)
  assert.deepEqual([requeue, patches], [{ after: 5_000 }, []])
  assert.match(said.join(), /^RemovalPending: viola: GET .*ECONNREFUSED/)
})

test('a Viola that is away for good does not keep the object, and people are told what stays', async () => {
  const { requeue, said, patches } = await after(16)
  assert.equal(requeue, undefined)
  assert.deepEqual(patches, [{ metadata: { finalizers: ['somebody/else'] } }])
  assert.match(said.join(), /^RemovalPending: given up, interfaces stay: viola: GET .*ECONNREFUSED/)
})

test('with Retain nobody is asked', async () => {
  const { said, patches } = await after(0, aConfig({ deletionPolicy: 'Retain' }))
  assert.deepEqual([said, patches.length], [[], 1])
})
