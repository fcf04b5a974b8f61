import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Language } from '../../contract/reasons/catalogue.ts'
import { userCommands } from '../commands.ts'
import { print } from '../output.ts'
import { terminalIo } from '../terminal.ts'
import { widthOf, wrapped } from './wrap.ts'

const cases: Record<string, [line: string, columns: number, lines: string[]]> = {
  'a line that fits stays': ['one two', 7, ['one two']],
  'a line wraps at a space, indented': ['one two three', 9, ['one two', '  three']],
  'a branch of a tree goes on below it': ['│  ├─ one two three', 14, ['│  ├─ one two', '│  │    three']],
  'the last branch ends': ['└─ one two', 8, ['└─ one', '     two']],
  'a word is never broken': ['see https://example.com/x', 10, ['see', '  https://example.com/x']],
  'colours take no room': ['\u001b[31mone\u001b[0m two', 7, ['\u001b[31mone\u001b[0m two']],
  'Korean letters take two columns': ['노드 상태 확인', 9, ['노드 상태', '  확인']],
}
for (const [name, [line, columns, lines]] of Object.entries(cases))
  test(name, () => assert.deepEqual(wrapped(line, columns), lines))

test('COLUMNS decides before the terminal', () => {
  assert.equal(terminalIo({ COLUMNS: '80' }, 'en').columns, 80)
  assert.equal(terminalIo({ COLUMNS: 'wide' }, 'en').columns, process.stdout.columns)
})

test('output wraps at the width of the terminal, data does not', async () => {
  for (const [format, expected] of [
    [undefined, 'one two\n  three\n'],
    ['json', '"one two three"\n'],
  ] as const) {
    let out = ''
    const write = (text: string) => {
      out += text
    }
    const io = { ...terminalIo({}, 'en'), columns: 9, out: write }
    await print(io, format, { data: 'one two three', lines: () => ['one two three'] })
    assert.equal(out, expected)
  }
})

for (const language of ['en', 'ko'] satisfies Language[])
  for (const columns of [80, 60])
    test(`the help of every command fits into ${columns} columns (${language})`, () => {
      const all = userCommands(terminalIo({}, language), () => {}).flatMap(one => [one, ...one.commands])
      for (const command of all) {
        command.configureOutput({ getOutHelpWidth: () => columns })
        // The usage and the syntax of an option are not broken.
        for (const line of command.helpInformation().split('\n'))
          if (!/^(Usage|사용법)|^ {2}-\S.*>$/.test(line))
            assert.ok(widthOf(line) <= columns, `${command.name()}: ${line}`)
      }
    })

test('a terminal that reports no width gets whole lines', () => {
  assert.deepEqual(wrapped('a long line of words', 0), ['a long line of words'])
})
