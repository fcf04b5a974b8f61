/** The pages of guarantees and of the track record: every test that they name exists, in both languages. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './sources.ts'

const pageOf = (name: string) => readFileSync(join(root, 'docs/guides', name), 'utf8')

/** `- [src/x.test.ts](../../src/x.test.ts): ` and the name of the test in backticks; words may stand before the link. */
function proofsIn(page: string): { file: string; name: string }[] {
  return [...page.matchAll(/^- .*?\[([^\]]+\.test\.ts)\]\([^)]*\): `(.+)`$/gm)].map(([, file = '', name = '']) => ({
    file,
    name,
  }))
}

function isThere({ file, name }: { file: string; name: string }): boolean {
  const path = join(root, file)
  if (!existsSync(path)) return false
  const text = readFileSync(path, 'utf8')
  return [`test('${name}'`, `test(\`${name}\``].some(start => text.includes(start))
}

for (const page of ['guarantees', 'track-record']) {
  test(`every test that ${page} names exists`, () => {
    const proofs = proofsIn(pageOf(`${page}.md`))
    assert.ok(proofs.length > 5)
    assert.deepEqual(
      proofs.filter(proof => !isThere(proof)),
      [],
    )
  })

  test(`${page} says the same in Korean`, () => {
    const [english, korean] = [pageOf(`${page}.md`), pageOf(`${page}.ko.md`)]
    assert.deepEqual(proofsIn(korean), proofsIn(english))
    const heads = (text: string) => text.split('\n').filter(line => line.startsWith('## ')).length
    assert.equal(heads(korean), heads(english))
  })
}

test('every guarantee of the design has its section, with what is not promised and at least two tests', () => {
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

test('every entry of the track record can be reproduced, names its change and the test that holds it', () => {
  const entries = pageOf('track-record.md').split(/^## /m).slice(1)
  for (const entry of entries) {
    assert.match(entry, /^- Reproduce: .{20,}/m)
    assert.match(entry, /^- Changed in `[0-9a-f]{7,}`: /m)
    assert.equal(proofsIn(entry).length, 1, entry.slice(0, 40))
  }
})

test('a test that is not there would be found', () => {
  const [proof] = proofsIn('- [src/kube/queue.test.ts](../../src/kube/queue.test.ts): `a key flies away`')
  assert.deepEqual(proof, { file: 'src/kube/queue.test.ts', name: 'a key flies away' })
  assert.equal(proof && isThere(proof), false)
})
