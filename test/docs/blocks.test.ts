/** Every command of the documents names its test environment, and uses commands, options and files that exist. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { run } from '../rigs/process.ts'
import {
  blocksIn,
  blocksOf,
  commandsOf,
  english,
  environments,
  isShell,
  pages,
  root,
  spansIn,
  withoutComments,
} from './blocks.ts'
import { findMistake, linesOf } from './command-check.ts'
import { untestedBlocks } from './not-run.ts'

const all = pages.flatMap(page => blocksIn(page))
const placeOf = ({ page, line }: { page: string; line: number }) => `${page}:${line}`

test('every block has a known language, and every command block a known environment', () => {
  const known = ['sh', 'console', 'yaml', 'json', 'ini', 'text', 'mermaid']
  const wrong = all.filter(
    block => !known.includes(block.language) || (isShell(block) && !(block.environment in environments)),
  )
  assert.deepEqual(
    wrong.map(placeOf),
    [],
    `a fence is one of ${known.join(', ')}; after sh or console: ${Object.keys(environments).join(', ')}`,
  )
})

test('a block without an environment is found', () => {
  const [tagged, untagged] = blocksIn('x.md', '```sh sandbox\nmake up\n```\n\n```sh\nrm -rf /\n```\n')
  assert.ok(tagged && tagged.environment in environments)
  assert.ok(untagged && !(untagged.environment in environments))
})

test('blocks of other languages contain no commands', () => {
  const typed = /^\s*(\$ |sudo |make |kubectl |helm |(\.\/bin\/)?multinic [a-z])/m
  const wrong = all.filter(({ language, text }) => !['sh', 'console'].includes(language) && typed.test(text))
  assert.deepEqual(wrong.map(placeOf), [])
})

test('English and Korean pages have the same commands', () => {
  for (const page of pages.filter(name => name.endsWith('.ko.md'))) {
    const commands = (name: string) =>
      blocksIn(name)
        .filter(isShell)
        .map(block => `${block.language} ${block.environment}\n${withoutComments(block)}`)
    assert.deepEqual(commands(page), commands(page.replace('.ko.md', '.md')), page)
  }
})

test('YAML blocks parse', () => {
  for (const { text, ...block } of all.filter(({ language }) => language === 'yaml'))
    for (const { errors } of parseAllDocuments(text)) assert.deepEqual(errors, [], placeOf(block))
})

test('commands use subcommands, options, make targets and files that exist', () => {
  const inBlocks = all
    .filter(isShell)
    .flatMap(block => linesOf(commandsOf(block)).map(line => [placeOf(block), line] as const))
  const inProse = pages.flatMap(page => commandsInProse(page).map(line => [page, line] as const))
  assert.ok(inBlocks.length > 150 && inProse.length > 50, `${inBlocks.length} in blocks, ${inProse.length} in prose`)
  const wrong = [...inBlocks, ...inProse].flatMap(([where, line]) => findMistake(line)?.concat(` (${where})`) ?? [])
  assert.deepEqual(wrong, [])
})

/** Commands in inline code, such as `make up`. */
function commandsInProse(page: string): string[] {
  const command = /^(sudo )?(make [a-z]|(\.\/bin\/)?multinic [a-z]|kubectl |helm |(\.\/)?scripts\/\S+ )/
  return spansIn(page).filter(span => command.test(span))
}

const mistakes: Record<string, RegExp> = {
  'make everything': /no target everything/,
  'multinic stauts': /no command stauts/,
  'sudo ./bin/multinic sandbox attach --vm x --subnets y': /attach has no option --subnets/,
  'kubectl multinic check --fast': /check has no option --fast/,
  './scripts/build-and-deploy.sh --type dev --password x': /has no option --password/,
  'helm install x deployments/helm -f deployments/helm/values-prod.yaml': /values-prod\.yaml does not exist/,
}
for (const [line, words] of Object.entries(mistakes))
  test(`"${line}" is reported`, () => assert.match(findMistake(line) ?? '', words))

test('every block without a test environment has a reason, and every reason a block', () => {
  const blocks = blocksOf('elsewhere')
  for (const block of blocks)
    assert.ok(
      untestedBlocks.some(({ begins }) => commandsOf(block).startsWith(begins)),
      `${placeOf(block)}: add a reason to test/docs/not-run.ts`,
    )
  for (const { begins } of untestedBlocks)
    assert.ok(
      blocks.some(block => commandsOf(block).startsWith(begins)),
      `test/docs/not-run.ts: no block begins with ${begins}`,
    )
})

test('CI runs the blocks that are tagged ci', () => {
  const ci = readFileSync(join(root, '.ci/run'), 'utf8')
  for (const block of blocksOf('ci'))
    for (const line of linesOf(withoutComments(block))) assert.match(ci, new RegExp(`\\b${line}\\b`), placeOf(block))
})

for (const block of blocksOf('shell'))
  test(`${placeOf(block)} runs`, async () => {
    await run('bash', ['-euo', 'pipefail', '-c', `cd ${root}\n${commandsOf(block)}`])
  })

test('README, guides and the CLI reference are checked', () => {
  for (const page of ['README.md', 'docs/guides/install.md', 'docs/reference/cli.md']) assert.ok(english.includes(page))
})
