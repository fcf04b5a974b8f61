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
  kubeErrorFrom(code, { kind: 'Status', code, message: 'words', ...(reason && { reason }) })

const retryable: Record<string, [error: unknown, again: boolean]> = {
  'a refused connection is tried again': [withCode('ECONNREFUSED'), true],
  'a reset connection is tried again': [withCode('ECONNRESET'), true],
  'a socket that closed is tried again': [withCode('UND_ERR_SOCKET'), true],
  'a time-out is tried again': [timedOut('no answer'), true],
  'a failure behind words is seen': [explain('listing nodes', explain('GET /x', withCode('EPIPE'))), true],
  'too many requests is tried again': [status(429), true],
  'an internal error is tried again': [status(500), true],
  'a gateway that is away is tried again': [status(503), true],
  'what a server cannot do at all is not tried again': [status(501), false],
  'an invalid object is not tried again': [status(422), false],
  'a forbidden call is not tried again': [status(403), false],
  'a conflict is not tried again': [status(409), false],
  'a wrong certificate is not tried again': [withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), false],
  'a mistake of ours is not tried again': [new TypeError('x is not a function'), false],
  'what is no error is not tried again': ['text', false],
}

for (const [name, [error, again]] of Object.entries(retryable)) {
  test(name, () => assert.equal(isRetryable(error), again))
}

test('each refusal answers to its own question only', () => {
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

test('what a proxy answers becomes a short message', () => {
  const error = kubeErrorFrom(502, `<html>${'x'.repeat(5_000)}`)
  assert.equal(error.status, 502)
  assert.ok(error.message.length < 250)
})

test('the time that a server asks for is kept', () => {
  assert.equal(kubeErrorFrom(429, 'slow down', 7).retryAfter, 7)
  const body = { kind: 'Status', code: 429, details: { retryAfterSeconds: 3 } }
  assert.equal(kubeErrorFrom(429, body).retryAfter, 3)
})
