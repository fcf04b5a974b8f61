/** Hostile answers of the Kubernetes API to the deployed program, inside memory cgroups with the limits of the chart. */
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
  outcome = await runHostile(join(dir, 'multinic.mjs'), 'kubernetes')
})
after(() => rm(dir, { recursive: true, force: true }))

test('no hostile answer of the Kubernetes API ends a process', () => {
  assert.ok(outcome.tried >= 400, `${outcome.tried} cases`)
  assert.deepEqual(outcome.ended, [])
})

test('no hostile answer of the Kubernetes API delays /healthz by a second', () => {
  assert.deepEqual(outcome.tooSlow, [])
})
