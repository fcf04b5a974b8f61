/**
 * `make mutate`: changes the code that decides, one expression at a time, and runs the unit tests of its component
 * that start no server. A change that no test notices survived. ONLY=component selects one.
 *
 * Writes {file, killed, survived, score} of every file to dist/mutation.json, and all survivors to dist/mutation.md. A second run
 * tests only what changed since the last one. Fails if a file has a score below the goal.
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { environment } from '../src/runtime/env.ts'
import { type MutationReport, type MutationScore, pageOf, scoresOf, withoutServers } from './mutation.ts'
import { root, testFiles } from './test-files.ts'

/** Percent of the mutants of a file that its tests must notice. */
const goal = 90

/** The files that decide, by component. */
const components: Readonly<Record<string, readonly string[]>> = {
  agent: ['desired', 'plan', 'preflight', 'removal', 'rollback-plan', 'verify', 'render/*'],
  contract: ['*'],
  controller: ['plan/*', 'rollout', 'status'],
  inventory: ['plan', 'verdicts'],
  operator: ['deliver-plan', 'plan', 'removals', 'status', 'verdict-changes', 'verdicts'],
  viola: ['plan'],
}

const { ONLY } = environment()
if (ONLY && !components[ONLY]) {
  console.error(`no component "${ONLY}"; available: ${Object.keys(components).join(' ')}`)
  process.exit(1)
}
const out = join(root, 'dist/mutation')
process.chdir(root)
mkdirSync(out, { recursive: true })

const scores: MutationScore[] = []
const pages: string[] = []
for (const component of Object.keys(components).filter(name => !ONLY || name === ONLY)) {
  const report = mutate(component)
  scores.push(...scoresOf(report))
  pages.push(pageOf(report))
}
writeFileSync(join(root, 'dist/mutation.json'), `${JSON.stringify(scores, null, 1)}\n`)
writeFileSync(join(root, 'dist/mutation.md'), `# Mutants that survived\n\n${pages.filter(Boolean).join('\n')}`)
for (const { file, killed, survived, score } of scores)
  console.log(
    `${score >= goal ? 'meets ' : 'MISSES'} ${score.toFixed(1).padStart(5)} %  ${file}: ${killed} killed, ${survived} survived`,
  )
const missed = scores.filter(({ score }) => score < goal)
console.log(
  `${scores.length - missed.length} of ${scores.length} files meet ${goal} %; dist/mutation.md lists the survivors`,
)
process.exitCode = missed.length > 0 ? 1 : 0

function mutate(component: string): MutationReport {
  const files = (components[component] ?? []).flatMap(name => globSync(`src/${component}/${name}.ts`)).sort()
  const tests = testFiles(`src/${component}/`).plain
  const config = {
    mutate: files.filter(file => !/\.(test|fixture)\.ts$/.test(file)),
    testRunner: 'tap',
    plugins: ['@stryker-mutator/tap-runner'],
    tap: {
      testFiles: withoutServers(tests, file => readFileSync(file, 'utf8')),
      nodeArgs: ['--test-reporter=tap', '-r', '{{hookFile}}', '{{testFile}}'],
    },
    coverageAnalysis: 'perTest',
    // Stryker reads a tsconfig by the API of an older TypeScript. Node needs none to run the files.
    tsconfigFile: 'none',
    disableTypeChecks: false,
    ignorePatterns: ['dist', 'docs', 'web'],
    tempDirName: 'dist/mutation/sandbox',
    incremental: true,
    incrementalFile: join(out, `${component}.incremental.json`),
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: join(out, `${component}.json`) },
    concurrency: availableParallelism(),
    allowConsoleColors: false,
  }
  const settings = join(out, `${component}.config.json`)
  writeFileSync(settings, JSON.stringify(config))
  const program = join(out, 'tool/node_modules/@stryker-mutator/core/bin/stryker.js')
  // The test processes are started as `node`.
  const path = `${dirname(process.execPath)}:${environment()['PATH']}`
  const { status } = spawnSync(process.execPath, [program, 'run', settings], {
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  })
  if (status !== 0) throw new Error(`mutation tests of ${component} could not run`)
  return JSON.parse(readFileSync(join(out, `${component}.json`), 'utf8')) as MutationReport
}
