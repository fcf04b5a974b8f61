/** The time limit of a dry run. plan-access.test.ts and test/attacks/tenants.test.ts have the other cases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startStubServer } from '../../../test/openstack/stub-server.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { createOpenStackClouds } from '../../openstack/clouds.ts'
import { parseCloudsYaml } from '../../openstack/clouds-yaml.ts'
import { silent } from '../../telemetry/log.ts'
import { cloudOpener } from '../clouds/cloud-access.ts'
import { createRepeatedReads } from '../clouds/repeated-reads.ts'
import { openPolicy } from '../limits/policy.ts'
import { createPlanner } from '../observe/planner.ts'
import { createViolaClients } from '../viola/viola-clients.ts'
import type { ConfigWatch } from './config-watch.ts'
import { dryRun } from './dry-run.ts'
import type { ReconcileDeps } from './reconcile.ts'

const posted = {
  metadata: { name: 'main', namespace: 'team' },
  spec: {
    vmNames: ['x'],
    subnetName: 'storage',
    credentials: { openstackProviderID: 'cloud-1', k8sProviderID: 'biz-1', projectID: 'project' },
  },
} as unknown as OpenstackConfig

test('a cloud that hangs does not keep a dry run beyond the time limit of a sync', async () => {
  await using contrabass = await startStubServer(() => ({ status: 200, hang: true }))
  const clouds = createOpenStackClouds({})
  const violaClients = createViolaClients({
    store: { list: async () => [], put: async () => {}, remove: async () => {} },
  })
  const forgotten: string[] = []
  const deps = {
    policy: await openPolicy({
      env: { CONTRABASS_ENDPOINT: contrabass.url, VIOLA_ENDPOINT: contrabass.url, CONTRABASS_ENCRYPT_KEY: 'key' },
      ...{ hosts: [], ownNamespaces: ['team'], log: silent },
    }),
    maxSyncMs: 500,
    sources: () => ({ secret: async () => 'key', ownViolaToken: async () => undefined, parseCloudsYaml }),
    openCloud: cloudOpener(clouds),
    violaClients,
    forget: user => void forgotten.push(user),
    claims: () => [],
    planner: createPlanner(),
    repeatedReads: createRepeatedReads(() => 0),
    now: () => new Date(),
    timed: (_, work) => work(),
  } as Partial<ReconcileDeps> as ReconcileDeps
  const configs = { get: () => undefined } as unknown as ConfigWatch
  await assert.rejects(dryRun(posted, deps, configs, new AbortController().signal), /aborted due to timeout/)
  assert.equal(contrabass.requests.length, 1)
  assert.match(forgotten.join(), /^dry run /)
  await clouds.close()
  await violaClients.close()
})
