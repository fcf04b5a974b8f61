/** The exceptions of the mutation tests fit the code, and the code has no comments for the tool. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { linesOf, type MutationException } from '../../scripts/mutation.ts'

const root = join(import.meta.dirname, '../..')
const text = (path: string) => readFileSync(join(root, path), 'utf8')

test('each exception matches one line or function', () => {
  const exceptions = JSON.parse(text('test/mutation/exceptions.json')) as MutationException[]
  assert.ok(exceptions.length > 0)
  const vague = exceptions.filter(exception => {
    const { length } = linesOf(exception, text(exception.file))
    return exception.function === undefined ? length !== 1 : length === 0
  })
  assert.deepEqual(vague, [])
})

test('no source file has a comment for the tool', () => {
  const commented = globSync('src/**/*.ts', { cwd: root }).filter(path => text(path).includes('Stryker'))
  assert.deepEqual(commented, [])
})
