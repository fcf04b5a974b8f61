import assert from 'node:assert/strict'
import { test } from 'node:test'
import { badFilter, novaNotFound, unauthorized } from '../../test/openstack/captured-responses.ts'
import { detailOf, type FailureKind, isRetryable, ServiceError } from './errors.ts'

const cases: [kind: FailureKind, status: number | undefined, code: string, read: boolean, write: boolean][] = [
  ['answer', 429, '', true, true],
  ['answer', 503, '', true, true],
  ['answer', 500, '', true, false],
  ['answer', 502, '', true, false],
  ['answer', 408, '', true, false],
  ['answer', 501, '', false, false],
  ['answer', 401, '', false, false],
  ['answer', 404, '', false, false],
  ['answer', 409, '', false, false],
  ['answer', 414, '', false, false],
  ['connection', undefined, 'ECONNREFUSED', true, true],
  ['connection', undefined, 'ECONNRESET', true, false],
  ['timeout', undefined, '', true, false],
  ['malformed', 200, '', false, false],
]
for (const [kind, status, code, read, write] of cases)
  test(`${kind} ${status ?? code}: a read is ${read ? '' : 'not '}retried, a write is ${write ? '' : 'not '}retried`, () => {
    const cause = Object.assign(new Error(code), { code })
    const error = new ServiceError('x', { service: 'neutron', kind, status }, { cause })
    assert.deepEqual([isRetryable(error, true), isRetryable(error, false)], [read, write])
  })

test('the error text of every service is found', () => {
  assert.equal(detailOf(badFilter), "['bogus'] is invalid attribute for filtering")
  assert.equal(detailOf(novaNotFound), 'Instance 21bd2a2d-9b3f-487f-84ec-fc9078c753e2 could not be found.')
  assert.equal(detailOf(unauthorized), 'The request you have made requires authentication.')
  assert.equal(detailOf({ type: 'about:blank', title: 'Bad request', detail: 'mtu: too large' }), 'mtu: too large')
  assert.equal(detailOf('<html>'), undefined)
  assert.equal(detailOf({ error: { message: 'x'.repeat(10_000) } })?.length, 500)
})
