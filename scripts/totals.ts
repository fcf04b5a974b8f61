/**
 * How many tests passed, failed and were skipped: from the test processes to the scripts, and from these to CI.
 *
 * As a reporter of node:test, this file writes one line of JSON. A script appends its sum to the file in TEST_TOTALS.
 */
import { appendFile, readFile } from 'node:fs/promises'
import type { TestEvent } from 'node:test/reporters'
import { environment } from '../src/runtime/env.ts'

export interface Totals {
  passed: number
  failed: number
  /** Tests that skipped themselves, and files that could not run here. */
  skipped: number
}

/** Of one test process. */
export interface Report extends Totals {
  /** Each failed test with the start of its message. */
  failures?: string[]
}

export const none: Totals = { passed: 0, failed: 0, skipped: 0 }

export function plus(a: Totals, b: Totals): Totals {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }
}

/** A process that fails without a failed test (unhandled error, open handle) counts as one failure. */
export function failedAtLeast<T extends Totals>(counted: T, failed: boolean): T {
  return failed && counted.failed === 0 ? { ...counted, failed: 1 } : counted
}

export function summary({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/** The arguments that make `node --test` print a report to stdout and write its totals to a file. */
export function reporters(file: string): string[] {
  return [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[`--test-reporter=${import.meta.filename}`, `--test-reporter-destination=${file}`],
  ]
}

/** The totals of a test process; a process that wrote none has failed. */
export async function totalsOf(file: string): Promise<Report> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text === '' ? { ...none, failed: 1 } : (JSON.parse(text) as Report)
}

/** Prints the totals, passes them to CI, and sets the exit code: 1 if a test failed or none ran. */
export async function finish(totals: Totals): Promise<void> {
  const file = environment()['TEST_TOTALS']
  if (file) await appendFile(file, `${JSON.stringify(totals)}\n`)
  console.log(summary(totals))
  if (totals.passed + totals.failed === 0) console.log('no test ran')
  process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0
}

/** node:test loads the default export as a reporter. */
export default async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let totals: Totals | undefined
  const failures: string[] = []
  for await (const event of events) {
    if (event.type === 'test:fail') failures.push(`${event.data.name}: ${startOf(event.data.details.error)}`)
    if (event.type !== 'test:summary') continue
    const { tests, passed, skipped, todo } = event.data.counts
    // The last summary is the sum of all files.
    totals = { passed, failed: tests - passed - skipped - todo, skipped: skipped + todo }
  }
  if (totals) yield JSON.stringify({ ...totals, failures } satisfies Report)
}

/** Enough to know what failed from the end of a long log. */
const shown = { lines: 12, characters: 400 }

function startOf({ message, cause }: Error): string {
  const text = cause instanceof Error ? cause.message : message
  const lines = text.split('\n').slice(0, shown.lines)
  return lines.map(line => line.slice(0, shown.characters)).join('\n')
}
