import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldSelector } from './selectors.ts'

test('the selectableFields of a CRD can be used in a field selector', () => {
  const object = { apiVersion: 'x/v1', kind: 'Y', metadata: { name: 'y' }, spec: { nodeName: 'n1' } }
  const matches = fieldSelector('spec.nodeName=n1', { group: 'x', plural: 'ys', kind: 'Y' }, ['spec.nodeName'])
  assert.equal(matches(object), true)
})
