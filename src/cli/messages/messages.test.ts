/** The language of the CLI: which one is used, and that help, output and remedies follow it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runner } from '../../../test/support/cli.ts'
import { plain } from '../render/paint.ts'
import { reasonLines } from '../render/reason.ts'
import { aligned } from '../render/table.ts'
import { languageOf } from './messages.ts'

const choices: [args: string[], env: Record<string, string>, expected: 'en' | 'ko'][] = [
  [[], {}, 'en'],
  [[], { LANG: 'ko_KR.UTF-8' }, 'ko'],
  [[], { LANG: 'ko' }, 'ko'],
  [[], { LANG: 'kok_IN.UTF-8' }, 'en'],
  [[], { LANG: 'en_US.UTF-8', LC_ALL: 'ko_KR.UTF-8' }, 'ko'],
  [[], { LANG: 'ko_KR.UTF-8', LC_ALL: 'C.UTF-8' }, 'en'],
  [[], { LANG: 'ko_KR.UTF-8', LC_MESSAGES: 'en_US.UTF-8' }, 'en'],
  [['status', '--lang', 'ko'], { LANG: 'en_US.UTF-8' }, 'ko'],
  [['--lang=en', 'status'], { LANG: 'ko_KR.UTF-8' }, 'en'],
  [['status', '--lang'], { LANG: 'ko_KR.UTF-8' }, 'ko'],
]
for (const [args, env, expected] of choices)
  test(`${args.join(' ')} ${JSON.stringify(env)} is in ${expected}`, () =>
    assert.equal(languageOf(args, env), expected))

test('help is in Korean with --lang ko, and no line of it is left in English', async () => {
  for (const command of [
    ['status'],
    ['why'],
    ['plan'],
    ['renumber'],
    ['doctor'],
    ['migrate'],
    ['migrate', 'apply'],
    ['completion'],
  ]) {
    const { out } = await runner({})(...command, '--help', '--lang', 'ko')
    assert.match(out, /사용법:.*\n\n.*[가-힣]/)
    const described = out.split('\n').filter(line => /^ {2}\S.* {2,}\S/.test(line))
    assert.ok(described.length > 0, command.join(' '))
    for (const line of described) assert.match(line, /[가-힣]|bash, zsh/, `${command.join(' ')}: ${line}`)
  }
})

test('an unknown language is refused with the choices', async () => {
  const { code, error } = await runner({})('status', '--lang', 'fr')
  assert.equal(code, 2)
  assert.match(error, /Allowed choices are en, ko/)
})

test('a reason has its meaning and remedy in the language of the user, and the message as it is', () => {
  const view = { reason: 'InterfaceNameInUse', message: 'eth7 is called multinic0', remedy: 'Rename that device.' }
  const [meaning, message, remedy] = reasonLines(view, { paint: plain, language: 'ko' })
  assert.match(meaning ?? '', /^InterfaceNameInUse: .*[가-힣]/)
  assert.equal(message, 'eth7 is called multinic0')
  assert.match(remedy ?? '', /^→ .*세요/)
})

test('a reason of another version keeps the remedy that the server sent', () => {
  const lines = reasonLines({ reason: 'NotKnownHere', remedy: 'Do this.' }, { paint: plain, language: 'ko' })
  assert.deepEqual(lines, ['NotKnownHere', '→ Do this.'])
})

test('columns with Korean text are aligned: a Korean letter is two columns wide', () => {
  assert.deepEqual(
    aligned([
      ['노드', 'x'],
      ['ab', 'x'],
    ]),
    ['노드  x', 'ab    x'],
  )
})
