/** What a soak is judged by. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeRest, judgeRig, judgeSamples } from './limits.ts'
import { partNames, quiet } from './names.ts'

const bounds = { nodes: 1_000, pollSeconds: 20, memory: { share: 0.1, slack: 0 } }
const calm = {
  ...Object.fromEntries(partNames.flatMap(name => [`${name}.mib`, `${name}.descriptors`].map(key => [key, 50]))),
  ...Object.fromEntries(quiet.map(name => [`controller.${name}`, 0])),
  ...{ 'controller.queue_wait_ms': 5, 'operator.sync_age_s': 10, 'biz.jobs': 300, 'biz.pods': 300 },
  ...{ 'management.secrets': 1, 'management.config_maps': 0 },
}

function failedWith(change: (at: number) => Record<string, number>): string[] {
  const samples = Array.from({ length: 90 }, (_, index) => ({
    at: index * 15,
    values: { ...calm, ...change(index) },
  }))
  return judgeSamples(samples, bounds).flatMap(({ check, met }) => (met ? [] : [check]))
}

test('a calm fleet passes every check', () => {
  assert.deepEqual(
    failedWith(() => ({})),
    [],
  )
})

const growing: Record<string, [name: string, change: (at: number) => Record<string, number>]> = {
  'memory of Viola': ['flat memory: viola', at => ({ 'viola.mib': 50 + at })],
  'descriptors of the operator': ['descriptors: operator', at => ({ 'operator.descriptors': 50 + 2 * at })],
  'the queue of the controller': ['no growing queue: depth', at => ({ 'controller.queue_depth': 3 * at })],
  'syncs that come ever later': ['no growing queue: syncs', at => ({ 'operator.sync_age_s': 3 * at })],
  'Jobs that nobody deletes': ['Jobs bounded', at => ({ 'biz.jobs': 300 + 20 * at })],
  'Secrets that nobody deletes': ['Secrets bounded', at => ({ 'management.secrets': 1 + Math.floor(at / 30) })],
}
for (const [what, [check, change]] of Object.entries(growing))
  test(`growth is found: ${what}`, () => assert.deepEqual(failedWith(change), [check]))

test('waves come and go without being called growth', () => {
  assert.deepEqual(
    failedWith(at => ({ 'controller.queue_depth': at % 10 === 0 ? 90 : 0 })),
    [],
  )
})

test('at rest nothing may be left, and the fleet is as people want it', () => {
  assert.deepEqual(
    judgeRest(calm, undefined).map(({ met }) => met),
    [true, true],
  )
  const [queue, fleet] = judgeRest({ ...calm, 'controller.jobs_active': 2 }, 'node-0001 is Failed')
  assert.deepEqual([queue?.met, queue?.words], [false, 'jobs_active is 2'])
  assert.deepEqual([fleet?.met, fleet?.words], [false, 'node-0001 is Failed'])
})

test('a machine that is too busy is called so', () => {
  assert.equal(judgeRig(0.8, 0.25).met, true)
  assert.match(judgeRig(0.1, 0.25).words, /10 % of the time.*too busy/)
})
