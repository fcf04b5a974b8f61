import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KubeError } from '../../kube/errors.ts'
import { createBreaker } from './circuit-breaker.ts'

const unreachable = new KubeError(503, 'ServiceUnavailable', 'the cluster is unreachable')

function aBreaker() {
  let time = 0
  let calls = 0
  const breaker = createBreaker(() => time, { firstMs: 500, maxMs: 2_000 })
  return {
    breaker,
    calls: () => calls,
    pass: (ms: number) => {
      time += ms
    },
    fails: (error: Error = unreachable) =>
      assert.rejects(
        breaker.run(async () => {
          calls++
          throw error
        }),
        error,
      ),
    succeeds: () => breaker.run(async () => calls++),
  }
}

test('after a failure, calls fail at once with the same error for some time', async () => {
  const { breaker, calls, pass, fails, succeeds } = aBreaker()
  await fails()
  assert.equal(breaker.open, 'the cluster is unreachable')
  await assert.rejects(succeeds(), unreachable)
  assert.equal(calls(), 1)
  pass(500)
  await succeeds()
  assert.equal(calls(), 2)
  assert.equal(breaker.open, undefined)
})

test('the open time doubles with every failure up to the maximum, and a success resets it', async () => {
  const { breaker, pass, fails, succeeds } = aBreaker()
  for (const ms of [500, 1_000, 2_000, 2_000]) {
    await fails()
    pass(ms - 1)
    assert.ok(breaker.open, `${ms}`)
    pass(1)
    assert.equal(breaker.open, undefined)
  }
  await succeeds()
  await fails()
  pass(500)
  assert.equal(breaker.open, undefined)
})

test('a refusal does not open the breaker', async () => {
  const { breaker, calls, fails } = aBreaker()
  await fails(new KubeError(403, 'Forbidden', 'no'))
  await fails(new KubeError(403, 'Forbidden', 'no'))
  assert.equal(calls(), 2)
  assert.equal(breaker.open, undefined)
})

test('a reset closes the breaker', async () => {
  const { breaker, fails, succeeds } = aBreaker()
  await fails()
  breaker.reset()
  await succeeds()
})
