import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectionOf } from '../cluster.fixture.ts'
import type { ApiObject } from '../json.ts'
import { fieldSelector, labelSelector } from './selectors.ts'

const labelled = (labels: Record<string, string>): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p1', namespace: 'default', labels },
  spec: { nodeName: 'n1' },
  status: { phase: 'Running' },
})

const labels: Record<string, [selector: string, labels: Record<string, string>, matches: boolean]> = {
  equal: ['a=1', { a: '1' }, true],
  'equal in two signs': ['a==1', { a: '2' }, false],
  'not equal, and absent counts': ['a!=1', {}, true],
  'all must hold': ['a=1,b=2', { a: '1', b: '3' }, false],
  'one of a set': ['a in (1, 2)', { a: '2' }, true],
  'none of a set, and absent counts': ['a notin (1,2),b', { b: '' }, true],
  present: ['multinic.io/node-name', { 'multinic.io/node-name': 'x' }, true],
  absent: ['!a', { a: '' }, false],
  'an empty value': ['a=', { a: '' }, true],
  greater: ['a>5', { a: '7' }, true],
  'nothing selects all': ['', {}, true],
}

for (const [name, [selector, given, matches]] of Object.entries(labels)) {
  test(`labels: ${name}`, () => assert.equal(labelSelector(selector)(labelled(given)), matches))
}

const pods = { group: '', plural: 'pods', kind: 'Pod' }
const fields: Record<string, [selector: string, matches: boolean]> = {
  'the name': ['metadata.name=p1', true],
  'the namespace': ['metadata.namespace!=default', false],
  'the node and the phase': ['spec.nodeName=n1,status.phase!=Failed,status.phase!=Succeeded', true],
  'another node': ['spec.nodeName=n2', false],
}

for (const [name, [selector, matches]] of Object.entries(fields)) {
  test(`fields: ${name}`, () => assert.equal(fieldSelector(selector, pods)(labelled({})), matches))
}

test('a selector that cannot be read, or a field that cannot be selected by, is a 400', () => {
  assert.equal(rejectionOf(() => labelSelector('a=1=2')).code, 400)
  assert.equal(rejectionOf(() => fieldSelector('spec.foo=1', pods)).message, 'field label not supported: spec.foo')
  assert.equal(rejectionOf(() => fieldSelector('metadata.name', pods)).code, 400)
})

test('a CRD adds fields to select by', () => {
  const select = fieldSelector('spec.nodeName=n1', { group: 'x', plural: 'ys', kind: 'Y' }, ['spec.nodeName'])
  assert.equal(select(labelled({})), true)
})
