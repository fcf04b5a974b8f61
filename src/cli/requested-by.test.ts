/** The name beside a request, from the API server. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startSandboxCluster } from '../../test/support/sandbox-cluster.ts'
import { withRequester } from './requested-by.ts'

test('the API server names the user', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-requested-by-'))
  const { kube, close } = await startSandboxCluster(dir, 'biz')
  try {
    assert.deepEqual(await withRequester(kube, { 'multinic.io/retry': 'now' }), {
      'multinic.io/retry': 'now',
      'multinic.io/requested-by': 'sandbox-admin',
    })
  } finally {
    await close()
    await rm(dir, { recursive: true })
  }
})

test('without an answer the name of an earlier request is removed', async () => {
  const kube = { create: () => Promise.reject(new Error('404')) }
  assert.deepEqual(await withRequester(kube, { 'multinic.io/check': 'now' }), {
    'multinic.io/check': 'now',
    'multinic.io/requested-by': null,
  })
})
