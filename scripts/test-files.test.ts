import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isIsolated, slowFirst, testFiles } from './test-files.ts'

test('slow files start first, in the order of their words, and every file runs once', () => {
  const files = ['src/a.test.ts', 'src/slow.test.ts', 'test/b.test.ts', 'test/slower.test.ts']
  assert.deepEqual(slowFirst(files, ['slower.', 'slow']), [
    'test/slower.test.ts',
    'src/slow.test.ts',
    'test/b.test.ts',
    'src/a.test.ts',
  ])
})

test('files that need root run in their own namespaces, all others do not', () => {
  const { plain, root, e2e, vm } = testFiles()
  assert.ok([...root, ...e2e, ...vm].every(isIsolated))
  assert.ok(!plain.some(isIsolated))
})
