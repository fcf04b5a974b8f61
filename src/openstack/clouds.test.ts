/** What is kept for each cloud, and for how long. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownEndpoints } from '../../test/openstack/sessions.ts'
import { countKept } from '../../test/support/garbage.ts'
import { resolveSettings } from '../operator/config.ts'
import { createOpenStackClouds, type OpenStackClouds } from './clouds.ts'

const env = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' }
const settings = resolveSettings(env).openstack

function open(clouds: OpenStackClouds, user: string, projectId: string) {
  const account = { endpoint: 'https://contrabass', providerId: 'cloud-1', projectId, encryptKey: 'key' }
  return clouds.open({ user, settings, account, endpoints: ownEndpoints })
}

/** Nothing of the test refers to the clouds when it returns. */
function rotate(clouds: OpenStackClouds): WeakRef<object>[] {
  return Array.from({ length: 50 }, (_, n) => new WeakRef(open(clouds, 'team/main', `project-${n}`)))
}

test('operator 12: a tenant who rotates its project does not fill the memory', async () => {
  const clouds = createOpenStackClouds({})
  const opened = rotate(clouds)
  assert.equal(await countKept(opened), 1)
  clouds.forget('team/main')
  assert.equal(await countKept(opened), 0)
  await clouds.close()
})

test('objects of the same cloud and project share it until the last one is forgotten', async () => {
  const clouds = createOpenStackClouds({})
  const first = open(clouds, 'team/a', 'project')
  assert.equal(open(clouds, 'team/b', 'project'), first)
  clouds.forget('team/a')
  assert.equal(open(clouds, 'team/b', 'project'), first)
  clouds.forget('team/b')
  assert.notEqual(open(clouds, 'team/b', 'project'), first)
  await clouds.close()
})
