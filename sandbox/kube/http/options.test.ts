import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteOptions, writeOptions } from './options.ts'

test('DeleteOptions are read from the body, or from the query if there is no body', () => {
  const none = new URLSearchParams()
  assert.deepEqual(deleteOptions(none, undefined), { dryRun: false })
  assert.deepEqual(
    deleteOptions(new URLSearchParams('gracePeriodSeconds=0&propagationPolicy=Foreground&dryRun=All'), undefined),
    { dryRun: true, gracePeriodSeconds: 0, propagationPolicy: 'Foreground' },
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
  assert.deepEqual(deleteOptions(new URLSearchParams('gracePeriodSeconds=0'), {}), { dryRun: false })
})

test('the field manager is named in the query, or comes from the user agent', () => {
  const warn = () => {}
  assert.equal(writeOptions('POST', new URLSearchParams('fieldManager=viola'), 'node/24', warn).manager, 'viola')
  assert.equal(writeOptions('POST', new URLSearchParams(), 'kubectl/v1.36.3 (linux/amd64)', warn).manager, 'kubectl')
})
