/** Which test files `make flaky` selects. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { changedTests } from './changed-tests.ts'

const dir = mkdtempSync(join(tmpdir(), 'multinic-changed-'))
after(() => rmSync(dir, { recursive: true, force: true }))

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], {
    cwd: dir,
    encoding: 'utf8',
  })
const write = (path: string, text: string) => writeFileSync(join(dir, path), text)
function commit(message: string): string {
  git('add', '--all')
  git('commit', '--quiet', '--allow-empty', '--message', message)
  return git('rev-parse', 'HEAD').trim()
}

test('new and changed test files are selected: since the commit, the last tag, or in the last 50 commits', () => {
  git('init', '--quiet')
  write('old.test.ts', '1')
  write('deleted.test.ts', '1')
  write('moved.test.ts', '1')
  const first = commit('first')
  assert.deepEqual(changedTests(dir), ['deleted.test.ts', 'moved.test.ts', 'old.test.ts'], 'a short history is new')

  write('added.test.ts', '1')
  write('source.ts', '1')
  rmSync(join(dir, 'deleted.test.ts'))
  git('mv', 'moved.test.ts', 'elsewhere.root.test.ts')
  const second = commit('second')
  assert.deepEqual(changedTests(dir, first), ['added.test.ts', 'elsewhere.root.test.ts'])
  assert.deepEqual(changedTests(dir, second), [])

  write('old.test.ts', '2')
  write('not committed 한글.test.ts', '1')
  assert.deepEqual(changedTests(dir, second), ['not committed 한글.test.ts', 'old.test.ts'])

  for (let count = 0; count < 50; count++) commit(`commit ${count}`)
  assert.deepEqual(changedTests(dir), ['not committed 한글.test.ts', 'old.test.ts'], 'changed since the second commit')
  commit('one more')
  assert.deepEqual(changedTests(dir), [])

  git('tag', 'v1', first)
  assert.deepEqual(changedTests(dir), [
    'added.test.ts',
    'elsewhere.root.test.ts',
    'not committed 한글.test.ts',
    'old.test.ts',
  ])
  git('tag', 'v2')
  assert.deepEqual(changedTests(dir), [], 'the last tag counts')
})

test('an unknown commit is an error, also if it looks like an option', () => {
  for (const since of ['no-such-commit', '--output=stolen'])
    assert.throws(() => changedTests(dir, since), /no-such-commit|stolen/)
})
