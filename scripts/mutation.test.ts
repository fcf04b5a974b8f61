import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  linesOf,
  type Mutant,
  type MutationReport,
  pageOf,
  scoresOf,
  selectFiles,
  testsAgainst,
  withExceptions,
} from './mutation.ts'

const source = 'const a = b > 1\nif (\n  a\n) stop()\n'

function reportOf(...statuses: Mutant['status'][]): MutationReport {
  const location = { start: { line: 1, column: 11 }, end: { line: 1, column: 16 } }
  const mutants = statuses.map(status => ({ mutatorName: 'EqualityOperator', replacement: 'b >= 1', status, location }))
  return { files: { 'src/x.ts': { source, mutants } } }
}

test('the score counts what a test noticed, and leaves out what cannot run', () => {
  const report = reportOf('Killed', 'Timeout', 'Killed', 'Survived', 'RuntimeError', 'Ignored')
  assert.deepEqual(scoresOf(report), [{ file: 'src/x.ts', killed: 3, survived: 1, score: 75 }])
})

test('code that no test runs survives', () => {
  assert.deepEqual(scoresOf(reportOf('NoCoverage')), [{ file: 'src/x.ts', killed: 0, survived: 1, score: 0 }])
})

test('a file without mutants meets every goal', () => {
  assert.deepEqual(scoresOf(reportOf('Ignored')), [{ file: 'src/x.ts', killed: 0, survived: 0, score: 100 }])
})

test('the page has the replaced code of every survivor', () => {
  assert.equal(
    pageOf(reportOf('Killed', 'Survived', 'NoCoverage')),
    '## src/x.ts\n\n- 1:11 `b > 1` → `b >= 1`\n- 1:11 `b > 1` → `b >= 1` (no test runs this code)\n',
  )
  assert.equal(pageOf(reportOf('Killed')), '')
})

test('replaced code of several lines is one line of the page', () => {
  const location = { start: { line: 2, column: 1 }, end: { line: 4, column: 9 } }
  const mutants = [{ mutatorName: 'BlockStatement', replacement: '{}', status: 'Survived' as const, location }]
  assert.match(pageOf({ files: { 'src/x.ts': { source, mutants } } }), /^- 2:1 `if \( a \) stop\(\)` → `{}`$/m)
})

test('the page has the reason of every mutant that is explained', () => {
  const location = { start: { line: 1, column: 11 }, end: { line: 1, column: 16 } }
  const statusReason = 'b is never 1'
  const mutants = [{ mutatorName: 'EqualityOperator', replacement: 'b >= 1', status: 'Ignored' as const, location }]
  const report = { files: { 'src/x.ts': { source, mutants: mutants.map(one => ({ ...one, statusReason })) } } }
  assert.equal(pageOf(report), '## src/x.ts\n\n- 1:11 `b > 1` → `b >= 1` (explained: b is never 1)\n')
})

test('a survivor on the line or in the function of an exception is explained, what a test noticed is not', () => {
  const because = { file: 'src/x.ts', mutators: ['EqualityOperator'], reason: 'b is never 1' }
  const report = reportOf('Survived', 'NoCoverage', 'Killed')
  const statuses = (exceptions: Parameters<typeof withExceptions>[1]) =>
    withExceptions(report, exceptions).files['src/x.ts']?.mutants.map(({ status }) => status)
  const line = 'const a = b > 1'
  assert.deepEqual(statuses([{ ...because, line }]), ['Ignored', 'Ignored', 'Killed'])
  assert.match(pageOf(withExceptions(report, [{ ...because, line }])), /\(explained: b is never 1\)/)
  for (const other of [
    { ...because, line: 'a' },
    { ...because, line, file: 'src/y.ts' },
    { ...because, line, mutators: ['Regex'] },
  ])
    assert.deepEqual(statuses([other]), ['Survived', 'NoCoverage', 'Killed'])
})

test('an exception applies to its line wherever it is, or to all lines of its function', () => {
  const because = { file: 'src/x.ts', mutators: ['Regex'], reason: 'it is so' }
  const text = 'a()\nexport function f(): void {\n  a()\n}\nfunction fg() {\n}\n'
  assert.deepEqual(linesOf({ ...because, line: 'a()' }, text), [1, 3])
  assert.deepEqual(linesOf({ ...because, function: 'f' }, text), [2, 3, 4])
  assert.deepEqual(linesOf({ ...because, function: 'g' }, text), [])
})

test('a component, a folder or a file of it is selected', () => {
  const files = ['src/a/plan.ts', 'src/a/plan/x.ts', 'src/a/plan-limit.ts', 'src/ab/plan.ts']
  assert.deepEqual(selectFiles(files), files)
  assert.deepEqual(selectFiles(files, 'a'), files.slice(0, 3))
  assert.deepEqual(selectFiles(files, 'a/plan'), files.slice(0, 2))
  assert.deepEqual(selectFiles(files, 'b'), [])
})

test('of the selected files those that changed, or whose test changed, are mutated', () => {
  const files = ['src/a/plan.ts', 'src/a/status.ts', 'src/a/verdicts.ts', 'src/b/plan.ts']
  const changed = new Set(['src/a/plan.ts', 'src/a/verdicts.test.ts', 'src/a/status.fixture.ts', 'src/b/plan.ts', ''])
  assert.deepEqual(selectFiles(files, 'a', changed), ['src/a/plan.ts', 'src/a/verdicts.ts'])
  assert.deepEqual(selectFiles(files, '', new Set([''])), [])
})

test('of the tests that import a file, those that start no server and no process run, and the smallest first', () => {
  const plan = "import { a } from './plan.ts'"
  const texts: Record<string, string> = {
    'src/x/by-fixture.test.ts': "import {\n  f,\n} from './plan.fixture.ts'",
    'src/x/by-code.test.ts': "import { c } from './code.ts'",
    'src/x/sandbox.test.ts': `import { s } from './sandbox.fixture.ts'\n${plan}`,
    'src/x/rig.test.ts': `import { c } from '../../test/rigs/c.ts'\n${plan}`,
    'src/x/process.test.ts': `import { spawn } from 'node:child_process'\n${plan}`,
    'src/x/other.test.ts': "import { o } from './other.ts'",
    'src/x/types.test.ts': "import type { A } from './plan.ts'",
    'src/x/plan.test.ts': `import type { S } from './sandbox.fixture.ts'\n${plan}`,
    'src/x/plan.fixture.ts': plan,
    'src/x/sandbox.fixture.ts': "import { e } from '../../sandbox/e.ts'",
    'src/x/code.ts': plan,
  }
  const tests = Object.keys(texts).filter(path => path.endsWith('.test.ts'))
  assert.deepEqual(
    testsAgainst(['src/x/plan.ts'], tests, path => texts[path] ?? ''),
    ['src/x/plan.test.ts', 'src/x/by-fixture.test.ts'],
  )
})
