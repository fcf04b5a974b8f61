import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from './log.ts'

test('a line has no control characters or marks of the writing direction, and its text is complete', () => {
  const lines: string[] = []
  const name = 'a\u202eb\u2066c\u0085\u009b2J\u2028\u{e0041}\u001b[2J\n\u007f'
  createLog({}, { write: line => lines.push(line) }).warn('failed', { name })
  const [line = ''] = lines
  assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
  assert.equal(JSON.parse(line).name, name)
})
