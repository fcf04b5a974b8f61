import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvText } from './csv.ts'

const cells: Record<string, [text: string | undefined, written: string]> = {
  'a plain text': ['worker-1', 'worker-1'],
  'an absent value': [undefined, ''],
  'a comma': ['a,b', '"a,b"'],
  'a quote': ['a "b" c', '"a ""b"" c"'],
  'a line end': ['a\nb', '"a\nb"'],
  'a carriage return': ['a\rb', '"a\rb"'],
  'a formula': ['=1+1', "'=1+1"],
  'a formula that begins with plus': ['+1', "'+1"],
  'a formula that begins with minus': ['-1', "'-1"],
  'a formula that begins with at': ['@SUM(A1)', "'@SUM(A1)"],
  'a formula behind a tab': ['\t=1', "'\t=1"],
  'a formula behind a carriage return': ['\r=1', '"\'\r=1"'],
  'a formula with a comma': ['=A1,B1', '"\'=A1,B1"'],
  'signs inside a text': ['a=b+c-d@e', 'a=b+c-d@e'],
}

for (const [name, [text, written]] of Object.entries(cells))
  test(`${name} is one harmless cell`, () => assert.equal(csvText([[text]]), `${written}\r\n`))

test('each row is one line, and no row is no text', () => {
  const rows = [
    ['a', undefined, 'b'],
    ['c', 'd', 'e'],
  ]
  assert.equal(csvText(rows), 'a,,b\r\nc,d,e\r\n')
  assert.equal(csvText([]), '')
})
