/**
 * A figure, a benchmark, and common measurements.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { runIsolated } from '../rigs/isolation.ts'

export interface Figure {
  name: string
  value: number
  unit: string
  /** Measured in the same run, on the same machine, under the same load. */
  reference: number
  /** Name of the reference. */
  against: string
  ratio: number
  goal: Goal
}

/** A limit of the value, or of its ratio to the reference (times). A figure without a limit says why it has none. */
export type Goal =
  | { atMost: number }
  | { atLeast: number }
  | { atMostTimes: number }
  | { atLeastTimes: number }
  | { none: string }

export type Bench = (report: (figure: Figure) => void) => Promise<void>

export function figure(
  name: string,
  value: number,
  unit: string,
  { against, reference }: Pick<Figure, 'against' | 'reference'>,
  goal: Goal,
): Figure {
  return { name, value, unit, reference, ratio: value / reference, against, goal }
}

/**
 * Undefined without a goal. A limit may be exceeded by the factor `slack`. What is no number, or was none before it became
 * JSON (null), meets no goal.
 */
export function meetsGoal({ value, ratio, goal }: Figure, slack = 1): boolean | undefined {
  if ('none' in goal) return undefined
  if ('atMost' in goal) return Number.isFinite(value) && value <= goal.atMost * slack
  if ('atLeast' in goal) return Number.isFinite(value) && value >= goal.atLeast / slack
  if ('atMostTimes' in goal) return Number.isFinite(ratio) && ratio <= goal.atMostTimes * slack
  return Number.isFinite(ratio) && ratio >= goal.atLeastTimes / slack
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]]
  return (low + high) / 2
}

/** The smallest value that at least this share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
}

/** Growth with the size as a power: 1 is proportional, 0 is constant. The slope of the line through the logarithms. */
export function exponentOf(points: readonly (readonly [size: number, value: number])[]): number {
  const logarithms = points.map(([size, value]) => [Math.log(size), Math.log(value)] as const)
  const mean = (of: 0 | 1) => logarithms.reduce((sum, point) => sum + point[of], 0) / logarithms.length
  const [x, y] = [mean(0), mean(1)]
  const slope = (from: (point: readonly [number, number]) => number) =>
    logarithms.reduce((sum, point) => sum + (point[0] - x) * from(point), 0)
  return slope(point => point[1] - y) / slope(point => point[0] - x)
}

/** Memory of a process in MiB: now (VmRSS), its peak (VmHWM), or now without files such as the Node binary (RssAnon). */
export function memoryOf(pid: number | undefined, field: 'VmRSS' | 'VmHWM' | 'RssAnon' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024
}

/** Duration in seconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1_000
}

/** Runs a benchmark with real servers in its own namespaces. The file is the program there and uses `printFigure`. */
export function isolatedBench(file: string, within: number): Bench {
  return async report => {
    const chunks: Buffer[] = []
    const output = (chunk: Buffer) => chunks.push(chunk)
    const { code } = await runIsolated([process.execPath, file], { within, output })
    const printed = Buffer.concat(chunks).toString()
    for (const line of printed.split('\n').filter(text => text.startsWith('{"name"')))
      report(JSON.parse(line) as Figure)
    if (code !== 0) throw new Error(`benchmark ${basename(file)} failed:\n${printed}`)
  }
}

export function printFigure(measured: Figure): void {
  console.log(JSON.stringify(measured))
}
