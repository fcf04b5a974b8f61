/** The threat model: every threat has a limit and names tests that exist. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { root } from './sources.ts'

interface Threat {
  threat: string
  limit: string
  tests: { name: string; file: string }[]
}

/** Rows of the table whose last column holds links to tests. */
function threatsIn(markdown: string): Threat[] {
  return [...markdown.matchAll(/^\| ([^|\n]+) \| ([^|\n]+) \| (\[[^\n]+\)) \|$/gm)].map(
    ([, threat = '', limit = '', proofs = '']) => ({
      threat,
      limit,
      tests: [...proofs.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, name = '', file = '']) => ({ name, file })),
    }),
  )
}

/** The name is in any kind of string, also in a template: `${name} is refused`. */
function hasTest(file: string, name: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8').replaceAll("\\'", "'").includes(name)
}

const pages = ['docs/guides/security.md', 'docs/guides/security.ko.md']
const read = (page: string) => threatsIn(readFileSync(join(root, page), 'utf8'))

for (const page of pages)
  test(`${page}: each threat has a limit and names tests that exist`, () => {
    const threats = read(page)
    assert.ok(threats.length >= 20, `${threats.length} threats`)
    for (const { threat, limit, tests } of threats) {
      assert.ok(limit.length > 10 && tests.length > 0, threat)
      for (const { name, file } of tests)
        assert.ok(hasTest(join(root, dirname(page), file), name), `${threat}: ${file} has no test "${name}"`)
    }
  })

test('both pages name the same tests', () => {
  const [english, korean] = pages.map(page => read(page).map(({ tests }) => tests))
  assert.deepEqual(korean, english)
})

test('the check finds a missing test', () => {
  const [one] = threatsIn('| a threat | a limit of some kind | [no such test](../x.test.ts) |')
  assert.deepEqual(one?.tests, [{ name: 'no such test', file: '../x.test.ts' }])
  assert.equal(hasTest(join(root, 'test/repo/docs.test.ts'), 'no such test'), false)
})
