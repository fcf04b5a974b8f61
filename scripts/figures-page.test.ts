/** The reference page and the plots of the benchmark figures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Figure } from '../test/bench/figure.ts'
import { type Figures, figureFiles, readFigures } from './figures-page.ts'

const pages = ['docs/reference/figures.md', 'docs/reference/figures.ko.md']
const machine = { cores: 2, memoryGiB: 24, architecture: 'x64', kernel: '6.1.0', node: 'v24.0.0' }

function aFigure(name: string, value: number, more: Partial<Figure> = {}): Figure {
  return {
    name,
    value,
    unit: 's',
    against: 'a bare client',
    reference: 2,
    ratio: value / 2,
    goal: { atMost: 9 },
    ...more,
  }
}

function filesOf(bench: string, figures: Figure[]): Map<string, string> {
  const measured = { on: '2026-01-02', commit: 'abc1234', load: 0.25, figures }
  return figureFiles({ machine, benches: { [bench]: measured } } satisfies Figures)
}

test('the page shows each figure with its reference and marks a missed goal', () => {
  const page = filesOf('agent', [
    aFigure('agent.fast', 3, { goal: { atMost: 4 } }),
    aFigure('agent.slow', 5, { goal: { atMost: 4 } }),
    aFigure('agent.times', 5, { goal: { atMostTimes: 2.5 } }),
    aFigure('agent.few', 5, { goal: { atLeast: 6 } }),
    aFigure('agent.rate', 5, { goal: { atLeastTimes: 2 } }),
    aFigure('agent.free', 5, { goal: { none: 'agent.fast has it' } }),
  ]).get('docs/reference/figures.md')
  assert.match(page ?? '', /^\| `agent.fast` \| 3 s \| a bare client: 2 s \| 1.5 \| ≤ 4 s, met \|$/m)
  assert.match(page ?? '', /^\| `agent.slow` \| 5 s \| a bare client: 2 s \| 2.5 \| ≤ 4 s, \*\*missed\*\* \|$/m)
  assert.match(page ?? '', /^\| `agent.times` .* \| 2.5 \| ≤ 2.5×, met \|$/m)
  assert.match(page ?? '', /^\| `agent.few` .* \| ≥ 6 s, \*\*missed\*\* \|$/m)
  assert.match(page ?? '', /^\| `agent.rate` .* \| ≥ 2×, met \|$/m)
  assert.match(page ?? '', /^\| `agent.free` .* \| none: agent.fast has it \|$/m)
  assert.match(page ?? '', /^2026-01-02, commit `abc1234`, load 0.3 at the start\.$/m)
})

test('each published figure has a goal, or says why it has none', () => {
  const published = Object.values(readFigures()?.benches ?? {}).flatMap(({ figures }) => figures)
  assert.ok(published.length > 0)
  for (const { name, goal } of published) assert.ok(goal, name)
})

test('each measure of growth gets a plot with a line per component, where linear growth is a straight line', () => {
  const files = filesOf('growth', [
    aFigure('growth.viola_seconds_10', 0.1),
    aFigure('growth.viola_seconds_100', 1),
    aFigure('growth.viola_seconds_1000', 10),
    aFigure('growth.viola_mib_10', 90),
    aFigure('growth.viola_mib_1000', 120),
    aFigure('growth.viola_calls_10', 10),
    aFigure('growth.viola_calls_1000', 1000),
  ])
  assert.deepEqual(
    [...files.keys()],
    [...pages, ...['seconds', 'calls', 'mib'].map(measure => `docs/images/growth-${measure}.svg`)],
  )
  const [, drawn = ''] = /polyline points="([^"]+)"/.exec(files.get('docs/images/growth-seconds.svg') ?? '') ?? []
  const [first = [], second = [], third = []] = drawn.split(' ').map(point => point.split(',').map(Number))
  const slope = ([x1 = 0, y1 = 0]: number[], [x2 = 0, y2 = 0]: number[]) => (y2 - y1) / (x2 - x1)
  assert.equal(slope(first, second).toFixed(2), slope(second, third).toFixed(2))
})

test('without figures of growth there is no plot', () => {
  assert.deepEqual([...filesOf('agent', [aFigure('agent.fast', 3)]).keys()], pages)
})

test('the names of lines that end at the same height do not overlap and stay inside the plot', () => {
  const components = ['operator', 'viola', 'controller', 'inventory']
  for (const largest of [101, 950, 1000]) {
    const files = filesOf(
      'growth',
      components.flatMap((component, index) => [
        aFigure(`growth.${component}_mib_10`, 100),
        aFigure(`growth.${component}_mib_5000`, largest - index / 10),
      ]),
    )
    const drawn = files.get('docs/images/growth-mib.svg') ?? ''
    const names = [...drawn.matchAll(/<text x="[\d.]+" y="([\d.]+)" fill="#\w+">(\w+)/g)]
    assert.deepEqual(
      names.map(([, , name]) => name),
      components,
    )
    const heights = names.map(([, y]) => Number(y)).sort((one, other) => one - other)
    for (const [index, height] of heights.entries()) {
      assert.ok(height > 40 && height < 320, `${height}`)
      assert.ok(index === 0 || height - (heights[index - 1] ?? 0) >= 14.9, `${heights}`)
    }
  }
})
