/** The checks of a soak and their limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeIdle, judgeRig, judgeSamples } from './limits.ts'
import { componentNames, zeroWhenIdle } from './names.ts'

const limits = { nodes: 1_000, pollSeconds: 20, memory: { share: 0.1, slack: 0 } }
const idle = {
  ...Object.fromEntries(componentNames.flatMap(name => [`${name}.mib`, `${name}.descriptors`].map(key => [key, 50]))),
  ...Object.fromEntries(zeroWhenIdle.map(name => [`controller.${name}`, 0])),
  ...{ 'controller.queue_wait_ms': 5, 'operator.sync_age_s': 10, 'biz.jobs': 300, 'biz.pods': 300 },
  ...{ 'management.secrets': 1, 'management.config_maps': 0 },
}

function failedWith(change: (at: number) => Record<string, number>): string[] {
  const samples = Array.from({ length: 90 }, (_, index) => ({
    at: index * 15,
    values: { ...idle, ...change(index) },
  }))
  return judgeSamples(samples, limits).flatMap(({ check, met }) => (met ? [] : [check]))
}

test('a fleet without growth passes every check', () => {
  assert.deepEqual(
    failedWith(() => ({})),
    [],
  )
})

const growing: Record<string, [name: string, change: (at: number) => Record<string, number>]> = {
  'memory of Viola': ['flat memory: viola', at => ({ 'viola.mib': 50 + at })],
  'descriptors of the operator': ['descriptors: operator', at => ({ 'operator.descriptors': 50 + 2 * at })],
  'queue of the controller': ['no growing queue: depth', at => ({ 'controller.queue_depth': 3 * at })],
  'age of the last sync': ['no growing queue: syncs', at => ({ 'operator.sync_age_s': 3 * at })],
  Jobs: ['Jobs bounded', at => ({ 'biz.jobs': 300 + 20 * at })],
  Secrets: ['Secrets bounded', at => ({ 'management.secrets': 1 + Math.floor(at / 30) })],
}
for (const [what, [check, change]] of Object.entries(growing))
  test(`growth fails a check: ${what}`, () => assert.deepEqual(failedWith(change), [check]))

test('a recurring peak is not growth', () => {
  assert.deepEqual(
    failedWith(at => ({ 'controller.queue_depth': at % 10 === 0 ? 90 : 0 })),
    [],
  )
})

test('an idle fleet has an empty queue and the requested state', () => {
  assert.deepEqual(
    judgeIdle(idle, undefined).map(({ met }) => met),
    [true, true],
  )
  const [queue, fleet] = judgeIdle({ ...idle, 'controller.jobs_active': 2 }, 'node-0001 is Failed')
  assert.deepEqual([queue?.met, queue?.text], [false, 'jobs_active is 2'])
  assert.deepEqual([fleet?.met, fleet?.text], [false, 'node-0001 is Failed'])
})

test('a machine that is too busy fails the check of the rig', () => {
  assert.equal(judgeRig(0.8, 0.25).met, true)
  assert.match(judgeRig(0.1, 0.25).text, /10 % of the time.*too busy/)
})
