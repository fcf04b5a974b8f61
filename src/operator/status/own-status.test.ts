import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenstackConfig, OpenstackConfigStatus } from '../../contract/openstack-config.ts'
import { createOwnStatuses } from './own-status.ts'

function aConfig(status: OpenstackConfigStatus, metadata: { uid?: string; resourceVersion?: string } = {}) {
  return {
    metadata: { name: 'main', namespace: 'ns', uid: 'a', resourceVersion: '100', ...metadata },
    status,
  } as OpenstackConfig
}

test('what was written last counts, apart from what decides nothing', () => {
  const own = createOwnStatuses()
  const edited = aConfig({ approvedRemovals: 'forged', heldRemovals: [], lastError: 'new' }, { resourceVersion: '101' })
  assert.equal(own.of(edited), edited)
  own.writing(aConfig({}), { approvedRemovals: 'yes', lastError: 'old' })
  assert.deepEqual(own.of(edited).status, { approvedRemovals: 'yes', lastError: 'new' })
  assert.deepEqual(own.of(aConfig({})).status, { approvedRemovals: 'yes' })
  const same = aConfig({ approvedRemovals: 'yes', lastError: 'new' })
  assert.equal(own.of(same), same)
})

test('an object of a backup and one that was created again are believed, as after a start', () => {
  const own = createOwnStatuses()
  own.writing(aConfig({}), { approvedRemovals: 'second' })
  const restored = aConfig({ approvedRemovals: 'first' }, { resourceVersion: '99' })
  assert.equal(own.of(restored), restored)
  const again = aConfig({}, { uid: 'b', resourceVersion: '101' })
  assert.equal(own.of(again), again)
  own.clear()
  const edited = aConfig({}, { resourceVersion: '101' })
  assert.equal(own.of(edited), edited)
})
