import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownName, truncate, visible } from './truncate.ts'

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
  assert.equal(truncate('\u202e'.repeat(10), 20), '\\u202e\\u202e\\u202e\\…')
  assert.equal(truncate('x'.repeat(21), 20), `${'x'.repeat(19)}…`)
  assert.equal(truncate('x'.repeat(20), 20), 'x'.repeat(20))
})

test('a text is not cut inside a character', () => {
  assert.equal(truncate(`${'x'.repeat(18)}😀yy`, 20), `${'x'.repeat(18)}…`)
  assert.equal(truncate(`${'x'.repeat(17)}😀yy`, 20), `${'x'.repeat(17)}😀…`)
  assert.equal(truncate(`${'x'.repeat(19)}😀`, 20), `${'x'.repeat(19)}…`)
  assert.equal(truncate('😀x', 3), '😀x')
  // Only at the end: the first half of a character may stand there.
  assert.equal(truncate('😀😀😀', 5), '😀😀…')
})

const names: Record<string, [given: string, shown: string]> = {
  'a fit name': ['storage net-1 한', 'storage net-1 한'],
  'a name of the maximum length': ['x'.repeat(255), 'x'.repeat(255)],
  'a name that is too long': ['x'.repeat(256), `${'x'.repeat(254)}…`],
  'spaces at the beginning': ['  a', 'a'],
  'a space at the beginning': [' a', 'a'],
  'a space at the end': ['a ', 'a'],
  'spaces inside': ['a  b', 'a b'],
  'a line end': ['a\nb', 'a b'],
  'a tab': ['a\tb', 'a b'],
  'a line separator': ['a\u2028b', 'a b'],
  'a no-break space': ['a\u00a0b', 'a b'],
  'a long name of spaces': [`a${' '.repeat(300)}b`, 'a b'],
  'a terminal sequence': ['a\u001b[2Jb', 'a\\u001b[2Jb'],
  'an override of the writing direction': ['a\u202eb', 'a\\u202eb'],
  'a lone surrogate': ['a\udc00b', 'a\\udc00b'],
  nothing: ['', ''],
}

for (const [name, [given, shown]] of Object.entries(names))
  test(`a name on one line: ${name}`, () => assert.equal(shownName(given), shown))
