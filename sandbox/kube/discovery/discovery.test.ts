import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byPriority } from './discovery.ts'

test('stable versions come before beta and alpha ones, higher versions first', () => {
  const versions = ['v1alpha1', 'v2beta1', 'v1', 'v10', 'v2', 'v1beta2', 'other']
  assert.deepEqual(versions.sort(byPriority), ['v10', 'v2', 'v1', 'v2beta1', 'v1beta2', 'v1alpha1', 'other'])
})
