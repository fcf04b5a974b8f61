import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { quick, runTests, type Selection } from './run-tests.ts'

let dir = ''
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'run-tests-'))
})
after(() => rm(dir, { recursive: true }))

const header = "import { test } from 'node:test'\n"
const files: Record<string, string> = {
  'good.test.ts': "test('one', () => {}); test('two', async t => { await t.test('inner', () => {}) })",
  'bad.test.ts': "test('good', () => {}); test('bad', () => { throw new Error('no') })",
  'skipped.test.ts': "test('skipped', { skip: true }, () => {}); test('good', () => {})",
  'late.test.ts': "test('good', () => {}); process.once('exit', () => { process.exitCode = 3 })",
  'dead.test.ts': "test('dies', () => { process.kill(process.pid, 'SIGKILL') })",
  'broken.test.ts': 'not a program',
  'pending.test.ts': "test('never', () => new Promise(() => {}))",
  'open.test.ts':
    "import { mkdtempSync } from 'node:fs'; import { tmpdir } from 'node:os'; mkdtempSync(tmpdir() + '/litter-'); setInterval(() => {}, 100); test('good', () => {})",
}

const cases: Record<string, [file: string[], totals: string, selection?: Selection]> = {
  'subtests count too': [['good.test.ts'], '3 0 0'],
  'the total of several files is the sum of each': [
    ['good.test.ts', 'bad.test.ts', 'good.test.ts', 'bad.test.ts', 'skipped.test.ts', 'good.test.ts'],
    '12 2 1',
  ],
  'a pattern selects tests by name': [['bad.test.ts'], '1 0 0', { only: '^good' }],
  'a pattern leaves out tests by name': [['bad.test.ts'], '1 0 0', { except: '^bad' }],
  'a file in which no test ran is a failure': [['good.test.ts'], '0 1 0', { only: '^three' }],
  'a process that fails although its tests pass is a failure': [['late.test.ts'], '1 1 0'],
  'a process that dies is a failure': [['dead.test.ts'], '0 1 0'],
  'a file with a syntax error is a failure': [['broken.test.ts'], '0 1 0'],
  'a test that never ends is a failure': [['pending.test.ts'], '0 1 0'],
  'a file that leaves a handle open is killed and is a failure': [['open.test.ts'], '0 1 0'],
}

for (const [name, [chosen, expected, selection]] of Object.entries(cases)) {
  test(name, async () => {
    for (const [file, text] of Object.entries(files)) await writeFile(join(dir, file), header + text)
    const paths = chosen.map(file => join(dir, file))
    const { passed, failed, skipped } = await runTests(paths, {
      ...quick,
      testTimeout: 1_000,
      fileTimeout: 3_000,
      print: () => {},
      ...(selection && { selections: Object.fromEntries(paths.map(path => [path, selection])) }),
    })
    assert.equal(`${passed} ${failed} ${skipped}`, expected)
    assert.deepEqual(
      (await readdir(tmpdir())).filter(name => name.startsWith('litter-')),
      [],
    )
  })
}

test('a file that is killed prints what it left open', async () => {
  const file = join(dir, 'listening.test.ts')
  const server =
    "import { createServer } from 'node:net'; createServer().listen(0, '127.0.0.1'); test('good', () => {})"
  await writeFile(file, header + server)
  const lines: string[] = []
  await runTests([file], { ...quick, fileTimeout: 10_000, print: line => lines.push(line) })
  assert.match(lines.join('\n'), /open after \d+ s: .*1 TCPServerWrap\n {2}tcp 127\.0\.0\.1:\d+ → -\n/)
})

test('the end of the output names each failed test with its message', async () => {
  const file = join(dir, 'wrong.test.ts')
  await writeFile(file, `${header}test('wrong', () => { throw new Error('first\\nsecond') }); test('good', () => {})`)
  const lines: string[] = []
  await runTests([file], { ...quick, print: line => lines.push(line) })
  assert.equal(lines.at(-1), `\nfailed:\n  ${file}\n    wrong: first\n    second`)
})
