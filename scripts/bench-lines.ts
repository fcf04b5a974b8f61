/**
 * The results of `make bench`: one JSON object per figure in dist/bench.jsonl. A benchmark that runs again replaces its lines.
 */
import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Figure } from '../test/bench/figure.ts'
import { root } from './test-files.ts'

export const benchFile = 'dist/bench.jsonl'

/** The figure, its benchmark, the time, the load average at the start of the benchmark, and the commit. */
export type BenchLine = Figure & { bench: string; at: string; load: number; commit: string }

/** Files in test/bench that are no benchmarks. */
const shared = ['component', 'figure', 'stubbed-operator']

export const benches: readonly string[] = globSync('test/bench/*.ts', { cwd: root })
  .map(path => basename(path, '.ts'))
  .filter(name => !name.endsWith('.test') && !shared.includes(name))
  .sort()

/** They take many minutes. Without ALL=1 they run only by their name. */
export const longBenches: readonly string[] = ['fleet', 'growth', 'inventory-postgres']

const [changed, unknown] = ['-changed', 'unknown']

/** Files with stored results: a result does not change what the next measurement measures. */
const results = ':(exclude)docs/reference/*.json'

/** The commit of the working tree, marked if files differ from it. Unknown in a directory that is no repository. */
export function currentCommit(dir = root): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const isChanged = git('status', '--porcelain', '--untracked-files=no', '--', '.', results) !== ''
    return `${git('rev-parse', '--short=8', 'HEAD')}${isChanged ? changed : ''}`
  } catch {
    return unknown
  }
}

export function readBenchLines(file: string): BenchLine[] {
  return textOf(file)
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as BenchLine)
}

/** Replaces the lines of one benchmark; none if it failed. */
export function storeBench(file: string, bench: string, lines: readonly BenchLine[]): void {
  const others = readBenchLines(file).filter(line => line.bench !== bench)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, [...others, ...lines].map(line => `${JSON.stringify(line)}\n`).join(''))
}

/** Why these lines are not the complete figures of one commit. */
export function problemsOf(lines: readonly BenchLine[], expected: readonly string[] = benches): string[] {
  const measured = Map.groupBy(lines, ({ bench }) => bench)
  const missing = expected.filter(bench => !measured.has(bench)).map(bench => `${bench}: has no figures`)
  const removed = [...measured.keys()]
    .filter(bench => !expected.includes(bench))
    .map(bench => `${bench}: no such benchmark`)
  const commits = Map.groupBy(lines, ({ commit }) => commit ?? unknown)
  const namesOf = (own: readonly BenchLine[]) => [...new Set(own.map(({ bench }) => bench))].join(', ')
  const mixed = [...commits].map(([commit, own]) => `commit ${commit}: ${namesOf(own)}`)
  const edited = [...commits.keys()].filter(commit => commit.endsWith(changed) || commit === unknown)
  const noGoal = lines
    .filter(({ goal }) => !goal)
    .map(({ name }) => `${name}: has neither a goal nor a reason for none`)
  return [
    ...missing,
    ...removed,
    ...(commits.size > 1 ? ['the figures are of several commits', ...mixed] : []),
    ...edited.map(commit => `commit ${commit}: measure a commit without changed files`),
    ...noGoal,
  ]
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
