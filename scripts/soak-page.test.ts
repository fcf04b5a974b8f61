/** The reference page and the curves of the last soak. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soakFiles, soakOf } from './soak-page.ts'
import { ticksUpTo } from './time-plot.ts'

const run = { seed: 7, nodes: 1_000, minutes: 30, on: '2026-01-02', commit: 'abc1234' }
const values = (at: number) => ({
  ...{ 'viola-0.mib': 90.123_456, 'viola-1.mib': 80 + at / 60, 'controller.queue_depth': 3 },
  ...{
    'viola.requests_per_s': 2,
    'port.ready_s': 4,
    'database.kib': 2_048,
    'database.connections': 12,
    'biz.jobs': 300,
  },
})
const lines = [
  { kind: 'run', ...run } as const,
  { kind: 'verdict', check: 'flat memory: viola-0', met: true, text: '90 MiB', figures: { last: 90 } } as const,
  { kind: 'verdict', check: 'Jobs bounded', met: false, text: 'growing' } as const,
  { kind: 'warning' } as const,
  { kind: 'fault', at: 60, name: 'viola-0 is killed' } as const,
  ...[0, 900, 1_800, 1_900].map(at => ({ kind: 'sample', at, values: values(at) }) as const),
]

test('only the values of the curves are stored, up to the end of the churn', () => {
  const { samples, ...stored } = soakOf(lines)
  assert.deepEqual(stored, {
    run,
    verdicts: [
      { check: 'flat memory: viola-0', met: true, text: '90 MiB' },
      { check: 'Jobs bounded', met: false, text: 'growing' },
    ],
    faults: [{ at: 60, name: 'viola-0 is killed' }],
  })
  assert.deepEqual(
    samples.map(({ at }) => at),
    [0, 900, 1_800],
  )
  assert.deepEqual(samples[0]?.values, {
    ...{ 'viola-0.mib': 90.12, 'viola-1.mib': 80, 'controller.queue_depth': 3, 'viola.requests_per_s': 2 },
    ...{ 'port.ready_s': 4, 'database.connections': 12, 'database.mib': 2 },
  })
})

test('a file without a run is refused', () => {
  assert.throws(() => soakOf([]), /has no run/)
})

test('the pages have the run, the picture and each check, and mark a failed one', () => {
  const files = new Map(soakFiles(soakOf(lines)))
  const page = files.get('docs/reference/soak.md') ?? ''
  assert.match(page, /^2026-01-02, commit `abc1234`: 30 minutes with 1,000 nodes and 1 faults?, seed 7\./m)
  assert.match(page, /^!\[.*\]\(\.\.\/images\/soak\.svg\)$/m)
  assert.match(page, /^\| flat memory: viola-0 \| passed \| 90 MiB \|$/m)
  assert.match(page, /^\| Jobs bounded \| \*\*failed\*\* \| growing \|$/m)
  assert.match(files.get('docs/reference/soak.ko.md') ?? '', /^\| Jobs bounded \| \*\*실패\*\* \| growing \|$/m)
})

test('the picture has a line for each value over the whole time, and a mark for each fault', () => {
  const svg = new Map(soakFiles(soakOf(lines))).get('docs/images/soak.svg') ?? ''
  const rising = /<polyline points="([^"]+)"[^>]*>\n<text[^>]*>viola-1 110</.exec(svg)?.[1] ?? ''
  const [first = [], middle = [], last = []] = rising.split(' ').map(point => point.split(',').map(Number))
  assert.deepEqual([first[0], middle[0], last[0]], [64, 312, 560])
  assert.ok((first[1] ?? 0) > (middle[1] ?? 0) && (middle[1] ?? 0) > (last[1] ?? 0), rising)
  const faults = svg.split('\n').filter(line => line.includes('stroke-dasharray'))
  assert.equal(faults.length, 5)
  assert.ok(faults.every(line => line.includes('x1="80.5"')))
})

test('axes have round steps', () => {
  assert.deepEqual(ticksUpTo(30), [0, 5, 10, 15, 20, 25, 30])
  assert.deepEqual(ticksUpTo(1), [0, 0.2, 0.4, 0.6, 0.8, 1])
  assert.deepEqual(ticksUpTo(110), [0, 20, 40, 60, 80, 100, 120])
})
