import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backoffMs, type RetryOptions, retry } from './retry.ts'

const backoff = { firstMs: 100, maxMs: 1_000 }

test('the delay doubles with each failure up to the maximum', () => {
  const delays = [1, 2, 3, 4, 5, 500].map(failures => backoffMs(failures, backoff, { random: () => 1 }))
  assert.deepEqual(delays, [100, 200, 400, 800, 1_000, 1_000])
})

test('jitter drops up to half of the delay', () => assert.equal(backoffMs(1, backoff, { random: () => 0 }), 50))

test('the delay is at least Retry-After, and at most the maximum', () => {
  const delays = [undefined, 20, 700, 5_000].map(retryAfterMs =>
    backoffMs(1, backoff, { retryAfterMs, random: () => 1 }),
  )
  assert.deepEqual(delays, [100, 100, 700, 1_000])
})

/** A call that fails this many times, and the options of a fast retry. */
function failing(times: number, more: Partial<RetryOptions> = {}) {
  const calls: number[] = []
  const options = { firstMs: 1, maxMs: 2, attempts: 3, isRetryable: () => true, ...more }
  const result = retry(async () => {
    calls.push(calls.length + 1)
    if (calls.length <= times) throw new Error(`failure ${calls.length}`)
    return 'done'
  }, options)
  return { calls, result }
}

test('a call is repeated until it succeeds', async () => {
  const retried: string[] = []
  const { calls, result } = failing(2, { onRetry: (error, attempt) => retried.push(`${attempt}: ${String(error)}`) })
  assert.equal(await result, 'done')
  assert.equal(calls.length, 3)
  assert.deepEqual(retried, ['1: Error: failure 1', '2: Error: failure 2'])
})

test('the last error is thrown after all attempts', async () => {
  const { calls, result } = failing(9)
  await assert.rejects(result, /failure 3/)
  assert.equal(calls.length, 3)
})

test('an error that is not retryable is thrown at once', async () => {
  const { calls, result } = failing(9, { isRetryable: () => false })
  await assert.rejects(result, /failure 1/)
  assert.equal(calls.length, 1)
})

test('an aborted signal ends the delay', async () => {
  const stop = new AbortController()
  const { calls, result } = failing(9, { firstMs: 60_000, maxMs: 60_000, signal: stop.signal })
  setImmediate(() => stop.abort())
  await assert.rejects(result, { name: 'AbortError' })
  assert.equal(calls.length, 1)
})
