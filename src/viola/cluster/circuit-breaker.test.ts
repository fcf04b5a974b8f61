import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KubeError } from '../../kube/errors.ts'
import { createBreaker } from './circuit-breaker.ts'

const away = new KubeError(503, 'ServiceUnavailable', 'the cluster is away')

function aBreaker() {
  let time = 0
  let asked = 0
  const breaker = createBreaker(() => time, { firstMs: 500, longestMs: 2_000 })
  return {
    breaker,
    asked: () => asked,
    pass: (ms: number) => {
      time += ms
    },
    fails: (error: Error = away) =>
      assert.rejects(
        breaker.run(async () => {
          asked++
          throw error
        }),
        error,
      ),
    succeeds: () => breaker.run(async () => asked++),
  }
}

test('a cluster that was away is left alone for a moment, and whoever asks is told at once why', async () => {
  const { breaker, asked, pass, fails, succeeds } = aBreaker()
  await fails()
  assert.equal(breaker.open, 'the cluster is away')
  await assert.rejects(succeeds(), away)
  assert.equal(asked(), 1)
  pass(500)
  await succeeds()
  assert.equal(asked(), 2)
  assert.equal(breaker.open, undefined)
})

test('the moment grows with every failure up to a bound, and starts again after a success', async () => {
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

test('a refusal is an answer: the next one is asked for as well', async () => {
  const { breaker, asked, fails } = aBreaker()
  await fails(new KubeError(403, 'Forbidden', 'no'))
  await fails(new KubeError(403, 'Forbidden', 'no'))
  assert.equal(asked(), 2)
  assert.equal(breaker.open, undefined)
})

test('a cluster that is heard of elsewhere is asked again', async () => {
  const { breaker, fails, succeeds } = aBreaker()
  await fails()
  breaker.reset()
  await succeeds()
})
