/**
 * The reference page and the plots of the last benchmark run (docs/reference/figures.json, written by scripts/figures.ts).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Figure, type Goal, meetsGoal } from '../test/bench/figure.ts'
import { plotOf, shown } from './plot.ts'
import { type Language, referencePages, table } from './reference.ts'

export const figuresFile = 'docs/reference/figures.json'

/** The last run of one benchmark. */
export interface Measured {
  /** Date of the run. */
  on: string
  commit: string
  /** Load average at the start. */
  load: number
  figures: Figure[]
}

export interface Figures {
  machine: { cores: number; memoryGiB: number; architecture: string; kernel: string; node: string }
  benches: Record<string, Measured>
}

export function readFigures(): Figures | undefined {
  try {
    return JSON.parse(readFileSync(join(import.meta.dirname, '..', figuresFile), 'utf8')) as Figures
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Texts by path. */
export function figureFiles(figures: Figures): Map<string, string> {
  return new Map([
    ...referencePages('figures', figuresFile, texts, (_, own) => bodyOf(figures, own)),
    ...plots(figures),
  ])
}

interface Texts {
  title: string
  text: string
  machine: (machine: Figures['machine']) => string
  run: (run: Measured) => string
  columns: readonly string[]
  goals: GoalTexts
}

interface GoalTexts {
  met: string
  missed: string
  none: string
}

const texts: Record<Language, Texts> = {
  en: {
    title: 'Figures',
    text: 'Results of the last `make bench ALL=1`. [Benchmarks](../guides/measured.md) explains what they mean.',
    machine: ({ cores, memoryGiB, architecture, kernel, node }) =>
      `Machine: ${cores} cores (${architecture}), ${memoryGiB} GiB, Linux ${kernel}, Node ${node}.`,
    run: ({ on, commit, load }) => `${on}, commit \`${commit}\`, load ${load.toFixed(1)} at the start.`,
    columns: ['figure', 'value', 'reference', 'ratio', 'goal'],
    goals: { met: 'met', missed: '**missed**', none: 'none' },
  },
  ko: {
    title: '측정 수치',
    text: '마지막 `make bench ALL=1`의 결과입니다. 수치의 뜻은 [벤치마크](../guides/measured.ko.md)를 보십시오.',
    machine: ({ cores, memoryGiB, architecture, kernel, node }) =>
      `머신: 코어 ${cores}개(${architecture}), ${memoryGiB} GiB, Linux ${kernel}, Node ${node}.`,
    run: ({ on, commit, load }) => `${on}, 커밋 \`${commit}\`, 시작할 때의 부하 ${load.toFixed(1)}.`,
    columns: ['수치', '값', '기준값', '비율', '목표'],
    goals: { met: '달성', missed: '**미달**', none: '없음' },
  },
}

function bodyOf({ machine, benches }: Figures, { columns, goals, run: runText, machine: machineText }: Texts): string {
  const sections = Object.entries(benches).map(
    ([bench, run]) =>
      `## ${bench}\n\n${runText(run)}\n\n${table(
        columns,
        run.figures.map(figure => rowOf(figure, goals)),
      )}`,
  )
  return [`${machineText(machine)}\n`, ...sections].join('\n')
}

function rowOf(figure: Figure, goals: GoalTexts): string[] {
  const { name, value, unit, against, reference, ratio } = figure
  return [
    `\`${name}\``,
    `${shown(value)} ${unit}`,
    `${against}: ${shown(reference)} ${unit}`,
    shown(ratio),
    goalText(figure, goals),
  ]
}

/** The limit with the outcome, or why there is none. */
export function goalText(figure: Figure, { met, missed, none }: GoalTexts): string {
  const { goal, unit } = figure
  if ('none' in goal) return `${none}: ${goal.none}`
  return `${limitText(goal, unit)}, ${meetsGoal(figure) ? met : missed}`
}

function limitText(goal: Exclude<Goal, { none: string }>, unit: string): string {
  if ('atMost' in goal) return `≤ ${shown(goal.atMost)} ${unit}`
  if ('atLeast' in goal) return `≥ ${shown(goal.atLeast)} ${unit}`
  return 'atMostTimes' in goal ? `≤ ${shown(goal.atMostTimes)}×` : `≥ ${shown(goal.atLeastTimes)}×`
}

const measures = { seconds: ['Time', 'seconds'], calls: ['Calls', 'calls'], mib: ['Memory', 'MiB'] } as const
const growthName = /^growth\.(\w+)_(seconds|calls|mib)_(\d+)$/

function plots({ benches }: Figures): [string, string][] {
  const grown = (benches['growth']?.figures ?? []).flatMap(({ name, value }) => {
    const [, component = '', measure = '', size] = growthName.exec(name) ?? []
    return size === undefined ? [] : [{ component, measure, point: [Number(size), value] as const }]
  })
  if (grown.length === 0) return []
  return Object.entries(measures).map(([measure, [title, unit]]) => {
    const own = grown.filter(entry => entry.measure === measure)
    const lines = [...Map.groupBy(own, entry => entry.component)].map(([name, entries]) => ({
      name,
      points: entries.map(entry => entry.point),
    }))
    return [`docs/images/growth-${measure}.svg`, plotOf({ title: `${title} by size of the fleet`, unit, lines })]
  })
}
