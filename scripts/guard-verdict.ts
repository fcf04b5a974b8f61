/**
 * Which figures `make guard` judges, and how: the best of up to three runs, with 30 % more than the goal for noise.
 */
import { type Figure, meetsGoal } from '../test/bench/figure.ts'

/** Benchmarks of about a minute. */
export const guardedBenches: readonly string[] = ['agent', 'controller', 'inventory', 'operator', 'viola', 'web']
export const maxRuns = 3
export const slack = 1.3

export interface Verdict {
  good: boolean
  /** The run that is closest to the goal. */
  best: Figure
}

/** Ratios, memory, sizes and counts. A limit in seconds depends on the machine: it is published, not guarded. */
export function isGuarded({ unit, goal }: Figure): boolean {
  if ('none' in goal) return false
  return 'atMostTimes' in goal || 'atLeastTimes' in goal || !/^(ms|s|\/s|requests\/s)$/.test(unit)
}

/** One verdict per guarded figure of any run. */
export function verdictsOf(runs: readonly (readonly Figure[])[]): Verdict[] {
  const byName = Map.groupBy(runs.flat().filter(isGuarded), ({ name }) => name)
  return [...byName.values()].map(figures => ({
    good: figures.some(figure => meetsGoal(figure, slack)),
    best: figures.reduce((best, figure) => (isBetter(figure, best) ? figure : best)),
  }))
}

/** Another run is needed: none gave figures, or one of them was never good. */
export function needsRun(runs: readonly (readonly Figure[])[]): boolean {
  const verdicts = verdictsOf(runs)
  return verdicts.length === 0 || verdicts.some(({ good }) => !good)
}

function isBetter(one: Figure, other: Figure): boolean {
  const { goal } = one
  const [a, b] = 'atMost' in goal || 'atLeast' in goal ? [one.value, other.value] : [one.ratio, other.ratio]
  if (!Number.isFinite(a) || !Number.isFinite(b)) return Number.isFinite(a)
  return 'atLeast' in goal || 'atLeastTimes' in goal ? a > b : a < b
}
