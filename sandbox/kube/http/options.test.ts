import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, rejectionOf } from '../cluster.fixture.ts'
import { targetFor } from '../objects/target.ts'
import { deleteOptions, listQuery, writeOptions } from './options.ts'

const cluster = aCluster()
const pods = targetFor(cluster.kinds, '/pods', { namespace: 'default', name: '' })
cluster.close()

test('options of a deletion come in the query or the body', () => {
  const none = new URLSearchParams()
  assert.deepEqual(deleteOptions(none, undefined), { dryRun: false })
  assert.deepEqual(
    deleteOptions(new URLSearchParams('gracePeriodSeconds=0&propagationPolicy=Foreground&dryRun=All'), undefined),
    {
      dryRun: true,
      gracePeriodSeconds: 0,
      propagationPolicy: 'Foreground',
    },
  )
  const body = {
    gracePeriodSeconds: 5,
    propagationPolicy: 'Background',
    preconditions: { uid: 'u', resourceVersion: '3' },
  }
  assert.deepEqual(deleteOptions(none, body), {
    dryRun: false,
    gracePeriodSeconds: 5,
    propagationPolicy: 'Background',
    uid: 'u',
    resourceVersion: '3',
  })
  assert.equal(deleteOptions(none, { orphanDependents: true }).propagationPolicy, 'Orphan')
})

test('a writer is named, or is the program that writes', () => {
  const warn = () => {}
  assert.equal(writeOptions('POST', new URLSearchParams('fieldManager=viola'), 'node/24', warn).manager, 'viola')
  assert.equal(writeOptions('POST', new URLSearchParams(), 'kubectl/v1.36.3 (linux/amd64)', warn).manager, 'kubectl')
})

const refused: Record<string, [read: (query: URLSearchParams) => unknown, words: RegExp]> = {
  'dryRun=Some': [query => writeOptions('POST', query, '', () => {}), /CreateOptions.*dryRun.*"All"/],
  'fieldValidation=Loose': [query => writeOptions('PATCH', query, '', () => {}), /PatchOptions.*fieldValidation/],
  'propagationPolicy=Sideways': [query => deleteOptions(query, undefined), /DeleteOptions.*propagationPolicy/],
  'propagationPolicy=Orphan&orphanDependents=true': [query => deleteOptions(query, undefined), /cannot be both set/],
  'dryRun=Never': [query => deleteOptions(query, undefined), /DeleteOptions.*dryRun/],
  'resourceVersionMatch=Exact': [query => listQuery(query, pods), /forbidden unless resourceVersion/],
  'resourceVersion=0&resourceVersionMatch=Exact': [query => listQuery(query, pods), /for resourceVersion "0"/],
  'watch=1&sendInitialEvents=true': [query => listQuery(query, pods), /requires setting resourceVersionMatch/],
  'watch=1&resourceVersionMatch=Exact': [query => listQuery(query, pods), /forbidden for watch/],
  'limit=many': [query => listQuery(query, pods), /parsing "many": invalid syntax/],
}

for (const [query, [read, words]] of Object.entries(refused)) {
  test(`${query} is refused rather than overlooked`, () => {
    const { code, message } = rejectionOf(() => read(new URLSearchParams(query)))
    assert.ok(code === 422 || code === 400)
    assert.match(message ?? '', words)
  })
}
