import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explain } from '../runtime/errors.ts'
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isRetryable,
  kubeErrorFrom,
  timedOut,
} from './errors.ts'

const withCode = (code: string) => Object.assign(new Error(code), { code })
const status = (code: number, reason?: string) =>
  kubeErrorFrom(code, { kind: 'Status', code, message: 'message', ...(reason && { reason }) })

const retryable: Record<string, [error: unknown, expected: boolean]> = {
  'a refused connection is retryable': [withCode('ECONNREFUSED'), true],
  'a reset connection is retryable': [withCode('ECONNRESET'), true],
  'a closed socket is retryable': [withCode('UND_ERR_SOCKET'), true],
  'a timeout is retryable': [timedOut('no response'), true],
  'a wrapped connection error is retryable': [explain('listing nodes', explain('GET /x', withCode('EPIPE'))), true],
  '429 is retryable': [status(429), true],
  '500 is retryable': [status(500), true],
  '503 is retryable': [status(503), true],
  '501 is not retryable': [status(501), false],
  '422 is not retryable': [status(422), false],
  '403 is not retryable': [status(403), false],
  '409 is not retryable': [status(409), false],
  'an untrusted certificate is not retryable': [withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), false],
  'a programming error is not retryable': [new TypeError('x is not a function'), false],
  'a value that is not an error is not retryable': ['text', false],
}

for (const [name, [error, expected]] of Object.entries(retryable)) {
  test(name, () => assert.equal(isRetryable(error), expected))
}

test('each error matches only its own predicate', () => {
  const pairs: [question: (error: unknown) => boolean, error: Error][] = [
    [isNotFound, status(404)],
    [isConflict, status(409)],
    [isAlreadyExists, status(409, 'AlreadyExists')],
    [isGone, status(410, 'Expired')],
    [isForbidden, status(403)],
    [isInvalid, status(422)],
  ]
  for (const [question] of pairs) {
    for (const [own, error] of pairs) {
      assert.equal(question(explain('doing', error)), question === own, `${question.name} of ${error.message}`)
    }
  }
})

test('the response of a proxy becomes a short message', () => {
  const error = kubeErrorFrom(502, `<html>${'x'.repeat(5_000)}`)
  assert.equal(error.status, 502)
  assert.ok(error.message.length < 250)
})

test('the error has the Retry-After of the server', () => {
  assert.equal(kubeErrorFrom(429, 'slow down', 7).retryAfter, 7)
  const body = { kind: 'Status', code: 429, details: { retryAfterSeconds: 3 } }
  assert.equal(kubeErrorFrom(429, body).retryAfter, 3)
})
