import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfigStatus } from '../contract/node-config.ts'
import { aConfig, observedWith, start } from './controller.fixture.ts'
import { createJobRates, type JobRate } from './job-rates.ts'
import { aStatus } from './plan/plan.fixture.ts'
import { planNodeConfig } from './plan/plan.ts'

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

/** Plans each config when it asks for it. Returns how long it takes until each has started a Job. */
function secondsUntilAllStarted(rate: JobRate, status: NodeConfigStatus, count: number): number {
  let now = start
  const gaps = { intervalMs: 3_600_000, gapMs: 5_000 }
  const rates = createJobRates(
    gaps,
    () => count,
    () => now,
  )
  const waiting = Array.from({ length: count }, (_, index) => ({ at: start, uid: `uid-${index}` }))
  while (waiting.length > 0) {
    const next = waiting.reduce((first, one) => (one.at < first.at ? one : first))
    now = next.at
    const { steps, requeueAfterMs } = planNodeConfig(
      observedWith({
        ...{ now, config: aConfig({ status, metadata: { uid: next.uid } }) },
        ...{ checkRateReached: rates.isReached('check'), retryRateReached: rates.isReached('retry') },
        ...{ checkIntervalMs: rates.checkIntervalMs() },
      }),
    )
    if (steps.some(step => step.do === 'createJob')) {
      waiting.splice(waiting.indexOf(next), 1)
      rates.count(rate)
    } else next.at += requeueAfterMs ?? assert.fail('the config is never planned again')
  }
  return (now - start) / 1_000
}

test('checks of a whole cluster that are due together start every five seconds', () => {
  const dayAgo = aStatus('Configured', 'AllInterfacesConfigured', 86_400)
  const seconds = secondsUntilAllStarted('check', dayAgo, 200)
  assert.ok(seconds >= 995 && seconds < 1_500, `200 checks took ${seconds} s`)
})

test('retries of a whole cluster that are due together start once a second', () => {
  const seconds = secondsUntilAllStarted('retry', aStatus('Failed', 'ApplyFailed', 86_400), 200)
  assert.ok(seconds >= 189 && seconds < 230, `200 retries took ${seconds} s`)
})

test('nodes whose status somebody edited are not all retried at once', () => {
  const edited = { ...aStatus('Failed', 'ApplyFailed', 86_400), nics: '2/2', failedAttempts: 1 }
  assert.ok(secondsUntilAllStarted('retry', edited, 200) >= 189)
})
