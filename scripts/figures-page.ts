/**
 * The page and the plots of the figures that were measured last (docs/reference/figures.json, kept by scripts/figures.ts).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Figure } from '../test/bench/figure.ts'
import { plotOf, shown } from './plot.ts'

export const figuresFile = 'docs/reference/figures.json'
/** Where `make bench` writes, one JSON object a line. */
export const benchFile = 'dist/bench.jsonl'

/** A line of it: the figure, whose it is, when it was measured and how busy the machine was as the bench began. */
export type Told = Figure & { bench: string; at: string; load: number }

/** One bench's last run. */
export interface Measured {
  /** The day. */
  on: string
  commit: string
  /** Of the machine when it began: processes that wanted a core. */
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

/** By path. */
export function figureFiles(figures: Figures): Map<string, string> {
  return new Map([['docs/reference/figures.md', pageOf(figures)], ...plots(figures)])
}

function pageOf({ machine, benches }: Figures): string {
  const { cores, memoryGiB, architecture, kernel, node } = machine
  return [
    '<!-- Made by `make generate` from docs/reference/figures.json. Do not edit. -->',
    '# Figures',
    '',
    'What `make bench` measured last. [How it was measured](../guides/measured.md) tells what each means.',
    '',
    `The machine: ${cores} cores (${architecture}), ${memoryGiB} GiB, Linux ${kernel}, Node ${node}.`,
    '',
    ...Object.entries(benches).flatMap(([bench, { on, commit, load, figures }]) => [
      `## ${bench}`,
      '',
      `${on}, commit \`${commit}\`, load ${load.toFixed(1)} at the start.`,
      '',
      '| figure | value | reference | ratio | goal |',
      '|---|---|---|---|---|',
      ...figures.map(rowOf),
      '',
    ]),
  ].join('\n')
}

function rowOf({ name, value, unit, against, reference, ratio, goal }: Figure): string {
  const meets = goal && (value <= goal.atMost ? 'met' : '**missed**')
  const cells = [
    `\`${name}\``,
    `${shown(value)} ${unit}`,
    `${against}: ${shown(reference)} ${unit}`,
    shown(ratio),
    goal ? `≤ ${shown(goal.atMost)} ${unit}, ${meets}` : '',
  ]
  return `| ${cells.join(' | ')} |`
}

const measures = { seconds: ['Time', 'seconds'], calls: ['Calls', 'calls'], mib: ['Memory', 'MiB'] } as const
const growthName = /^growth\.(\w+)_(seconds|calls|mib)_(\d+)$/

function plots({ benches }: Figures): [string, string][] {
  const grown = (benches['growth']?.figures ?? []).flatMap(({ name, value }) => {
    const [, part = '', measure = '', size] = growthName.exec(name) ?? []
    return size === undefined ? [] : [{ part, measure, point: [Number(size), value] as const }]
  })
  if (grown.length === 0) return []
  return Object.entries(measures).map(([measure, [title, unit]]) => {
    const own = grown.filter(each => each.measure === measure)
    const lines = [...Map.groupBy(own, each => each.part)].map(([name, entries]) => ({
      name,
      points: entries.map(each => each.point),
    }))
    return [`docs/images/growth-${measure}.svg`, plotOf({ title: `${title} by size of the fleet`, unit, lines })]
  })
}
