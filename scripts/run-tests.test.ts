import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { quick, runTests } from './run-tests.ts'

let dir = ''
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'run-tests-'))
})
after(() => rm(dir, { recursive: true }))

const hello = "import { test } from 'node:test'\n"
const files: Record<string, string> = {
  'good.test.ts': "test('one', () => {}); test('two', async t => { await t.test('inner', () => {}) })",
  'bad.test.ts': "test('good', () => {}); test('bad', () => { throw new Error('no') })",
  'left.test.ts': "test('left out', { skip: true }, () => {}); test('good', () => {})",
  'late.test.ts': "test('good', () => {}); process.once('exit', () => { process.exitCode = 3 })",
  'dead.test.ts': "test('dies', () => { process.kill(process.pid, 'SIGKILL') })",
  'broken.test.ts': 'this is no program',
  'pending.test.ts': "test('never', () => new Promise(() => {}))",
  'open.test.ts':
    "import { mkdtempSync } from 'node:fs'; import { tmpdir } from 'node:os'; mkdtempSync(tmpdir() + '/litter-'); setInterval(() => {}, 100); test('good', () => {})",
}

const cases: Record<string, [file: string[], totals: string]> = {
  'tests and the tests inside them count': [['good.test.ts'], '3 0 0'],
  'the sum of many is the sum of all': [
    ['good.test.ts', 'bad.test.ts', 'good.test.ts', 'bad.test.ts', 'left.test.ts', 'good.test.ts'],
    '12 2 1',
  ],
  'a process that fails with good tests is a failure': [['late.test.ts'], '1 1 0'],
  'a process that dies is a failure': [['dead.test.ts'], '0 1 0'],
  'a file that is no program is a failure': [['broken.test.ts'], '0 1 0'],
  'a test that never ends is a failure': [['pending.test.ts'], '0 1 0'],
  'a file that leaves something open is ended, and is a failure': [['open.test.ts'], '0 1 0'],
}

for (const [name, [chosen, expected]] of Object.entries(cases)) {
  test(name, async () => {
    for (const [file, text] of Object.entries(files)) await writeFile(join(dir, file), hello + text)
    const paths = chosen.map(file => join(dir, file))
    const { passed, failed, skipped } = await runTests(paths, {
      ...quick,
      testTimeout: 1_000,
      fileTimeout: 3_000,
      say: () => {},
    })
    assert.equal(`${passed} ${failed} ${skipped}`, expected)
    assert.deepEqual(
      (await readdir(tmpdir())).filter(left => left.startsWith('litter-')),
      [],
    )
  })
}
