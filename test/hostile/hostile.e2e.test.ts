/**
 * Hostile answers and requests of clouds, message buses, collectors and callers against the deployed program, inside memory
 * cgroups with the limits of the chart.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { buildProgram } from '../../scripts/build.ts'
import { type Outcome, runHostile } from './run.ts'

let dir: string
let outcome: Outcome
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-hostile-program-'))
  await buildProgram(join(dir, 'multinic.mjs'))
  outcome = await runHostile(join(dir, 'multinic.mjs'), 'services')
})
after(() => rm(dir, { recursive: true, force: true }))

test('operator 3, 4: no hostile answer or request ends a process', () => {
  assert.ok(outcome.tried >= 450, `${outcome.tried} cases`)
  assert.deepEqual(outcome.ended, [])
})

test('operator 3, 14: no hostile answer or request delays /healthz by a second', () => {
  assert.deepEqual(outcome.tooSlow, [])
})
