/** English and Korean pages link to each other and have the same structure, names and links. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { root } from './blocks.ts'

const koreanPages = globSync(['*.ko.md', 'docs/**/*.ko.md'], { cwd: root }).sort()
const englishOf = (page: string) => page.replace('.ko.md', '.md')
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')
const prose = (text: string) => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')

/** Link targets without anchors. */
function linksIn(text: string): string[] {
  return [...prose(text).matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, to = '']) => to)
}

/** Inline code that is equal in every language: without blanks and placeholders. */
function namesIn(text: string): string[] {
  const spans = [...prose(text).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return spans.filter(span => /^[!-~]+$/.test(span) && !/[<>]/.test(span))
}

function shapeOf(text: string) {
  const count = (pattern: RegExp) => prose(text).match(pattern)?.length ?? 0
  return { headings: count(/^#/gm), rows: count(/^\|/gm), items: count(/^ *(-|\d+\.) /gm) }
}

const sorted = (values: Iterable<string>) => [...new Set(values)].sort()
/** Korean pages and pictures by the name of their English ones. */
const englishName = (link: string) => link.replace(/\.ko\.md$/, '.md').replace(/-ko\.png$/, '.png')

for (const page of koreanPages) {
  const [korean, english] = [textOf(page), textOf(englishOf(page))]

  test(`${page} and its English page link to each other and have the same links`, () => {
    const others = (text: string, twin: string) =>
      sorted(
        linksIn(text)
          .filter(to => to !== twin)
          .map(englishName),
      )
    const [ko, en] = [basename(page), basename(englishOf(page))]
    assert.ok(linksIn(english).includes(ko), `${englishOf(page)} does not link to ${ko}`)
    assert.ok(linksIn(korean).includes(en), `${page} does not link to ${en}`)
    assert.deepEqual(others(korean, en), others(english, ko))
  })

  test(`${page} links to Korean pages where they exist`, () => {
    const wrong = linksIn(korean).filter(
      to =>
        /(?<!\.ko)\.md$/.test(to) &&
        to !== basename(englishOf(page)) &&
        existsSync(join(root, dirname(page), to.replace(/\.md$/, '.ko.md'))),
    )
    assert.deepEqual(wrong, [])
  })

  test(`${page} has the headings, rows, list items and names of its English page`, () => {
    assert.deepEqual(shapeOf(korean), shapeOf(english))
    assert.deepEqual(sorted(namesIn(korean)), sorted(namesIn(english)))
  })
}

test('there are Korean pages', () => assert.ok(koreanPages.length > 20))
