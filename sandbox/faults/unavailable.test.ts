import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultNames } from './catalogue.ts'
import { availableFaults, unavailable } from './unavailable.ts'

test('simulated services have every fault', () => assert.deepEqual(availableFaults({}), faultNames))

test('real services refuse what only simulated ones can do, and name the option', () => {
  assert.equal(unavailable('wrong-clock', { openstack: true }), 'wrong-clock: not available with --openstack real')
  assert.equal(unavailable('conflicts', { kubernetes: true }), 'conflicts: not available with --kubernetes real')
  assert.equal(unavailable('conflicts', { openstack: true }), undefined)
  const available = availableFaults({ kubernetes: true, openstack: true })
  for (const name of ['failing-neutron', 'revoked-tokens', 'unreachable-biz-api', 'full-disk'] as const)
    assert.ok(available.includes(name), name)
  assert.ok(!available.some(name => /broker|notifications/.test(name)))
})
