import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admin, userOf } from './rbac.ts'

test('an impersonated user has the given groups, or those of a service account', () => {
  assert.deepEqual(userOf({}), admin)
  const account = userOf({ 'impersonate-user': 'system:serviceaccount:default:sa' })
  assert.deepEqual(account.groups, ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'])
  const joe = userOf({ 'impersonate-user': 'joe', 'impersonate-group': 'a, b' })
  assert.deepEqual(joe, { username: 'joe', groups: ['a', 'b', 'system:authenticated'] })
})
