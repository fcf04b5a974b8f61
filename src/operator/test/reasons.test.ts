/** Every reason of the operator appears in one of its tests, or of the attacks on it. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reasonGroups } from '../../contract/reasons/catalogue.ts'

test('every reason of a sync and of a verdict appears in a test', () => {
  const folders = [join(import.meta.dirname, '..'), join(import.meta.dirname, '../../../test/attacks')]
  const tests = folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.test.ts'))
      .map(file => readFileSync(join(folder, file), 'utf8')),
  )
  const reasons = [...Object.keys(reasonGroups.sync), ...Object.keys(reasonGroups.verdict)]
  const untested = reasons.filter(reason => !tests.some(text => new RegExp(`\\b${reason}\\b`).test(text)))
  assert.deepEqual(untested, [])
})
