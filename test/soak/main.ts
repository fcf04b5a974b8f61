/**
 * `make soak`: MINUTES (30) of steady churn with NODES (1,000), from SEED. Prints a table of verdicts and writes them with all
 * samples to dist/soak.jsonl. Exit code 1 if a check failed. Installs PostgreSQL if it is missing, and runs in namespaces of its own.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { currentCommit } from '../../scripts/bench-lines.ts'
import { finish, none } from '../../scripts/totals.ts'
import { environment } from '../../src/runtime/env.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { isolationUnavailable, removeStaleIsolations, runIsolated } from '../rigs/isolation.ts'
import { runWithin } from '../rigs/process.ts'
import { soak } from './soak.ts'
import { tableOf } from './verdict.ts'

const root = join(import.meta.dirname, '../..')
const { MINUTES = '30', NODES = '1000', SEED, MULTINIC_ISOLATION } = environment()
const [minutes, nodes, seed] = [
  number('MINUTES', MINUTES, 1, 24 * 60),
  number('NODES', NODES, 10, 5_000),
  number('SEED', SEED ?? `${Date.now() % 100_000}`, 0, 999_999_999),
]
if (!MULTINIC_ISOLATION) process.exit(await runInNamespaces())

/** Of the start: the tree may change during a long soak. */
const [on, commit] = [new Date().toISOString().slice(0, 10), currentCommit()]
const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    console.log('stopping early')
    stopped.abort()
  })

console.log(`seed ${seed}: ${nodes} nodes, ${minutes} minutes of churn`)
const { verdicts, samples, warnings, faults } = await soak({
  ...{ seed, nodes, seconds: minutes * 60, actionsPerSecond: 1, sampleSeconds: 15, pollSeconds: 20 },
  ...{ faultSeconds: 150, lastFaultSeconds: minutes * 60, recoverySeconds: 30 },
  memory: { share: 0.1, slack: 0 },
  minUndisturbed: 0.25,
  print: line => console.log(line),
  signal: stopped.signal,
}).catch(error => {
  console.error(stopped.signal.aborted ? 'stopped early' : `the soak failed: ${messageOf(error)}`)
  process.exit(1)
})

if (stopped.signal.aborted) {
  console.log('stopped early: no verdict')
  process.exit(1)
}
const file = join(root, 'dist/soak.jsonl')
const lines = [
  { kind: 'run', seed, nodes, minutes, on, commit },
  ...verdicts.map(verdict => ({ kind: 'verdict', ...verdict })),
  ...warnings.map(warning => ({ kind: 'warning', ...warning })),
  ...faults.map(fault => ({ kind: 'fault', ...fault })),
  ...samples.map(sample => ({ kind: 'sample', ...sample })),
]
mkdirSync(join(root, 'dist'), { recursive: true })
writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
console.log(`\n${tableOf(verdicts)}\n`)
const failed = verdicts.filter(({ met }) => !met)
if (failed.length === 0) console.log('all checks passed; samples and verdicts are in dist/soak.jsonl')
else console.log(`failed: ${failed.map(({ check }) => check).join(', ')}; samples and verdicts are in dist/soak.jsonl`)
await finish({ ...none, passed: verdicts.length - failed.length, failed: failed.length })
process.exit()

/** This program again, in namespaces of its own. Returns its exit code. */
async function runInNamespaces(): Promise<number> {
  const problem = (await isolationUnavailable()) ?? (await provision())
  if (problem) {
    console.error(`cannot run the soak: ${problem}`)
    return 1
  }
  await removeStaleIsolations()
  // The program in the namespaces gets Ctrl-C too, and ends this one.
  process.on('SIGINT', () => {})
  // The first configuration and the wait for an idle fleet at the end need time as well.
  const options = { within: (minutes + 45) * 60_000, env: { SEED: `${seed}` } }
  const { code } = await runIsolated([process.execPath, import.meta.filename], options)
  return code
}

async function provision(): Promise<string | undefined> {
  const { code } = await runWithin([join(root, 'scripts/provision.sh'), 'postgres'], { within: 20 * 60_000 })
  return code === 0 ? undefined : 'provision.sh postgres failed (see above)'
}

function number(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (!/^\d{1,9}$/.test(text) || value < min || value > max) {
    console.error(`${name}: "${text}" is not a whole number from ${min} to ${max}; example: make soak ${name}=${min}`)
    process.exit(2)
  }
  return value
}
