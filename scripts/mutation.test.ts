import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Mutant, type MutationReport, pageOf, scoresOf, withoutServers } from './mutation.ts'

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

test('tests that load the sandbox or a rig, directly or not, are left out', () => {
  const texts: Record<string, string> = {
    'src/x/a.test.ts': "import { a } from './plan.ts'",
    'src/x/b.test.ts': "import {\n  b,\n} from './x.fixture.ts'",
    'src/x/c.test.ts': "import { c } from '../../test/rigs/c.ts'",
    'src/x/d.test.ts': "import type { D } from './x.fixture.ts'",
    'src/x/x.fixture.ts': "import { e } from '../../sandbox/e.ts'",
  }
  const tests = Object.keys(texts).filter(path => path.endsWith('.test.ts'))
  assert.deepEqual(
    withoutServers(tests, path => texts[path] ?? ''),
    ['src/x/a.test.ts', 'src/x/d.test.ts'],
  )
})
