/** The documents: links point to files, generated pages are up to date, `make help` lists every target. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { root } from './sources.ts'

const pages = globSync(['*.md', 'docs/**/*.md', 'config/**/*.md', 'deployments/**/*.md'], { cwd: root }).sort()

test('links in the documents point to files that exist', () => {
  const broken = pages.flatMap(page =>
    linksOf(readFileSync(join(root, page), 'utf8'))
      .filter(link => !/^[a-z]+:/.test(link) && !link.startsWith('#'))
      .filter(link => !existsSync(join(root, dirname(page), link.split('#', 1)[0] ?? '')))
      .map(link => `${page}: ${link}`),
  )
  assert.deepEqual(broken, [])
})

test('the check finds a link and skips code', () => {
  assert.deepEqual(linksOf('see [x](src/none.ts) and `[no](code)`'), ['src/none.ts'])
})

test('the index of each language lists every page', () => {
  const indexed = (index: string) => linksOf(readFileSync(join(root, index), 'utf8')).map(link => join('docs', link))
  const [inEnglish, inKorean] = [indexed('docs/README.md'), indexed('docs/README.ko.md')]
  // The benches write the pages of figures and of how they were measured.
  const expected = [...pages, ...globSync('docs/reference/*.yaml', { cwd: root })].filter(
    page =>
      /^docs\/(guides|reference|examples)\/|^docs\/decisions\/README|^ARCHITECTURE/.test(page) &&
      !/^docs\/(reference\/figures|guides\/measured)\b/.test(page),
  )
  const missing = expected.filter(page => {
    const korean = page.replace(/\.md$/, '.ko.md')
    if (page.endsWith('.ko.md')) return !inKorean.includes(page)
    // Both indexes list a page that exists in English only.
    return !inEnglish.includes(page) || (!pages.includes(korean) && !inKorean.includes(page))
  })
  assert.deepEqual(missing, [])
})

test('the README links to the index', () => {
  for (const [page, index] of [
    ['README.md', 'docs/README.md'],
    ['README.ko.md', 'docs/README.ko.md'],
  ] as const)
    assert.ok(linksOf(readFileSync(join(root, page), 'utf8')).includes(index), page)
})

test('generated files are up to date', () => {
  execFileSync(process.execPath, ['scripts/generate.ts', '--check'], { cwd: root, stdio: 'pipe' })
})

test('make help lists every target', () => {
  const makefile = readFileSync(join(root, 'Makefile'), 'utf8')
  const phony = /^\.PHONY: (.*)$/m.exec(makefile)?.[1]?.split(' ') ?? []
  const help = execFileSync('make', ['help'], { cwd: root, encoding: 'utf8' })
  const missing = phony.filter(target => !new RegExp(`^  make ${target}\\s`, 'm').test(help))
  assert.deepEqual(missing, [])
})

test('every Korean page has an English page', () => {
  const alone = pages.filter(page => page.endsWith('.ko.md') && !pages.includes(page.replace('.ko.md', '.md')))
  assert.deepEqual(alone, [])
})

test('no file contains a path of a developer machine', () => {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter(path => path && path !== 'package-lock.json')
  const found = files.filter(
    path =>
      existsSync(join(root, path)) &&
      /(^|[\s"'`=:(])\/(work|root|home\/[a-z]+)\//m.test(readFileSync(join(root, path), 'utf8')),
  )
  assert.deepEqual(
    found.filter(path => path !== 'test/repo/docs.test.ts'),
    [],
  )
})

function linksOf(markdown: string): string[] {
  const prose = markdown.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
}
