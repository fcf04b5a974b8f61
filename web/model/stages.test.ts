import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetNodes } from './nodes.fixture.ts'
import type { Severity } from './nodes.ts'
import { bandsOf, currentStage, latencyOf, percentile, stagesOf, totalDuration } from './stages.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const all = { seen: at(0), delivered: at(1), cr: at(2), job: at(4), applied: at(5), verified: at(6) }
const { seen, delivered, cr, job } = all

const cases: Record<
  string,
  [
    severity: Severity,
    stages: Parameters<typeof totalDuration>[0]['stages'],
    statuses: string,
    current: string | undefined,
  ]
> = {
  'a configured NIC has passed all stages': ['configured', all, 'done done done done done done', undefined],
  'an imported NIC has passed all stages without times': ['configured', {}, 'done done done done done done', undefined],
  'a failed NIC stops after the last stage it passed': [
    'failed',
    { seen, delivered, cr, job },
    'done done done done stopped notReached',
    'applied',
  ],
  'a NIC whose verification fails later stops at verified': [
    'failed',
    all,
    'done done done done done stopped',
    'verified',
  ],
  'a pending NIC waits at its next stage': [
    'pending',
    { seen, delivered },
    'done done waiting notReached notReached notReached',
    'cr',
  ],
  'a pending NIC without times waits at seen': [
    'pending',
    {},
    'waiting notReached notReached notReached notReached notReached',
    'seen',
  ],
  'a NIC in progress runs at its next stage': [
    'inProgress',
    { seen, delivered, cr },
    'done done done running notReached notReached',
    'job',
  ],
  'a drifted NIC differs at the last stage': ['drifted', all, 'done done done done done differs', 'verified'],
}

for (const [name, [severity, stages, statuses, current]] of Object.entries(cases))
  test(name, () => {
    assert.equal(
      stagesOf({ severity, stages })
        .map(({ status }) => status)
        .join(' '),
      statuses,
    )
    assert.equal(currentStage({ severity, stages }), current)
  })

test('a stage took the time since the previous stage that has a time', () => {
  const { delivered: _, ...some } = all
  assert.deepEqual(
    stagesOf({ severity: 'configured', stages: some }).map(({ took }) => took),
    [undefined, undefined, 2_000, 2_000, 1_000, 1_000],
  )
  assert.equal(totalDuration({ stages: all }), 6_000)
  assert.equal(totalDuration({ stages: { seen: at(1), job: at(4), verified: at(3) } }), 3_000)
  assert.equal(totalDuration({ stages: { seen: at(9), verified: at(8) } }), 0)
  assert.equal(totalDuration({ stages: { seen: at(9) } }), undefined)
})

test('an impossible time is marked, and neither its duration nor the total is shown', () => {
  const nic = { severity: 'configured' as const, stages: all, clamped: ['job' as const] }
  assert.deepEqual(
    stagesOf(nic).map(({ clamped, took }) => [clamped, took]),
    [
      [false, undefined],
      [false, 1_000],
      [false, 1_000],
      [true, undefined],
      [false, undefined],
      [false, 1_000],
    ],
  )
  assert.equal(totalDuration(nic), undefined)
})

test('the time range leaves out ports that were seen before it', () => {
  const [node] = fleetNodes(1)
  const nic = node?.nics.find(({ severity }) => severity === 'configured')
  assert.ok(node && nic)
  const nodes = [{ ...node, nics: [{ ...nic, stages: all }] }]
  assert.equal(latencyOf(nodes, Date.parse(seen))?.points.length, 1)
  assert.equal(latencyOf(nodes, Date.parse(seen) + 1), undefined)
})

test('experience H5: figures use only NICs with all stages, and none with an impossible time', () => {
  const [node] = fleetNodes(1)
  const nic = node?.nics.find(({ severity }) => severity === 'configured')
  assert.ok(node && nic)
  const { seen: _, ...incomplete } = all
  const late = { ...all, verified: at(59) }
  const nics = [
    { ...nic, stages: all },
    { ...nic, stages: incomplete },
    { ...nic, stages: late, clamped: ['verified' as const] },
  ]
  assert.deepEqual(
    latencyOf([{ ...node, nics }])?.points.map(({ ms }) => ms),
    [6_000],
  )
})

test('a percentile is one of the values', () => {
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

test('many points form bands in their order, few points form none', () => {
  const points = Array.from({ length: 960 }, (_, index) => ({ ms: index }))
  const bands = bandsOf(points)
  assert.equal(bands.length, 48)
  assert.deepEqual(bands[0], { p50: 9, p95: 18 })
  assert.ok(bands.every(({ p50, p95 }) => p50 <= p95))
  assert.deepEqual(bandsOf(points.slice(0, 7)), [])
})
