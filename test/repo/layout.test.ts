/** Layout of the source tree: which folder imports which, which files are pure, which packages the bundles contain. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildAgent, buildProgram, bundle, programParts } from '../../scripts/build.ts'
import { importsOf, isTest, root, type Source, sources } from './sources.ts'

const all = sources()
const code = all.filter(({ path }) => !isTest(path))

const process = ['runtime', 'telemetry']
/** The folders that each folder of src may import, besides itself. */
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
/** The agent bundles no packages, so it imports only files that need none. */
const agentFiles = ['src/runtime/errors.ts', 'src/telemetry/log.ts', 'src/runtime/env.ts']

/** Interfaces that one folder owns and a folder below it implements: only their types may be imported. */
const implemented: Record<string, string[]> = { openstack: ['src/operator/cloud.ts'] }

const folderOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1]

test('a folder of src imports only the folders below it', () => {
  const broken = code.flatMap(({ path, imports }) => {
    const folder = folderOf(path)
    if (!folder) return []
    const allowed = mayImport[folder] ?? assert.fail(`${path}: no rule names its folder`)
    const files = folder === 'agent' ? agentFiles : []
    return imports
      .filter(({ of }) => /^(src|sandbox|web|test|scripts)\//.test(of))
      .filter(({ of }) => folderOf(of) !== folder && !allowed.includes(folderOf(of) ?? '') && !files.includes(of))
      .filter(({ of, types }) => !(types && implemented[folder]?.includes(of)))
      .map(({ of }) => `${path} imports ${of}`)
  })
  assert.deepEqual(broken, [])
})

test('only the entry point of the operator opens clouds', () => {
  const broken = code
    .filter(({ path }) => folderOf(path) === 'operator' && path !== 'src/operator/main.ts')
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ of, types }) => (folderOf(of) ?? '') in implemented && !types)
        .map(({ of }) => `${path} imports ${of}`),
    )
  assert.deepEqual(broken, [])
})

test('the contract imports zod only, and its files for the agent import nothing', () => {
  const withoutZod = [
    ...['address', 'duration', 'hash', 'interface-fields', 'interfaces', 'json', 'nic-routes', 'object'],
    ...['packet-sources', 'routing-messages', 'routing-scheme', 'setting', 'agent-settings'],
  ].map(name => `src/contract/${name}.ts`)
  const needsNothing = (path: string) => withoutZod.includes(path) || path.startsWith('src/contract/reasons/')
  const foreign = code
    .filter(({ path }) => folderOf(path) === 'contract')
    .flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ of }) => !of.startsWith('src/contract/') && of !== 'node:crypto' && (of !== 'zod' || needsNothing(path)),
        )
        .map(({ of }) => `${path} imports ${of}`),
    )
  assert.deepEqual(foreign, [])
})

