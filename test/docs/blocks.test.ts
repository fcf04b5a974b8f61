/** Every command of the documents names its test environment, and uses commands, options and files that exist. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import {
  type Block,
  blocksIn,
  blocksOf,
  commandsOf,
  type Environment,
  english,
  environments,
  exitCode,
  isShell,
  pages,
  root,
  spansIn,
  stepsOf,
  withoutComments,
} from './blocks.ts'
import { commandNames, findMistake, linesOf } from './command-check.ts'
import { adaptedCommands, replacedInSandbox, untestedCommands } from './not-run.ts'
import { openShell } from './run-block.ts'

const all = pages.flatMap(page => blocksIn(page))
const placeOf = ({ page, line }: { page: string; line: number }) => `${page}:${line}`

test('every block has a known language, and every command block a known environment', () => {
  const known = ['sh', 'console', 'yaml', 'json', 'ini', 'promql', 'text', 'mermaid']
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

test('a console block begins with a command', () => {
  const wrong = all.filter(({ language, text }) => language === 'console' && !text.startsWith('$ '))
  assert.deepEqual(wrong.map(placeOf), [])
})

test('blocks of other languages contain no commands', () => {
  const typed = /^\s*(\$ |sudo |make |kubectl |helm |(\.\/bin\/)?multinic [a-z])/m
  const wrong = all.filter(({ language, text }) => !['sh', 'console'].includes(language) && typed.test(text))
  assert.deepEqual(wrong.map(placeOf), [])
})

/** What is equal in every language: all but comments, and the labels of pictures. */
function contentOf(block: Block): unknown {
  const { language, environment, options, text } = block
  const fence = [language, environment, ...options].join(' ')
  if (isShell(block)) {
    const codes = commandsOf(block)
      .split('\n')
      .map(line => exitCode.exec(line)?.groups?.['code'])
    return { fence, commands: withoutComments(block), codes, outputs: stepsOf(block).map(({ output }) => output) }
  }
  if (language === 'yaml') return { fence, data: parseAllDocuments(text).map(document => document.toJS() as unknown) }
  return isPicture(block) ? { fence } : { fence, text: text.replaceAll(/(^|\s+)# .*$/gm, '') }
}
const isPicture = ({ language, environment }: Block) => language === 'mermaid' || environment === 'picture'

test('English and Korean pages have the same blocks', () => {
  for (const page of pages.filter(name => name.endsWith('.ko.md')))
    assert.deepEqual(blocksIn(page).map(contentOf), blocksIn(page.replace('.ko.md', '.md')).map(contentOf), page)
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

/** Commands in inline code, such as `make up`; those of the program also without its name, such as `check --now NODE`. */
function commandsInProse(page: string): string[] {
  const command = /^(sudo )?(make [a-z]|(\.\/bin\/)?multinic [a-z]|kubectl |helm |(\.\/)?scripts\/\S+ )/
  const ofProgram = new RegExp(`^(${commandNames.join('|')}) (.* )?-`)
  return spansIn(page).flatMap(span => (command.test(span) ? [span] : ofProgram.test(span) ? [`multinic ${span}`] : []))
}

test('messages that a page quotes are in the sources', () => {
  // With the tests: some messages are composed, and a test states them.
  const files = globSync(['src/**/*.ts', 'config/**/*.yaml'], { cwd: root })
  const sources = files.map(name => readFileSync(join(root, name), 'utf8')).join('\n')
  // The other pages quote names of tests, which test/repo checks, and examples of style.
  const quoting = english.filter(
    page => /^docs\/(guides|reference)/.test(page) && !/guarantees|track-record/.test(page),
  )
  const messages = quoting.flatMap(spansIn).filter(span => /^[a-z][\w-]*( [\w,:…][\w,:…-]*){2,}$/.test(span))
  const quoted = messages.filter(
    span => !/^(helm|ip|kubectl|make|multinic|openstack|sandbox|semodule|systemctl) /.test(span),
  )
  assert.ok(quoted.length > 4, `${quoted.length} messages`)
  const wrong = quoted.filter(message => !message.split('…').every(part => sources.includes(part.trim())))
  assert.deepEqual(wrong, [])
})

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

const linesIn = (environment: Environment) =>
  blocksOf(environment).flatMap(block => linesOf(withoutComments(block)).map(line => ({ block, line })))

test('every command that no test runs has a reason, and every reason such a command', () => {
  const environmentsThatRun = (Object.keys(environments) as Environment[]).filter(name => name !== 'elsewhere')
  const tested = new Set(environmentsThatRun.flatMap(linesIn).map(({ line }) => line))
  const untested = linesIn('elsewhere').filter(
    ({ block, line }) => !tested.has(line) || stepsOf(block).some(({ output }) => output !== ''),
  )
  const reasons = untestedCommands.flatMap(({ begin }) => begin)
  for (const { block, line } of untested)
    assert.ok(
      reasons.some(begin => line.startsWith(begin)),
      `${placeOf(block)}: add a reason for "${line}" to test/docs/not-run.ts`,
    )
  for (const begin of reasons)
    assert.ok(
      untested.some(({ line }) => line.startsWith(begin)),
      `test/docs/not-run.ts: "${begin}": all such commands of the documents run, or there is none`,
    )
})

test('every change of a command by the tests is still needed', () => {
  const sandbox = Object.keys(replacedInSandbox).map(written => ({ environment: 'sandbox' as const, written }))
  const inline = english.flatMap(spansIn).join('\n')
  for (const { environment, written } of [...adaptedCommands, ...sandbox])
    assert.ok(
      blocksOf(environment).map(commandsOf).join('\n').concat(inline).includes(written),
      `test/docs/not-run.ts: no command of ${environment} contains ${written}`,
    )
})

test('reasons name tests that exist', () => {
  const named = untestedCommands.flatMap(({ reason }) => reason.match(/[\w./-]+\/[\w-]+\.[\w.]*ts\b|\.ci\/run/g) ?? [])
  assert.ok(named.length > 15)
  assert.deepEqual(
    named.filter(file => !existsSync(join(root, file))),
    [],
  )
})

test('a text block is a picture', () => {
  const wrong = all.filter(block => block.language === 'text' && !isPicture(block))
  assert.deepEqual(wrong.map(placeOf), [], 'output of a command belongs into a console block')
})

test('every metric in a query exists', () => {
  const reference = readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8')
  const queries = all.filter(({ language }) => language === 'promql').map(({ text }) => text)
  const metrics = queries.join('').match(/\bmultinic_\w+?(?=(_bucket|_sum|_count)?\b)/g) ?? []
  assert.ok(metrics.length > 0)
  for (const metric of metrics) assert.ok(reference.includes(`\`${metric}\``), metric)
})

test('CI runs the blocks that are tagged ci', () => {
  const ci = readFileSync(join(root, '.ci/run'), 'utf8')
  for (const block of blocksOf('ci'))
    for (const line of linesOf(withoutComments(block))) assert.match(ci, new RegExp(`\\b${line}\\b`), placeOf(block))
})

for (const block of blocksOf('shell'))
  test(`${placeOf(block)} runs`, async t => {
    const shell = await openShell({ env: {} })
    t.after(() => shell.close())
    await shell.run(block)
  })

test('README, guides and the CLI reference are checked', () => {
  for (const page of ['README.md', 'docs/guides/install.md', 'docs/reference/cli.md']) assert.ok(english.includes(page))
})
