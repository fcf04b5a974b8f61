/** Which figures `make figures` accepts, and how `make bench` stores them. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import {
  type BenchLine,
  benches,
  currentCommit,
  longBenches,
  problemsOf,
  readBenchLines,
  storeBench,
} from './bench-lines.ts'
import { root } from './test-files.ts'

const dir = mkdtempSync(join(tmpdir(), 'multinic-bench-lines-'))
after(() => rmSync(dir, { recursive: true, force: true }))

function aLine(bench: string, more: Partial<BenchLine> = {}): BenchLine {
  return {
    ...{ bench, at: '2026-01-02T03:04:05.000Z', load: 0.5, commit: 'abc12345' },
    ...{ name: `${bench}.wall`, value: 1, unit: 's', reference: 2, against: 'a bare client', ratio: 0.5 },
    ...{ goal: { atMost: 1 }, ...more },
  }
}

test('every benchmark is expected, also the long ones', () => {
  for (const bench of ['agent', 'viola', 'web', 'biz', 'walk', ...longBenches])
    assert.ok(benches.includes(bench), bench)
  assert.deepEqual(problemsOf(benches.map(bench => aLine(bench))), [])
  for (const bench of benches)
    assert.deepEqual(problemsOf(benches.filter(other => other !== bench).map(other => aLine(other))), [
      `${bench}: has no figures`,
    ])
})

test('the guide says of every benchmark what it measures, in both languages', () => {
  for (const page of ['measured.md', 'measured.ko.md']) {
    const rows = readFileSync(join(root, 'docs/guides', page), 'utf8')
      .split('\n')
      .filter(line => line.startsWith('| `'))
      .map(line => line.split('|')[1] ?? '')
      .join()
    for (const bench of benches) assert.ok(rows.includes(`\`${bench}\``), `${page}: ${bench}`)
  }
})

const refused: [why: string, lines: BenchLine[], problems: string[]][] = [
  ['no figures', [], ['agent: has no figures', 'viola: has no figures']],
  [
    'two commits',
    [aLine('agent'), aLine('viola', { commit: 'def67890' })],
    ['the figures are of several commits', 'commit abc12345: agent', 'commit def67890: viola'],
  ],
  [
    'two commits in one benchmark',
    [aLine('agent'), aLine('agent', { commit: 'def67890' }), aLine('viola')],
    ['the figures are of several commits', 'commit abc12345: agent, viola', 'commit def67890: agent'],
  ],
  [
    'changed files',
    [aLine('agent', { commit: 'abc12345-changed' }), aLine('viola', { commit: 'abc12345-changed' })],
    ['commit abc12345-changed: measure a commit without changed files'],
  ],
  ['a benchmark that was removed', [aLine('agent'), aLine('viola'), aLine('old')], ['old: no such benchmark']],
]
for (const [why, lines, problems] of refused)
  test(`refused: ${why}`, () => assert.deepEqual(problemsOf(lines, ['agent', 'viola']), problems))

test('refused: lines of an older version, without commit and goal', () => {
  const { commit: _, goal: __, ...older } = aLine('agent')
  assert.deepEqual(problemsOf([older as BenchLine], ['agent']), [
    'commit unknown: measure a commit without changed files',
    'agent.wall: has neither a goal nor a reason for none',
  ])
})

test('a benchmark that runs again replaces its figures, and one that failed has none', () => {
  const file = join(dir, 'new/bench.jsonl')
  assert.deepEqual(readBenchLines(file), [])
  storeBench(file, 'agent', [aLine('agent'), aLine('agent', { name: 'agent.cpu' })])
  storeBench(file, 'viola', [aLine('viola')])
  storeBench(file, 'agent', [aLine('agent', { value: 7 })])
  assert.deepEqual(readBenchLines(file), [aLine('viola'), aLine('agent', { value: 7 })])
  storeBench(file, 'viola', [])
  assert.deepEqual(readBenchLines(file), [aLine('agent', { value: 7 })])
})

test('the commit is marked while a file differs from it, and unknown without a repository', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd: dir })
  assert.equal(currentCommit(dir), 'unknown')
  git('init', '--quiet')
  const result = join(dir, 'docs/reference/nightly.json')
  mkdirSync(dirname(result), { recursive: true })
  for (const file of [join(dir, 'file'), result]) writeFileSync(file, '1')
  git('add', '.')
  git('commit', '--quiet', '--message', 'first')
  assert.match(currentCommit(dir), /^[0-9a-f]{8}$/)
  writeFileSync(result, '2')
  assert.match(currentCommit(dir), /^[0-9a-f]{8}$/, 'a stored result')
  writeFileSync(join(dir, 'file'), '2')
  assert.match(currentCommit(dir), /^[0-9a-f]{8}-changed$/)
})
