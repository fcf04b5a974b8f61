/** The checks of a soak and their limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeFaults, judgeIdle, judgeRig, judgeSamples } from './limits.ts'
import { replicaNames, zeroWhenIdle } from './names.ts'

const limits = { nodes: 1_000, pollSeconds: 20, memory: { share: 0.1, slack: 0 } }
const idle = {
  ...Object.fromEntries(replicaNames.flatMap(name => [`${name}.mib`, `${name}.descriptors`].map(key => [key, 50]))),
  ...Object.fromEntries(zeroWhenIdle.map(name => [`controller.${name}`, 0])),
  ...{ 'controller.queue_wait_ms': 5, 'operator.sync_age_s': 10, 'biz.jobs': 300, 'biz.pods': 300 },
  ...{ 'management.secrets': 1, 'management.config_maps': 0 },
  ...{ 'database.current_rows': 9_000, 'database.current_kib': 12_000, 'database.connections': 12 },
}
/** History grows with every change. */
const recorded = (at: number) => ({
  'database.history_rows': 50_000 + 300 * at,
  'database.deliveries': 4_000 + 20 * at,
})

function failedWith(change: (at: number) => Record<string, number>): string[] {
  const samples = Array.from({ length: 90 }, (_, index) => ({
    at: index * 15,
    values: { ...idle, ...recorded(index), ...change(index) },
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
  'memory of one Viola': ['flat memory: viola-1', at => ({ 'viola-1.mib': 50 + at })],
  'memory of a standby': ['flat memory: controller-0', at => ({ 'controller-0.mib': 50 + at })],
  'descriptors of one operator': ['descriptors: operator-0', at => ({ 'operator-0.descriptors': 50 + 2 * at })],
  'queue of the controller': ['no growing queue: depth', at => ({ 'controller.queue_depth': 3 * at })],
  'age of the last sync': ['no growing queue: syncs', at => ({ 'operator.sync_age_s': 3 * at })],
  Jobs: ['Jobs bounded', at => ({ 'biz.jobs': 300 + 20 * at })],
  'rows of the present state': [
    'database: present state bounded',
    at => ({ 'database.current_rows': 9_000 + 300 * at }),
  ],
  'tables that autovacuum does not clean': [
    'database: tables of the present state bounded',
    at => ({ 'database.current_kib': 12_000 + 1_000 * at }),
  ],
  'history without deliveries': [
    'database: history only of changes',
    at => ({ 'database.history_rows': 50_000 + 3_000 * at }),
  ],
  'connections to the database': [
    'database: connections bounded',
    at => ({ 'database.connections': at === 60 ? 21 : 12 }),
  ],
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

test('a value that no sample has fails its check', () => {
  const samples = Array.from({ length: 90 }, (_, index) => ({ at: index * 15, values: {} }))
  assert.deepEqual(
    judgeSamples(samples, limits).filter(({ met }) => met),
    [],
  )
})

test('an idle fleet has an empty queue and the requested state, and nothing is lost', () => {
  assert.deepEqual(
    judgeIdle(idle, undefined, undefined).map(({ met }) => met),
    [true, true, true],
  )
  const bad = judgeIdle({ ...idle, 'controller.jobs_active': 2 }, 'node-0001 is Failed', 'node-0002 is not recorded')
  assert.deepEqual(
    bad.map(({ met, text }) => [met, text]),
    [
      [false, 'jobs_active is 2'],
      [false, 'node-0001 is Failed'],
      [false, 'node-0002 is not recorded'],
    ],
  )
})

test('a soak that ended before a fault ran fails', () => {
  assert.equal(judgeFaults(['b', 'a', 'b'], ['a', 'b']).met, true)
  const { met, text } = judgeFaults(['a'], ['a', 'b', 'c'])
  assert.deepEqual([met, text], [false, 'missing: b, c'])
})

test('a machine that is too busy fails the check of the rig', () => {
  assert.equal(judgeRig(0.8, 0.25).met, true)
  assert.match(judgeRig(0.1, 0.25).text, /10 % of the time.*too busy/)
})
