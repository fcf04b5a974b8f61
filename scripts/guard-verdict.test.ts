/** How `make guard` judges figures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Figure, figure, type Goal } from '../test/bench/figure.ts'
import { benches, longBenches } from './bench-lines.ts'
import { guardedBenches, isGuarded, needsRun, verdictsOf } from './guard-verdict.ts'

const measured = (value: number, goal: Goal, unit = 'MiB'): Figure =>
  figure('some.figure', value, unit, { against: 'a reference', reference: 10 }, goal)

const cases: [name: string, goal: Goal, values: number[], good: boolean, best: number][] = [
  ['at most: met', { atMost: 100 }, [100], true, 100],
  ['at most: 1.3 times the goal is still good', { atMost: 100 }, [130], true, 130],
  ['at most: more than 1.3 times is bad', { atMost: 100 }, [130.1, 150, 131], false, 130.1],
  ['at most: the best of three counts', { atMost: 100 }, [200, 129, 300], true, 129],
  ['at most 0: nothing is allowed', { atMost: 0 }, [1, 1, 1], false, 1],
  ['at most 0: met', { atMost: 0 }, [0], true, 0],
  ['at least: met', { atLeast: 130 }, [130], true, 130],
  ['at least: the goal divided by 1.3 is still good', { atLeast: 130 }, [100], true, 100],
  ['at least: less than the goal divided by 1.3 is bad', { atLeast: 130 }, [99.9, 50, 98], false, 99.9],
  ['at least: the best of three counts', { atLeast: 130 }, [10, 20, 101], true, 101],
  ['ratio at most: the reference counts', { atMostTimes: 2 }, [26], true, 26],
  ['ratio at most: worse in all runs', { atMostTimes: 2 }, [27, 26.1, 30], false, 26.1],
  ['ratio at least: good', { atLeastTimes: 1.3 }, [10], true, 10],
  ['ratio at least: worse in all runs', { atLeastTimes: 1.3 }, [9.9, 9, 8], false, 9.9],
]
for (const [name, goal, values, good, best] of cases)
  test(name, () => {
    const runs = values.map(value => [measured(value, goal)])
    const [verdict, ...others] = verdictsOf(runs)
    assert.deepEqual(others, [])
    assert.deepEqual([verdict?.good, verdict?.best.value], [good, best])
    assert.equal(needsRun(runs), !good)
  })

test('figures of one run may be good in different runs', () => {
  const named = (name: string, value: number) => ({ ...measured(value, { atMost: 100 }), name })
  const first = [named('one', 90), named('other', 200)]
  assert.equal(needsRun([first]), true)
  assert.equal(needsRun([first, [named('one', 200), named('other', 90)]]), false)
})

test('a run without figures needs another, and figures of another run count', () => {
  assert.equal(needsRun([]), true)
  assert.equal(needsRun([[], []]), true)
  assert.equal(needsRun([[], [measured(1, { atMost: 2 })]]), false)
})

test('a value that is no number is bad, and any number is better', () => {
  for (const none of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const broken = JSON.parse(JSON.stringify(measured(none, { atMostTimes: 2 }))) as Figure
    assert.deepEqual(verdictsOf([[broken]])[0]?.good, false)
    assert.equal(verdictsOf([[broken], [measured(99, { atMostTimes: 2 })]])[0]?.best.value, 99)
    assert.equal(verdictsOf([[measured(99, { atMostTimes: 2 })], [broken]])[0]?.best.value, 99)
  }
})

const guarded: [name: string, figure: Figure, judged: boolean][] = [
  ['memory', measured(1, { atMost: 2 }, 'MiB'), true],
  ['a count', measured(1, { atMost: 2 }, 'requests'), true],
  ['a ratio of times', measured(1, { atMostTimes: 2 }, 'ms'), true],
  ['a rate against a reference', measured(1, { atLeastTimes: 2 }, '/s'), true],
  ['a limit in milliseconds, which depends on the machine', measured(1, { atMost: 2 }, 'ms'), false],
  ['a limit in seconds, which depends on the machine', measured(1, { atMost: 2 }, 's'), false],
  ['a figure without a goal', measured(1, { none: 'another has it' }), false],
]
for (const [name, one, judged] of guarded)
  test(`${judged ? 'guarded' : 'not guarded'}: ${name}`, () => assert.equal(isGuarded(one), judged))

test('each guarded benchmark exists and is no long one', () => {
  for (const bench of guardedBenches) assert.ok(benches.includes(bench) && !longBenches.includes(bench), bench)
})
