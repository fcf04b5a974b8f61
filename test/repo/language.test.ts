/** One language for names, messages and documents: retired words do not come back, and every reason has its Korean text. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reasonGroups, reasonText } from '../../src/contract/reasons/catalogue.ts'
import type { Reason } from '../../src/contract/reasons/reason.ts'
import {
  replacedReasons,
  retiredFiles,
  retiredIdentifiers,
  retiredKorean,
  retiredPhrases,
  retiredReasons,
} from './retired-words.ts'
import { root } from './sources.ts'

interface Text {
  path: string
  lines: string[]
}

const allRetiredReasons = { ...retiredReasons, ...replacedReasons }

/** Files that name retired words on purpose. */
const lists = ['test/repo/retired-words.ts', 'test/repo/language.test.ts']

const paths = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter(path => /\.(tsx?|mjs|md|ya?ml|json|html|css|sh|tpl|txt)$/.test(path) && !lists.includes(path))
  .filter(path => path !== 'package-lock.json')

const textsOf = (wanted: RegExp, unless = /^$/): Text[] =>
  paths
    .filter(path => wanted.test(path) && !unless.test(path))
    .map(path => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n') }))

/** `path:line: found; use instead`, one for each place. */
function placesOf(texts: readonly Text[], words: readonly (readonly [RegExp, string])[]): string[] {
  return texts.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) =>
      words.flatMap(([word, instead]) => {
        const [found] = word.exec(line) ?? []
        return found === undefined ? [] : [`${path}:${index + 1}: "${found}"; use ${instead}`]
      }),
    ),
  )
}

function expectNone(places: readonly string[]): void {
  assert.ok(places.length === 0, `${places.length} retired words:\n${places.join('\n')}`)
}

/** One hump is an ordinary word too: it counts only in quotation marks or as code. */
function reasonPattern(name: string): RegExp {
  const isPlainWord = /^[A-Z][a-z]+$/.test(name)
  return isPlainWord ? new RegExp(`(?<=['"\`])${name}(?=['"\`])`) : new RegExp(`(?<![\\w.])${name}\\b`)
}

test('no source, test or document names a retired reason or annotation', () => {
  const words = Object.entries(allRetiredReasons).map(([name, now]) => [reasonPattern(name), now] as const)
  // A decision has the table of the last renames.
  expectNone(placesOf(textsOf(/./, /\/0147-names\.md$/), words))
})

test('no retired reason is in the catalogue', () => {
  const names = Object.values(reasonGroups).flatMap(group => Object.keys(group))
  assert.deepEqual(
    names.filter(name => Object.hasOwn(allRetiredReasons, name)),
    [],
  )
})

test('every reason has a Korean text, also by its type', () => {
  for (const name of Object.values(reasonGroups).flatMap(group => Object.keys(group)))
    assert.match(reasonText(name, 'ko')?.remedy ?? '', /[가-힣]/, name)
  // @ts-expect-error: a reason without Korean does not compile.
  const english: Reason = { class: 'normal', en: ['It works.', 'Nothing to do.'] }
  assert.ok(!('ko' in english))
})

test('a component reports every reason of the catalogue', () => {
  const code = textsOf(/^src\/.*\.ts$/, /^src\/contract\/reasons\/|\.test\.ts$/)
    .map(({ lines }) => lines.join('\n'))
    .join('\n')
  const names = new Set(Object.values(reasonGroups).flatMap(group => Object.keys(group)))
  const unused = [...names].filter(name => !new RegExp(`['"]${name}['"]|\\b${name}:`).test(code))
  assert.deepEqual(unused, [])
})

test('no message, comment or English page uses a retired phrase', () => {
  const english = /^(src|web|sandbox)\/|^(README|ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/(guides|reference)\/.*\.md$/
  expectNone(placesOf(textsOf(english, /test|\.ko\.md$/), retiredPhrases))
})

test('Korean texts write names of components and products in English', () => {
  const words = Object.entries(retiredKorean).map(([word, now]) => [new RegExp(word), now] as const)
  expectNone(placesOf(textsOf(/\.ko\.md$|^web\/.*ko\.ts$|^src\/contract\/reasons\//), words))
})

test('no code uses a retired identifier', () => {
  const words = Object.entries(retiredIdentifiers).map(([name, now]) => {
    const tail = name.endsWith('*') ? `${name.slice(0, -1)}[A-Z]\\w*` : name
    return [new RegExp(`(?<![\\w$'-])${tail}(?![\\w$'-])`), now] as const
  })
  // The files on a node have the key `bootId`.
  const onNodes = /^src\/agent\/(apply\/journal|observe\/refusals-of-boot)(\.test)?\.ts$/
  const code = textsOf(/^(src|web|sandbox|test|scripts)\/.*\.tsx?$/, onNodes)
  expectNone(placesOf(code.map(codeOnly), words))
})

/** Comments, strings and the text of templates blanked out; lines stay lines. */
function codeOnly({ path, lines }: Text): Text {
  const prose = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g
  const code = lines.join('\n').replace(prose, text => {
    if (!text.startsWith('`')) return text.replace(/[^\n]/g, ' ')
    return text.replace(/(\$\{[^}]*\})|[^\n]/g, (_, hole: string | undefined) => hole ?? ' ')
  })
  return { path, lines: code.split('\n') }
}

test('no file or folder has a retired name', () => {
  const places = paths
    .filter(path => /^(src|web|sandbox|test|scripts)\//.test(path))
    .flatMap(path =>
      path
        .split('/')
        .map(part => part.split('.')[0] ?? '')
        .filter(part => Object.hasOwn(retiredFiles, part))
        .map(part => `${path}: "${part}"; use ${retiredFiles[part]}`),
    )
  expectNone(places)
})

test('planted words are found with their place and replacement', () => {
  const planted = { path: 'src/x.ts', lines: ["const held = 'look' // told", "reason: 'Taken', NodeAway"] }
  const code = placesOf([codeOnly(planted)], [[/\b(held|look|told)\b/, 'another name']])
  assert.deepEqual(code, ['src/x.ts:1: "held"; use another name'])
  const reasons = ['Taken', 'NodeAway', 'Undone'].map(
    name => [reasonPattern(name), retiredReasons[name] ?? ''] as const,
  )
  assert.deepEqual(placesOf([planted], reasons), [
    'src/x.ts:2: "Taken"; use Selected',
    'src/x.ts:2: "NodeAway"; use PodNotStarting',
  ])
})
