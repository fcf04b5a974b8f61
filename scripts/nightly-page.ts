/**
 * The reference page of the last run of each part of `make nightly` (docs/reference/nightly.json, written by scripts/nightly.ts).
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NightlyPart } from './nightly-parts.ts'
import { type Language, readRuns, referencePages, table } from './reference.ts'
import { root } from './test-files.ts'
import { summary, type Totals } from './totals.ts'

const nightlyFile = 'docs/reference/nightly.json'

export interface NightlyRun extends Totals {
  part: string
  /** Date of the run. */
  on: string
  commit: string
  minutes: number
}

const texts: Record<Language, { title: string; text: string; columns: readonly string[]; notRun: string }> = {
  en: {
    title: 'Nightly tests',
    text: 'The last run of each part of `make nightly`. CI runs everything else.',
    columns: ['part', 'what it runs', 'result', 'minutes', 'commit', 'date'],
    notRun: 'not run yet',
  },
  ko: {
    title: '야간 테스트',
    text: '`make nightly`의 각 부분을 마지막으로 실행한 결과입니다. 나머지는 모두 CI가 실행합니다.',
    columns: ['부분', '실행하는 것', '결과', '분', '커밋', '날짜'],
    notRun: '아직 실행하지 않음',
  },
}

export function nightlyPages(
  parts: readonly NightlyPart[],
  runs: readonly NightlyRun[],
): [path: string, text: string][] {
  return referencePages('nightly', nightlyFile, texts, (language, { columns, notRun }) => {
    const rows = parts.map(({ name, text }) => {
      const run = runs.find(({ part }) => part === name)
      const result = run ? [summary(run), `${run.minutes}`, `\`${run.commit}\``, run.on] : [notRun, '', '', '']
      return [`\`${name}\``, text[language], ...result]
    })
    return table(columns, rows)
  })
}

export function readNightlyRuns(): NightlyRun[] {
  return readRuns(nightlyFile)
}

/** Replaces the last run of the part. */
export function storeNightlyRun(run: NightlyRun): void {
  const all = withRun(readNightlyRuns(), run)
  writeFileSync(join(root, nightlyFile), `${JSON.stringify(all, null, 2)}\n`)
}

export function withRun(runs: readonly NightlyRun[], run: NightlyRun): NightlyRun[] {
  return [...runs.filter(({ part }) => part !== run.part), run].sort((a, b) => a.part.localeCompare(b.part))
}
