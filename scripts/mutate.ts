/**
 * `make mutate`: changes the code that decides, one expression at a time, and runs the unit tests of its component
 * that start no server. A change that no test notices survived. ONLY=operator or ONLY=operator/plan selects files, and
 * SINCE=commit those that differ from the place where this branch left the commit, or whose own test does.
 *
 * Writes {file, killed, survived, score} of every file to dist/mutation.json, and all survivors to dist/mutation.md. A second run
 * tests only what changed since the last one. Fails if a file has a score below the goal.
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { environment } from '../src/runtime/env.ts'
import {
  type MutationException,
  type MutationReport,
  type MutationScore,
  pageOf,
  scoresOf,
  selectFiles,
  testsAgainst,
  withExceptions,
} from './mutation.ts'
import { root, testFiles } from './test-files.ts'

/** Percent of the mutants of a file that its tests must notice. */
const goal = 90

/** Of the contract: schemas, constants and catalogues. What is generated from them is compared as a whole. */
const dataFiles = [
  ...['agent-input', 'contrabass', 'crd', 'health', 'interface-fields', 'inventory', 'metrics', 'node-config'],
  ...['openstack-config', 'operator-api', 'renumber-status', 'settings', 'viola'],
]

/** The files that decide, by component. */
const components: Readonly<Record<string, readonly string[]>> = {
  agent: [
    'plan/{desired,foreign-rules,plan,preflight,removal}',
    'apply/rollback-plan',
    'verify/verify',
    'backends/{device,files,ifcfg,netplan,networkd,networkmanager,node}',
  ],
  contract: [`!(${dataFiles.join('|')})`],
  controller: ['plan/*', 'rollout', 'status'],
  inventory: ['plan', 'verdicts'],
  operator: ['deliver/deliver-plan', 'plan/{plan,removals,verdicts}', 'record/verdict-changes', 'status/status'],
  viola: ['plan'],
}

const exceptions = JSON.parse(readFileSync(join(root, 'test/mutation/exceptions.json'), 'utf8')) as MutationException[]
const out = join(root, 'dist/mutation')
process.chdir(root)
mkdirSync(out, { recursive: true })

const { ONLY, SINCE } = environment()
const all = Object.entries(components).flatMap(([component, names]) =>
  names
    .flatMap(name => globSync(`src/${component}/${name}.ts`))
    .filter(file => !/\.(test|fixture)\.ts$/.test(file))
    .sort(),
)
if (selectFiles(all, ONLY).length === 0) {
  console.error(`no files in "${ONLY}"; available: ${Object.keys(components).join(' ')}`)
  process.exit(1)
}
const files = selectFiles(all, ONLY, SINCE ? changedSince(SINCE) : undefined)
if (SINCE) console.log(`changed since ${SINCE}: ${files.join(' ') || 'no file that decides'}`)

const scores: MutationScore[] = []
const pages: string[] = []
for (const component of Object.keys(components)) {
  const own = selectFiles(files, component)
  if (own.length === 0) continue
  const report = withExceptions(mutate(component, own), exceptions)
  scores.push(...scoresOf(report))
  pages.push(pageOf(report))
}
writeFileSync(join(root, 'dist/mutation.json'), `${JSON.stringify(scores, null, 1)}\n`)
writeFileSync(
  join(root, 'dist/mutation.md'),
  `# Mutants that survived or are explained\n\n${pages.filter(Boolean).join('\n')}`,
)
for (const { file, killed, survived, score } of scores)
  console.log(
    `${score >= goal ? 'meets ' : 'MISSES'} ${score.toFixed(1).padStart(5)} %  ${file}: ${killed} killed, ${survived} survived`,
  )
const missed = scores.filter(({ score }) => score < goal)
console.log(
  `${scores.length - missed.length} of ${scores.length} files meet ${goal} %; dist/mutation.md lists the survivors`,
)
process.exitCode = missed.length > 0 ? 1 : 0

function changedSince(commit: string): ReadonlySet<string> {
  const diff = spawnSync('git', ['diff', '--name-only', '--merge-base', commit, '--'], { encoding: 'utf8' })
  if (diff.status !== 0) {
    console.error(`cannot compare with "${commit}": ${diff.stderr.trim()}`)
    process.exit(1)
  }
  return new Set(diff.stdout.split('\n'))
}

function mutate(component: string, files: readonly string[]): MutationReport {
  const config = {
    mutate: files,
    testRunner: 'tap',
    plugins: ['@stryker-mutator/tap-runner'],
    tap: {
      testFiles: testsAgainst(selectFiles(all, component), testFiles(`src/${component}/`).plain, file =>
        readFileSync(file, 'utf8'),
      ),
      nodeArgs: ['--test-reporter=tap', '-r', '{{hookFile}}', '{{testFile}}'],
    },
    coverageAnalysis: 'perTest',
    // Stryker reads a tsconfig by the API of an older TypeScript. Node needs none to run the files.
    tsconfigFile: 'none',
    disableTypeChecks: false,
    ignorePatterns: ['dist', 'docs', 'web'],
    tempDirName: `dist/mutation/sandbox-${component}`,
    incremental: true,
    incrementalFile: join(out, `${component}.incremental.json`),
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: join(out, `${component}.json`) },
    concurrency: availableParallelism(),
    // On a busy machine a slow start must not count as a test that noticed the change.
    timeoutMS: 20_000,
    allowConsoleColors: false,
  }
  const settings = join(out, `${component}.config.json`)
  writeFileSync(settings, JSON.stringify(config))
  const program = join(out, 'tool/node_modules/@stryker-mutator/core/bin/stryker.js')
  // The test processes are started as `node`.
  const path = `${dirname(process.execPath)}:${environment()['PATH']}`
  const { status } = spawnSync(process.execPath, [program, 'run', settings], {
    stdio: 'inherit',
    // Each run loads the same files: Node then reads them without their types from the cache.
    env: { ...process.env, PATH: path, NODE_COMPILE_CACHE: join(out, 'compiled') },
  })
  if (status !== 0) throw new Error(`mutation tests of ${component} could not run`)
  const report = JSON.parse(readFileSync(join(out, `${component}.json`), 'utf8')) as MutationReport
  // An incremental report also has the files of earlier runs.
  return { files: Object.fromEntries(Object.entries(report.files).filter(([file]) => files.includes(file))) }
}
