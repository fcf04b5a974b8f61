import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Look } from './nodes.ts'
import { bandsOf, percentile, stagesOf, stuckAt, totalOf } from './stages.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const all = { seen: at(0), delivered: at(1), cr: at(2), job: at(4), applied: at(5), verified: at(6) }
const { seen, delivered, cr, job } = all

const cases: Record<
  string,
  [look: Look, stages: Parameters<typeof totalOf>[0]['stages'], marks: string, stuck: string | undefined]
> = {
  'a configured NIC has passed them all': ['ok', all, 'done done done done done done', undefined],
  'one that was imported has passed them without times': ['ok', {}, 'done done done done done done', undefined],
  'a failed one stops after the last that it passed': [
    'bad',
    { seen, delivered, cr, job },
    'done done done done stop none',
    'applied',
  ],
  'one whose verification failed later stops there': ['bad', all, 'done done done done done stop', 'verified'],
  'a waiting one waits': ['pend', { seen, delivered }, 'done done wait none none none', 'cr'],
  'one that nobody has seen yet waits to be seen': ['pend', {}, 'wait none none none none none', 'seen'],
  'one that is worked on runs': ['prog', { seen, delivered, cr }, 'done done done run none none', 'job'],
  'a drifted one differs at the end': ['drift', all, 'done done done done done differs', undefined],
}

for (const [name, [look, stages, marks, stuck]] of Object.entries(cases))
  test(name, () => {
    assert.equal(
      stagesOf({ look, stages })
        .map(({ mark }) => mark)
        .join(' '),
      marks,
    )
    assert.equal(stuckAt({ look, stages }), stuck)
  })

test('each stage took the time since the one before it that is known', () => {
  const { delivered: _, ...some } = all
  assert.deepEqual(
    stagesOf({ look: 'ok', stages: some }).map(({ took }) => took),
    [undefined, undefined, 2_000, 2_000, 1_000, 1_000],
  )
  assert.equal(totalOf({ stages: all }), 6_000)
  assert.equal(totalOf({ stages: { seen: at(1), job: at(4), verified: at(3) } }), 3_000)
  assert.equal(totalOf({ stages: { seen: at(9), verified: at(8) } }), 0)
  assert.equal(totalOf({ stages: { seen: at(9) } }), undefined)
})

test('percentiles are values that were there', () => {
  assert.equal(percentile([5, 1, 3], 0.5), 3)
  assert.equal(
    percentile(
      Array.from({ length: 100 }, (_, index) => index + 1),
      0.95,
    ),
    95,
  )
  assert.equal(percentile([], 0.5), 0)
})

test('many attaches become groups in their order, few become none', () => {
  const points = Array.from({ length: 960 }, (_, index) => ({ ms: index }))
  const bands = bandsOf(points)
  assert.equal(bands.length, 48)
  assert.deepEqual(bands[0], { p50: 9, p95: 18 })
  assert.ok(bands.every(({ p50, p95 }) => p50 <= p95))
  assert.deepEqual(bandsOf(points.slice(0, 7)), [])
})
