import assert from 'node:assert/strict'
import { test } from 'node:test'
import { truncate, visible } from './truncate.ts'

const hostile: Record<string, [string, string]> = {
  'a terminal sequence': ['a\u001b[2Jb', 'a\\u001b[2Jb'],
  'an eight-bit terminal sequence': ['a\u009b2Jb', 'a\\u009b2Jb'],
  'a carriage return': ['good\rbad', 'good\\u000dbad'],
  'an override of the writing direction': ['a\u202egnp.exe', 'a\\u202egnp.exe'],
  'an isolate': ['\u2066a\u2069', '\\u2066a\\u2069'],
  'a line separator': ['a\u2028b', 'a\\u2028b'],
  'a lone surrogate': ['a\ud800b', 'a\\ud800b'],
  'an invisible character of two units': ['a\u{e0041}b', 'a\\udb40\\udc41b'],
  'visible text': ['노드 worker-1 😀\n\tline', '노드 worker-1 😀\n\tline'],
}

for (const [name, [text, shown]] of Object.entries(hostile))
  test(`shown harmlessly: ${name}`, () => {
    assert.equal(visible(text), shown)
    assert.equal(truncate(text, 100), shown)
  })

test('a text of escapes is not longer than its maximum', () => {
  assert.equal(truncate('\u202e'.repeat(100), 20), '\\u202e\\u202e\\u202e\\…')
  assert.equal(truncate('x'.repeat(21), 20), `${'x'.repeat(19)}…`)
  assert.equal(truncate('x'.repeat(20), 20), 'x'.repeat(20))
})
