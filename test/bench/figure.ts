/**
 * One measured figure, what a bench is, and the rulers that several use.
 */
import { readFileSync } from 'node:fs'

export interface Figure {
  name: string
  value: number
  unit: string
  /** Measured in the same run, on the same machine, under the same load. */
  reference: number
  /** What the reference is. */
  against: string
  ratio: number
  goal?: { atMost: number }
}

export type Bench = (report: (figure: Figure) => void) => Promise<void>

export function figure(
  name: string,
  value: number,
  unit: string,
  { against, reference }: Pick<Figure, 'against' | 'reference'>,
  goal?: Figure['goal'],
): Figure {
  return { name, value, unit, reference, ratio: value / reference, against, ...(goal ? { goal } : {}) }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]]
  return (low + high) / 2
}

/** MiB of a process: its memory now (VmRSS), or the most it ever had (VmHWM). */
export function memoryOf(pid: number | undefined, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024
}

/** Seconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1_000
}
