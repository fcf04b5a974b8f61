/**
 * Every finding that a test names is in the track record, with a test. The tests of the pages check that it exists.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root, testFiles } from '../../scripts/test-files.ts'
import { proofsIn } from '../repo/proofs.ts'

/** `operator 7, 15f` are two findings of one component; those of the agent have no word: `F5, L5`. */
function findingsIn(names: string): string[] {
  const [, component = '', list = ''] = /^((?:operator|controller|experience) )?(.+)$/.exec(names) ?? []
  return list.split(', ').map(finding => component + finding)
}

const title = /((?:(?:operator|controller|experience) \w+|[FL]\d+)(?:, \w+)*): /
const ofTitles = new RegExp(`['\`]${title.source}`, 'g')
/** In the cases of the attacks, whose titles are made of the finding and the name. */
const ofCases = /'([FL]\d+(?:, [FL]\d+)*)'|finding: '([^']+)'/g

function namedBy(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found = [...text.matchAll(ofTitles), ...(file.startsWith('test/attacks/') ? text.matchAll(ofCases) : [])]
  return found.flatMap(([, names, other]) => findingsIn(names ?? other ?? ''))
}

/** Suites for several implementations are in files of their own. */
const files = [...Object.values(testFiles()).flat(), ...globSync('test/conformance/**/*.ts', { cwd: root })]
const findings = new Set(files.filter(file => !file.endsWith('findings.test.ts')).flatMap(namedBy))

test('the tests name findings of every component', () => {
  for (const known of ['F1', 'F21', 'L5', 'operator 15f', 'controller M9', 'experience H3', 'experience Low', 'DMI'])
    assert.ok(findings.has(known), known)
})

for (const page of ['track-record.md', 'track-record.ko.md'])
  test(`every finding that a test names is in ${page}`, () => {
    const names = proofsIn(readFileSync(join(root, 'docs/guides', page), 'utf8')).map(({ name }) => name)
    const listed = new Set(names.flatMap(name => findingsIn(/^(.+?): /.exec(name)?.[1] ?? '')))
    assert.deepEqual([...findings].filter(finding => !listed.has(finding)).sort(), [])
  })
