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
  'a formula behind a line feed': ['\n=1', '"\'\n=1"'],
  'a formula behind another control character': ['\u0000=1', "'\u0000=1"],
  'a text behind a control character': ['\u000ba', "'\u000ba"],
  'a formula behind spaces and a byte order mark': [' \ufeff=1', "' \ufeff=1"],
  'a formula with a full-width equals sign': ['＝1＋1', "'＝1＋1"],
  'a formula with a full-width plus': ['＋1', "'＋1"],
  'a formula with a full-width minus': ['－1', "'－1"],
  'a formula with a full-width at': ['＠SUM(A1)', "'＠SUM(A1)"],
  'a name in another script': ['노드＝1', '노드＝1'],
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