/** By name, and every file whose header says so. */
const isPure = ({ path, text }: Source) =>
  /\/(plan|status|verify|detect)\.ts$|\/backends\/|^src\/controller\/plan\//.test(path) ||
  /\bPure\b/.test(/^\/\*\*[\s\S]*?\*\//.exec(text)?.[0] ?? '')

test('files that decide, and files that say so, are pure: no clock, environment or I/O', () => {
  const product = [...code, ...sources('sandbox/**/*.ts'), ...sources('web/**/*.{ts,tsx}')]
  const broken = product.filter(source => !isTest(source.path) && isPure(source)).flatMap(impurities)
  assert.deepEqual(broken, [])
})

function impurities({ path, text, imports }: Source): string[] {
  const modules = imports.filter(({ of, types }) => !types && of.startsWith('node:')).map(({ of }) => of)
  const calls = [/\bprocess\.\w/, /\bDate\.now\b/, /\bnew Date\(\)/, /\bfetch\(/, /\bMath\.random\b/, /\bsetTimeout\b/]
    .filter(call => call.test(text))
    .map(String)
  return [...modules, ...calls].map(impurity => `${path}: ${impurity}`)
}

test('the check finds a planted clock and a planted module', () => {
  const planted: Source = {
    path: 'src/x/plan.ts',
    text: 'const now = Date.now()',
    imports: importsOf('src/x/plan.ts', "import { readFileSync } from 'node:fs'"),
  }
  assert.deepEqual(impurities(planted), ['src/x/plan.ts: node:fs', 'src/x/plan.ts: /\\bDate\\.now\\b/'])
})

test('only src/runtime/env.ts reads the environment', () => {
  const readers = code.filter(({ text }) => /\bprocess\.env\b|\bprocess\[['"]env/.test(text)).map(({ path }) => path)
  assert.deepEqual(readers, ['src/runtime/env.ts'])
})

test('every source file begins with a comment that says what it is for', () => {
  const missing = code.filter(({ text }) => !/^(#!.*\n)?\/\*\*[\s\S]{20,}?\*\//.test(text)).map(({ path }) => path)
  assert.deepEqual(missing, [])
})

test('no file has more than 400 lines', () => {
  const long = sources('{src,sandbox,web,test,scripts}/**/*.{ts,tsx}')
    .map(({ path, text }) => [path, text.split('\n').length - 1] as const)
    .filter(([, lines]) => lines > 400)
    .map(([path, lines]) => `${path}: ${lines} lines`)
  assert.deepEqual(long, [])
})

test('src holds folders and one entry point', () => {
  const loose = readdirSync(join(root, 'src'), { withFileTypes: true }).filter(entry => !entry.isDirectory())
  assert.deepEqual(
    loose.map(({ name }) => name),
    ['main.ts'],
  )
})

test('test holds folders and at most two files', () => {
  const loose = readdirSync(join(root, 'test'), { withFileTypes: true }).filter(entry => !entry.isDirectory())
  assert.ok(loose.length <= 2, loose.map(({ name }) => name).join(', '))
})

test('product code imports no test fixture', () => {
  const product = sources('{src,sandbox,web,scripts}/**/*.{ts,tsx}').filter(({ path }) => !isTest(path))
  assert.deepEqual(product.flatMap(fixturesIn), [])
  const planted = importsOf('src/x/run.ts', "import type { aConfig } from '../controller/controller.fixture.ts'")
  assert.deepEqual(fixturesIn({ path: 'src/x/run.ts', imports: planted }), [
    'src/x/run.ts imports src/controller/controller.fixture.ts',
  ])
})

function fixturesIn({ path, imports }: Pick<Source, 'path' | 'imports'>): string[] {
  return imports.filter(({ of }) => of.endsWith('.fixture.ts')).map(({ of }) => `${path} imports ${of}`)
}

test('no file or folder has a name without a meaning', () => {
  const vague = all
    .filter(({ path }) => /\/(utils?|helpers?|common|misc|shared)(\.ts|\/)/.test(path))
    .map(({ path }) => path)
  assert.deepEqual(vague, [])
})

/** The index of undici, which also has fetch and mocks, is 250 kB of it. */
const maxProgramBytes = 3_800_000

test('the program bundles only the listed packages, the agent none, and neither any code of the sandbox', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bundle-'))
  try {
    assert.deepEqual(await buildAgent(join(dir, 'agent.cjs')), [])
    assert.equal(readFileSync(join(root, 'deployments/images/agent.deps.txt'), 'utf8'), '')
    const program = join(dir, 'multinic.mjs')
    const packages = await buildProgram(program)
    const listed = readFileSync(join(root, 'deployments/images/multinic.deps.txt'), 'utf8').trimEnd().split('\n')
    assert.deepEqual(packages, listed, 'run make generate and review the new packages')
    const sizes = [program, ...programParts(program).map(part => join(dir, part))].map(path => statSync(path).size)
    const size = sizes.reduce((sum, one) => sum + one)
    assert.ok(size <= maxProgramBytes, `the program has ${size} bytes, more than ${maxProgramBytes}`)
    assert.ok(Math.max(...sizes) < size / 3, 'the components have files of their own')
    await buildProgram(program)
    assert.equal(programParts(program).length, sizes.length - 1, 'a second build leaves no old files')

    const planted = join(dir, 'planted.ts')
    writeFileSync(planted, `import { catalogue } from '${root}/sandbox/faults/catalogue.ts'\nconsole.log(catalogue)\n`)
    await assert.rejects(
      bundle([planted], 'esm', { outfile: join(dir, 'planted.mjs') }),
      /production bundles must not contain .*sandbox\/faults\/catalogue\.ts/,
    )
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('the lock files name no registry, and all are of npm', () => {
  for (const path of ['package-lock.json', 'test/mutation/package-lock.json'])
    assert.doesNotMatch(readFileSync(join(root, path), 'utf8'), /"resolved"/, path)
  for (const other of ['yarn.lock', 'pnpm-lock.yaml', 'npm-shrinkwrap.json'])
    assert.ok(!existsSync(join(root, other)), other)
})
