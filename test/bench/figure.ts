/**
 * One measured figure, what a bench is, and the rulers that several use.
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

/** The smallest value that so large a share of them does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
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

/** Real parts run in a world of their own: there the file is the program, and prints its figures with `say`. */
export function isolatedBench(file: string, within: number): Bench {
  return async report => {
    const heard: Buffer[] = []
    const output = (chunk: Buffer) => heard.push(chunk)
    const { code } = await runIsolated([process.execPath, file], { within, output })
    const said = Buffer.concat(heard).toString()
    for (const line of said.split('\n').filter(one => one.startsWith('{"name"'))) report(JSON.parse(line) as Figure)
    if (code !== 0) throw new Error(`the bench ${basename(file)} failed:\n${said}`)
  }
}

export function say(one: Figure): void {
  console.log(JSON.stringify(one))
}
