/** The parts of `make nightly` and the page of their last runs. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { type NightlyRun, nightlyPages, readNightlyRuns, withRun } from './nightly-page.ts'
import { nightlyParts } from './nightly-parts.ts'
import { testFiles } from './test-files.ts'

const parts = nightlyParts(7)
const aRun = (part: string, more: Partial<NightlyRun> = {}): NightlyRun => ({
  ...{ part, on: '2026-01-02', commit: 'abc12345', minutes: 31, passed: 20, failed: 0, skipped: 0 },
  ...more,
})

test('every part runs scripts and test files that exist', () => {
  assert.deepEqual(
    parts.map(({ name }) => name),
    ['e2e', 'guard', 'vm', 'kubernetes-1.30', 'chaos', 'chaos-real', 'truth', 'fuzz', 'half-answers', 'soak'],
  )
  for (const { args, env } of parts.flatMap(({ commands }) => commands)) {
    assert.ok(existsSync(args[0] ?? ''), args[0])
    if (!env?.['ONLY']) continue
    const { e2e, plain } = testFiles(env['ONLY'])
    if (args[0] === 'scripts/e2e.ts') assert.equal(e2e.length, 1, env['ONLY'])
    else assert.ok(plain.length > 0, env['ONLY'])
  }
})

test('no seed runs twice', () => {
  const seeds = parts.find(({ name }) => name === 'truth')?.commands.map(({ env }) => env?.['SEED'])
  assert.deepEqual(seeds?.slice(0, 2), ['7', '8'])
  assert.equal(new Set(seeds).size, seeds?.length)
})

test('a run replaces the last one of its part', () => {
  const runs = [aRun('chaos'), aRun('vm')]
  assert.deepEqual(withRun(runs, aRun('vm', { failed: 1 })), [aRun('chaos'), aRun('vm', { failed: 1 })])
  assert.deepEqual(withRun(runs, aRun('soak')), [aRun('chaos'), aRun('soak'), aRun('vm')])
})

test('the page shows every part, also those that did not run yet, and none that no longer exists', () => {
  const [[path, page] = ['', ''], [, korean] = ['', '']] = nightlyPages(parts, [
    aRun('chaos', { failed: 2 }),
    aRun('old'),
  ])
  assert.equal(path, 'docs/reference/nightly.md')
  assert.match(
    page,
    /^\| `chaos` \| 20 seeds of chaos with a real broker \| 20 passed, 2 failed \| 31 \| `abc12345` \| 2026-01-02 \|$/m,
  )
  assert.match(
    page,
    /^\| `soak` \| 30 minutes with 1,000 nodes and constant changes, on the replicas of production \| not run yet \| {2}\| {2}\| {2}\|$/m,
  )
  assert.doesNotMatch(page, /old/)
  assert.match(korean, /아직 실행하지 않음/)
})

test('the stored runs are of parts that exist', () => {
  const names = parts.map(({ name }) => name)
  for (const { part } of readNightlyRuns()) assert.ok(names.includes(part), part)
})
