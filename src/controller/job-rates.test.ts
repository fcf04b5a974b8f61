import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createJobRates, type JobRate } from './job-rates.ts'

function ratesOf(nodes: number, checks = { intervalMs: 3_600_000, gapMs: 5_000 }) {
  let time = 0
  const rates = createJobRates(
    checks,
    () => nodes,
    () => time,
  )
  /** Jobs that start within this time if one is always due. */
  const startedIn = (rate: JobRate, seconds: number) => {
    let started = 0
    for (const end = time + seconds * 1_000; time < end; time += 100) {
      if (rates.isReached(rate)) continue
      rates.count(rate)
      started++
    }
    return started
  }
  return { rates, startedIn }
}

test('checks start at most every five seconds in a cluster', () => {
  assert.equal(ratesOf(5_000).startedIn('check', 3_600), 720)
})

test('a node is checked every hour, and less often in a cluster of more than 720 nodes', () => {
  assert.equal(ratesOf(10).rates.checkIntervalMs(), 3_600_000)
  assert.equal(ratesOf(720).rates.checkIntervalMs(), 3_600_000)
  assert.equal(ratesOf(2_000).rates.checkIntervalMs(), 10_000_000)
  assert.equal(createJobRates({ gapMs: 5_000 }, () => 10, Date.now).checkIntervalMs(), undefined)
})

test('retries of a whole cluster start once a second after the first ten', () => {
  const { startedIn } = ratesOf(500)
  assert.equal(startedIn('retry', 1), 10)
  assert.equal(startedIn('retry', 600), 600)
})
