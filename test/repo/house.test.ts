/** House rules: who may import whom, which files stay pure, what the agent carries. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildAgent, buildProgram } from '../../scripts/build.ts'
import { isTest, root, type Source, sources } from './sources.ts'

const all = sources()
const code = all.filter(({ path }) => !isTest(path))

/** What each folder of src may import of ours, besides itself. */
const process = ['runtime', 'telemetry']
const mayImport: Record<string, string[]> = {
  contract: [],
  runtime: [],
  telemetry: ['contract', 'runtime'],
  server: ['contract', 'kube', ...process],
  'http-client': ['contract', ...process],
  kube: ['contract', ...process],
  openstack: ['contract', 'http-client', ...process],
  operator: ['contract', 'kube', 'openstack', 'http-client', 'server', ...process],
  viola: ['contract', 'kube', 'server', ...process],
  controller: ['contract', 'kube', 'server', ...process],
  agent: ['contract'],
  inventory: ['contract', 'server', ...process],
  cli: ['contract', 'kube', ...process],
  program: ['agent', 'cli', 'controller', 'inventory', 'operator', 'server', 'viola', ...process],
}
/** The agent carries no packages, so it takes only what needs none. */
const forAgent = ['src/runtime/errors.ts', 'src/telemetry/log.ts', 'src/runtime/env.ts']

const folderOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1]

test('folders of src import only what lies below them', () => {
  const broken = code.flatMap(({ path, imports }) => {
    const folder = folderOf(path)
    if (!folder) return []
    const allowed = mayImport[folder] ?? assert.fail(`${path}: no rule names its folder`)
    const files = folder === 'agent' ? forAgent : []
    return imports
      .filter(({ of }) => /^(src|sandbox|web|test|scripts)\//.test(of))
      .filter(({ of }) => folderOf(of) !== folder && !allowed.includes(folderOf(of) ?? '') && !files.includes(of))
      .map(({ of }) => `${path} imports ${of}`)
  })
  assert.deepEqual(broken, [])
})

test('the words import zod and nothing else, and the files for the agent not even that', () => {
  const free = ['address', 'duration', 'hash', 'interfaces', 'json', 'object'].map(name => `src/contract/${name}.ts`)
  const isFree = (path: string) => free.includes(path) || path.startsWith('src/contract/reasons/')
  const foreign = code
    .filter(({ path }) => folderOf(path) === 'contract')
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ of }) => !of.startsWith('src/contract/') && of !== 'node:crypto' && (of !== 'zod' || isFree(path)))
        .map(({ of }) => `${path} imports ${of}`),
    )
  assert.deepEqual(foreign, [])
})

const isPure = (path: string) => /\/(plan|status|verify|detect)\.ts$|\/render\/|^src\/controller\/plan\//.test(path)

test('files that decide are pure: no clock, no environment, no I/O', () => {
  const broken = code.filter(({ path }) => isPure(path)).flatMap(impurities)
  assert.deepEqual(broken, [])
})

function impurities({ path, text, imports }: Source): string[] {
  const modules = imports.filter(({ of, types }) => !types && of.startsWith('node:')).map(({ of }) => of)
  const words = [/\bprocess\./, /\bDate\.now\b/, /\bnew Date\(\)/, /\bfetch\(/, /\bMath\.random\b/, /\bsetTimeout\b/]
    .filter(word => word.test(text))
    .map(String)
  return [...modules, ...words].map(what => `${path}: ${what}`)
}

test('a planted impurity and a planted import are caught', () => {
  const planted: Source = {
    path: 'src/x/plan.ts',
    text: 'const now = Date.now()',
    imports: [{ of: 'node:fs', types: false }],
  }
  assert.deepEqual(impurities(planted), ['src/x/plan.ts: node:fs', 'src/x/plan.ts: /\\bDate\\.now\\b/'])
})

test('only one file reads the environment', () => {
  const readers = code.filter(({ text }) => /\bprocess\.env\b|\bprocess\[['"]env/.test(text)).map(({ path }) => path)
  assert.deepEqual(readers, ['src/runtime/env.ts'])
})

test('every source file says what it is for', () => {
  const silent = code.filter(({ text }) => !/^(#!.*\n)?\/\*\*[\s\S]{20,}?\*\//.test(text)).map(({ path }) => path)
  assert.deepEqual(silent, [])
})

test('files are short enough to read in one go', () => {
  const long = [...all, ...sources('sandbox/**/*.ts'), ...sources('test/**/*.ts'), ...sources('scripts/**/*.ts')]
    .map(({ path, text }) => [path, text.split('\n').length - 1] as const)
    .filter(([, lines]) => lines > 400)
    .map(([path, lines]) => `${path}: ${lines} lines`)
  assert.deepEqual(long, [])
})

test('no room without a name', () => {
  const vague = all
    .filter(({ path }) => /\/(utils?|helpers?|common|misc|shared)(\.ts|\/)/.test(path))
    .map(({ path }) => path)
  assert.deepEqual(vague, [])
})

test('the bundles hold just the packages that were agreed on, the agent none', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bundle-'))
  try {
    assert.deepEqual(await buildAgent(join(dir, 'agent.cjs')), [])
    assert.equal(readFileSync(join(root, 'deployments/images/agent.deps.txt'), 'utf8'), '')
    const packages = await buildProgram(join(dir, 'multinic.mjs'))
    const agreed = readFileSync(join(root, 'deployments/images/multinic.deps.txt'), 'utf8').trimEnd().split('\n')
    assert.deepEqual(packages, agreed, 'run make generate and look at what came in')
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('lock files name no registry', () => {
  assert.doesNotMatch(readFileSync(join(root, 'package-lock.json'), 'utf8'), /"resolved"/)
  for (const other of ['yarn.lock', 'pnpm-lock.yaml', 'npm-shrinkwrap.json'])
    assert.ok(!existsSync(join(root, other)), other)
})
