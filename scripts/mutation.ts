/**
 * The files that are mutated, the tests that run against them, the exceptions, and scores and the page of survivors from a
 * report in the schema of mutation testing tools.
 */
import { filesLoadedBy } from './test-files.ts'

export interface MutationReport {
  files: Readonly<Record<string, { source: string; mutants: readonly Mutant[] }>>
}

export interface Mutant {
  mutatorName: string
  replacement?: string
  /** Of an ignored mutant: why it changes nothing that a test could notice. */
  statusReason?: string
  status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'CompileError' | 'RuntimeError' | 'Ignored' | 'Pending'
  /** Counted from 1. */
  location: Record<'start' | 'end', { line: number; column: number }>
}

export interface MutationScore {
  file: string
  killed: number
  survived: number
  /** Percent of the mutants that a test noticed. */
  score: number
}

/** A test that runs into its time limit noticed the change. Mutants that cannot run say nothing. */
const noticed = new Set<Mutant['status']>(['Killed', 'Timeout'])
const missed = new Set<Mutant['status']>(['Survived', 'NoCoverage'])

export function scoresOf({ files }: MutationReport): MutationScore[] {
  return Object.entries(files).map(([file, { mutants }]) => {
    const killed = mutants.filter(({ status }) => noticed.has(status)).length
    const survived = mutants.filter(({ status }) => missed.has(status)).length
    return { file, killed, survived, score: killed + survived === 0 ? 100 : (100 * killed) / (killed + survived) }
  })
}

/** Mutants that no test can notice, of one line or of a whole function (test/mutation/exceptions.json). */
export type MutationException = {
  file: string
  mutators: readonly string[]
  reason: string
} & ({ line: string; function?: never } | { function: string; line?: never })

/** Survivors with an exception become ignored. */
export function withExceptions(report: MutationReport, exceptions: readonly MutationException[]): MutationReport {
  const files = Object.entries(report.files).map(([file, { source, mutants }]) => {
    const own = exceptions
      .filter(exception => exception.file === file)
      .map(exception => ({ ...exception, lines: linesOf(exception, source) }))
    const explained = mutants.map((mutant): Mutant => {
      const exception = own.find(
        ({ lines, mutators }) =>
          lines.includes(mutant.location.start.line) &&
          mutators.includes(mutant.mutatorName) &&
          missed.has(mutant.status),
      )
      return exception ? { ...mutant, status: 'Ignored', statusReason: exception.reason } : mutant
    })
    return [file, { source, mutants: explained }] as const
  })
  return { files: Object.fromEntries(files) }
}

/** The lines of an exception, counted from 1. A line is known by its text without the indentation, a function by its name. */
export function linesOf(exception: MutationException, source: string): number[] {
  const lines = source.split('\n')
  if (exception.line !== undefined)
    return lines.flatMap((line, index) => (line.trim() === exception.line ? [index + 1] : []))
  const from = lines.findIndex(line => new RegExp(`^(export )?function ${exception.function}\\b`).test(line))
  if (from < 0) return []
  const length = lines.slice(from).indexOf('}') + 1
  return Array.from({ length }, (_, index) => from + index + 1)
}

/** Markdown: each survivor with its line and the replaced code, and each ignored mutant with its reason. Empty without them. */
export function pageOf({ files }: MutationReport): string {
  return Object.entries(files)
    .map(([file, { source, mutants }]) => {
      const lines = mutants
        .filter(({ status }) => missed.has(status) || status === 'Ignored')
        .map(mutant => lineOf(mutant, source))
      return lines.length > 0 ? `## ${file}\n\n${lines.join('\n')}\n` : ''
    })
    .filter(Boolean)
    .join('\n')
}

function lineOf(mutant: Mutant, source: string): string {
  const { start, end } = mutant.location
  const lines = source.split('\n').slice(start.line - 1, end.line)
  const last = lines.length - 1
  lines[last] = lines[last]?.slice(0, end.column - 1) ?? ''
  lines[0] = lines[0]?.slice(start.column - 1) ?? ''
  const code = (text: string) => `\`${text.replace(/\s+/g, ' ').replaceAll('`', "'")}\``
  const note =
    mutant.status === 'NoCoverage'
      ? ' (no test runs this code)'
      : mutant.status === 'Ignored'
        ? ` (explained: ${mutant.statusReason})`
        : ''
  return `- ${start.line}:${start.column} ${code(lines.join('\n'))} → ${code(mutant.replacement ?? '')}${note}`
}

/** `only` is a component, or a file or folder of one. With `changed`: those that changed, or whose own test did. */
export function selectFiles(files: readonly string[], only = '', changed?: ReadonlySet<string>): string[] {
  const selected = files.filter(file => !only || file === `src/${only}.ts` || file.startsWith(`src/${only}/`))
  return changed ? selected.filter(file => changed.has(file) || changed.has(testOf(file))) : selected
}

function testOf(file: string): string {
  return file.replace(/\.ts$/, '.test.ts')
}

/**
 * The tests that import one of the files, themselves or by their fixtures; those with the fewest imports first, because the
 * first one that fails ends a run. Tests that start servers or processes are left out: thousands of runs would take hours.
 */
export function testsAgainst(
  files: readonly string[],
  tests: readonly string[],
  read: (file: string) => string,
): string[] {
  const isTestCode = (file: string) => !file.startsWith('src/') || /\.(test|fixture)\.ts$/.test(file)
  const startsMuch = (file: string) => /^(sandbox|web|test\/rigs)\//.test(file)
  const startsProcess = (test: string) => /from 'node:child_process'/.test(read(test))
  return tests
    .map(test => ({ test, imported: filesLoadedBy(test, read, isTestCode) }))
    .filter(({ test, imported }) => !startsProcess(test) && !imported.some(startsMuch))
    .filter(({ imported }) => imported.some(file => files.includes(file)))
    .sort((a, b) => a.imported.length - b.imported.length)
    .map(({ test }) => test)
}
