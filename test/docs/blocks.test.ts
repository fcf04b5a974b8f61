/** No command of the documents escapes: each block says where it is run, and what it names is there. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { run } from '../rigs/process.ts'
import { bare, blocksIn, blocksOf, commandsOf, english, isShell, pages, root, spansIn, stages } from './blocks.ts'
import { linesOf, mistakeIn } from './command-check.ts'
import { elsewhere } from './not-run.ts'

const all = pages.flatMap(page => blocksIn(page))
const place = ({ page, line }: { page: string; line: number }) => `${page}:${line}`

test('every block is of a known kind, and every block of commands says where it is run', () => {
  const known = ['sh', 'console', 'yaml', 'json', 'ini', 'text', 'mermaid']
  const wrong = all.filter(block => !known.includes(block.language) || (isShell(block) && !(block.stage in stages)))
  assert.deepEqual(
    wrong.map(place),
    [],
    `a fence is one of ${known.join(', ')}; after sh or console: ${Object.keys(stages).join(', ')}`,
  )
})

test('a block that hides would be found', () => {
  const [shown, hidden] = blocksIn('x.md', '```sh sandbox\nmake up\n```\n\n```sh\nrm -rf /\n```\n')
  assert.ok(shown && shown.stage in stages)
  assert.ok(hidden && !(hidden.stage in stages))
})

test('text that shows no commands holds none', () => {
  const typed = /^\s*(\$ |sudo |make |kubectl |helm |(\.\/bin\/)?multinic [a-z])/m
  const wrong = all.filter(({ language, text }) => !['sh', 'console'].includes(language) && typed.test(text))
  assert.deepEqual(wrong.map(place), [])
})

test('both languages have the same commands', () => {
  for (const page of pages.filter(name => name.endsWith('.ko.md'))) {
    const commands = (name: string) =>
      blocksIn(name)
        .filter(isShell)
        .map(block => `${block.language} ${block.stage}\n${bare(block)}`)
    assert.deepEqual(commands(page), commands(page.replace('.ko.md', '.md')), page)
  }
})

test('YAML in the documents is YAML', () => {
  for (const { text, ...block } of all.filter(({ language }) => language === 'yaml'))
    for (const { errors } of parseAllDocuments(text)) assert.deepEqual(errors, [], place(block))
})

test('every command names commands, options, targets and files that there are', () => {
  const inBlocks = all
    .filter(isShell)
    .flatMap(block => linesOf(commandsOf(block)).map(line => [place(block), line] as const))
  const inProse = pages.flatMap(page => commandsInProse(page).map(line => [page, line] as const))
  assert.ok(inBlocks.length > 150 && inProse.length > 50, `${inBlocks.length} in blocks, ${inProse.length} in prose`)
  const wrong = [...inBlocks, ...inProse].flatMap(([where, line]) => mistakeIn(line)?.concat(` (${where})`) ?? [])
  assert.deepEqual(wrong, [])
})

/** `make up` in the middle of a sentence. */
function commandsInProse(page: string): string[] {
  const command = /^(sudo )?(make [a-z]|(\.\/bin\/)?multinic [a-z]|kubectl |helm |(\.\/)?scripts\/\S+ )/
  return spansIn(page).filter(span => command.test(span))
}

const mistakes: Record<string, RegExp> = {
  'make everything': /no target everything/,
  'multinic stauts': /no command stauts/,
  'sudo ./bin/multinic sandbox attach --vm x --subnets y': /attach has no option --subnets/,
  'kubectl multinic check --fast': /check has no option --fast/,
  './scripts/build-and-deploy.sh --type dev --password x': /knows no --password/,
  'helm install x deployments/helm -f deployments/helm/values-prod.yaml':
    /there is no deployments\/helm\/values-prod\.yaml/,
}
for (const [line, words] of Object.entries(mistakes))
  test(`"${line}" would be found`, () => assert.match(mistakeIn(line) ?? '', words))

test('commands that are run elsewhere have a reason, and every reason its commands', () => {
  const blocks = blocksOf('elsewhere')
  for (const block of blocks)
    assert.ok(
      elsewhere.some(({ begins }) => commandsOf(block).startsWith(begins)),
      `${place(block)} has no reason`,
    )
  for (const { begins } of elsewhere)
    assert.ok(
      blocks.some(block => commandsOf(block).startsWith(begins)),
      `nothing begins with ${begins}`,
    )
})

test('commands that CI runs are those that CI runs', () => {
  const ci = ['.ci/run', '.github/workflows/ci.yaml'].map(path => readFileSync(join(root, path), 'utf8')).join('\n')
  for (const block of blocksOf('ci'))
    for (const line of linesOf(bare(block))) assert.match(ci, new RegExp(`\\b${line}\\b`), place(block))
})

for (const block of blocksOf('shell'))
  test(`${place(block)} runs`, async () => {
    await run('bash', ['-euo', 'pipefail', '-c', `cd ${root}\n${commandsOf(block)}`])
  })

test('the pages that are looked at are those of people', () => {
  for (const page of ['README.md', 'docs/guides/install.md', 'docs/reference/cli.md']) assert.ok(english.includes(page))
})
