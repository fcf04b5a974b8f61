/** The pages of guarantees and track record name only tests that exist, in both languages. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './sources.ts'

const pageOf = (name: string) => readFileSync(join(root, 'docs/guides', name), 'utf8')

/** `- [src/x.test.ts](../../src/x.test.ts): ` and the name of the test in backticks; text may precede the link. */
function proofsIn(page: string): { file: string; name: string }[] {
  return [...page.matchAll(/^- .*?\[([^\]]+\.test\.ts)\]\([^)]*\): `(.+)`$/gm)].map(([, file = '', name = '']) => ({
    file,
    name,
  }))
}

function exists({ file, name }: { file: string; name: string }): boolean {
  const path = join(root, file)
  if (!existsSync(path)) return false
  const text = readFileSync(path, 'utf8')
  // A case of the attack suite is named after its finding: `F2: …`.
  const attack = file.startsWith('test/attacks/') ? /^\w+: (.+)$/.exec(name)?.[1] : undefined
  return [`test('${name}'`, `test(\`${name}\``, `name: '${attack}'`].some(start => text.includes(start))
}

for (const page of ['guarantees', 'track-record']) {
  test(`every test that ${page} names exists`, () => {
    const proofs = proofsIn(pageOf(`${page}.md`))
    assert.ok(proofs.length > 5)
    assert.deepEqual(
      proofs.filter(proof => !exists(proof)),
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

test('every entry of the track record has steps to reproduce, a commit and one test', () => {
  const entries = pageOf('track-record.md').split(/^## /m).slice(1)
  for (const entry of entries) {
    assert.match(entry, /^- Reproduce: .{20,}/m)
    assert.match(entry, /^- Changed in `[0-9a-f]{7,}`: /m)
    assert.equal(proofsIn(entry).length, 1, entry.slice(0, 40))
  }
})

test('the check finds a missing test', () => {
  const [proof] = proofsIn('- [src/kube/queue.test.ts](../../src/kube/queue.test.ts): `no such test`')
  assert.deepEqual(proof, { file: 'src/kube/queue.test.ts', name: 'no such test' })
  assert.equal(proof && exists(proof), false)
})
