/** The pages of guarantees and track record name only tests that exist, in both languages. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { proofExists, proofsIn } from './proofs.ts'
import { root } from './sources.ts'

const pageOf = (name: string) => readFileSync(join(root, 'docs/guides', name), 'utf8')

for (const page of ['guarantees', 'track-record']) {
  test(`every test that ${page} names exists`, () => {
    const proofs = proofsIn(pageOf(`${page}.md`))
    assert.ok(proofs.length > 5)
    assert.deepEqual(
      proofs.filter(proof => !proofExists(proof)),
      [],
    )
  })

  test(`${page} names the same tests in Korean`, () => {
    const [english, korean] = [pageOf(`${page}.md`), pageOf(`${page}.ko.md`)]
    assert.deepEqual(proofsIn(korean), proofsIn(english))
    const heads = (text: string) => text.split('\n').filter(line => line.startsWith('## ')).length
    assert.equal(heads(korean), heads(english))
  })
}

test('every guarantee has a section with its limits and at least two tests', () => {
  const sections = pageOf('guarantees.md').split(/^## /m).slice(1)
  assert.deepEqual(
    sections.map(section => /^G\d+/.exec(section)?.[0]),
    Array.from({ length: 11 }, (_, index) => `G${index + 1}`),
  )
  for (const section of sections) {
    assert.match(section, /^Not promised: /m)
    assert.ok(proofsIn(section).length >= 2, section.slice(0, 40))
  }
})

/** The entries, the tables of bugs, and the table of reasons. */
function partsOf(page: string): { entries: string[]; tables: string; reasons: string } {
  const parts = page.split(/^## /m).slice(1)
  const [tables = '', reasons = ''] = parts.slice(-2)
  return { entries: parts.slice(0, -2), tables, reasons }
}
const rowsOf = (text: string) => text.split('\n').filter(line => /^\| (?!bug |finding )/.test(line))
/** Of the table that explains how bugs were found. */
const waysOf = (page: string) =>
  page
    .split(/^## /m, 1)
    .join()
    .matchAll(/^\| ([a-z ]+) \| (?!means)/gm)

test('every entry of the track record has steps to reproduce, a way, a commit and one test', () => {
  const page = pageOf('track-record.md')
  const ways = new Set([...waysOf(page)].map(([, way]) => way))
  for (const entry of partsOf(page).entries) {
    assert.match(entry, /^- Reproduce: .{20,}/m)
    assert.ok(ways.has(/^- Found by: (.+)$/m.exec(entry)?.[1]), entry.slice(0, 40))
    assert.match(entry, /^- Changed in `[0-9a-f]{7,}`: /m)
    assert.equal(proofsIn(entry).length, 1, entry.slice(0, 40))
  }
})

test('every row of the track record has a way and one test, or a reason', () => {
  const page = pageOf('track-record.md')
  const ways = new Set([...waysOf(page)].map(([, way]) => way))
  const { tables, reasons } = partsOf(page)
  assert.ok(rowsOf(tables).length > 100)
  for (const row of rowsOf(tables)) {
    assert.ok(ways.has(/ \| ([a-z ]+) \| \[/.exec(row)?.[1]), row)
    assert.equal(proofsIn(row).length, 1, row)
  }
  for (const row of rowsOf(reasons)) assert.match(row, /^\| [^|]{20,} \| [^|]{20,} \|$/)
})

const missing = [
  '- [src/kube/queue.test.ts](../../src/kube/queue.test.ts): `no such test`',
  '| a bug | test | [src/kube/none.test.ts](../../src/kube/none.test.ts): `no such file` |',
  '| a bug | attack | [test/attacks/devices.root.test.ts](../../test/attacks/devices.root.test.ts): `F4: no such case` |',
  '| a bug | attack | [test/attacks/devices.root.test.ts](../../test/attacks/devices.root.test.ts): `F1: a removal does not guess which of two devices with one MAC address is ours` |',
]
for (const line of missing)
  test(`the check finds a missing test: ${line}`, () => {
    const proofs = proofsIn(line)
    assert.equal(proofs.length, 1)
    assert.deepEqual(proofs.filter(proofExists), [])
  })
