/** English and Korean: each page leads to the other, and says as much. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { root } from './blocks.ts'

const koreanPages = globSync(['*.ko.md', 'docs/**/*.ko.md'], { cwd: root }).sort()
const englishOf = (page: string) => page.replace('.ko.md', '.md')
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')
const prose = (text: string) => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')

/** Where its links lead, without the place within a page. */
function linksIn(text: string): string[] {
  return [...prose(text).matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, to = '']) => to)
}

/** What is written alike in every language: names without blanks, and without a place for a name of one's own. */
function namesIn(text: string): string[] {
  const spans = [...prose(text).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return spans.filter(span => /^[!-~]+$/.test(span) && !/[<>]/.test(span))
}

function shapeOf(text: string) {
  const count = (pattern: RegExp) => prose(text).match(pattern)?.length ?? 0
  return { chapters: count(/^#/gm), rows: count(/^\|/gm), points: count(/^ *(-|\d+\.) /gm) }
}

const sorted = (values: Iterable<string>) => [...new Set(values)].sort()
/** The pictures of a language are its own. */
const oneName = (link: string) => link.replace(/\.ko\.md$/, '.md').replace(/-ko\.png$/, '.png')

for (const page of koreanPages) {
  const [korean, english] = [textOf(page), textOf(englishOf(page))]

  test(`${page} and its English page lead to each other and to the same places`, () => {
    const others = (text: string, twin: string) =>
      sorted(
        linksIn(text)
          .filter(to => to !== twin)
          .map(oneName),
      )
    const [ko, en] = [basename(page), basename(englishOf(page))]
    assert.ok(linksIn(english).includes(ko), `${englishOf(page)} does not lead to ${ko}`)
    assert.ok(linksIn(korean).includes(en), `${page} does not lead to ${en}`)
    assert.deepEqual(others(korean, en), others(english, ko))
  })

  test(`${page} leads to Korean pages where there are some`, () => {
    const lost = linksIn(korean).filter(
      to =>
        /(?<!\.ko)\.md$/.test(to) &&
        to !== basename(englishOf(page)) &&
        existsSync(join(root, dirname(page), to.replace(/\.md$/, '.ko.md'))),
    )
    assert.deepEqual(lost, [])
  })

  test(`${page} has the chapters, rows, points and names of its English page`, () => {
    assert.deepEqual(shapeOf(korean), shapeOf(english))
    assert.deepEqual(sorted(namesIn(korean)), sorted(namesIn(english)))
  })
}

test('there are such pages', () => assert.ok(koreanPages.length > 20))
