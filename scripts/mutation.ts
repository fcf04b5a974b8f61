/**
 * The tests that run against mutants, scores and the page of survivors, from a report in the schema of mutation testing tools.
 */
import { filesLoadedBy } from './test-files.ts'

export interface MutationReport {
  files: Readonly<Record<string, { source: string; mutants: readonly Mutant[] }>>
}

export interface Mutant {
  mutatorName: string
  replacement?: string
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

/** Markdown: each survivor with its line and the replaced code. Empty without survivors. */
export function pageOf({ files }: MutationReport): string {
  return Object.entries(files)
    .map(([file, { source, mutants }]) => {
      const lines = mutants.filter(({ status }) => missed.has(status)).map(mutant => lineOf(mutant, source))
      return lines.length > 0 ? `## ${file}\n\n${lines.join('\n')}\n` : ''
    })
    .filter(Boolean)
    .join('\n')
}

function lineOf({ location: { start, end }, status, replacement = '' }: Mutant, source: string): string {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  const last = lines.length - 1
  lines[last] = lines[last]?.slice(0, end.column - 1) ?? ''
  lines[0] = lines[0]?.slice(start.column - 1) ?? ''
  const code = (text: string) => `\`${text.replace(/\s+/g, ' ').replaceAll('`', "'")}\``
  const untested = status === 'NoCoverage' ? ' (no test runs this code)' : ''
  return `- ${start.line}:${start.column} ${code(lines.join('\n'))} → ${code(replacement)}${untested}`
}

/** The test files that load nothing of the sandbox and of the rigs, which start servers: thousands of runs would take hours. */
export function withoutServers(tests: readonly string[], read: (file: string) => string): string[] {
  return tests.filter(test => !filesLoadedBy(test, read).some(file => /^(sandbox|test\/rigs)\//.test(file)))
}
