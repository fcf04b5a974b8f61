/**
 * `make soak`: MINUTES (30) of steady churn at NODES (1,000), from SEED. Prints verdicts as a table and writes them with all
 * samples to dist/soak.jsonl. Exit code 1 when one is not met.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../../src/runtime/env.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { soak } from './soak.ts'
import { tableOf } from './verdict.ts'

const { MINUTES = '30', NODES = '1000', SEED } = environment()
const [minutes, nodes, seed] = [
  number('MINUTES', MINUTES, 1, 24 * 60),
  number('NODES', NODES, 10, 5_000),
  number('SEED', SEED ?? `${Date.now() % 100_000}`, 0, 999_999_999),
]

const ended = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    console.log('ending early')
    ended.abort()
  })

console.log(`seed ${seed}: ${nodes} nodes, ${minutes} minutes of churn`)
const { verdicts, samples, complaints } = await soak({
  ...{ seed, nodes, seconds: minutes * 60, actsPerSecond: 1, sampleSeconds: 15, pollSeconds: 20 },
  ...{ faultSeconds: 150, lastFaultSeconds: minutes * 60, echoSeconds: 30 },
  memory: { share: 0.1, slack: 0 },
  leastOpen: 0.25,
  say: line => console.log(line),
  signal: ended.signal,
}).catch(error => {
  console.error(ended.signal.aborted ? 'it was ended early' : `the soak broke: ${messageOf(error)}`)
  process.exit(1)
})

if (ended.signal.aborted) {
  console.log('it was ended early: there is no verdict')
  process.exit(1)
}
const file = join(import.meta.dirname, '../../dist/soak.jsonl')
const lines = [
  { kind: 'run', seed, nodes, minutes },
  ...verdicts.map(verdict => ({ kind: 'verdict', ...verdict })),
  ...complaints.map(complaint => ({ kind: 'complaint', ...complaint })),
  ...samples.map(sample => ({ kind: 'sample', ...sample })),
]
mkdirSync(join(import.meta.dirname, '../../dist'), { recursive: true })
writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
console.log(`\n${tableOf(verdicts)}\n`)
const failed = verdicts.filter(({ met }) => !met)
if (failed.length === 0) console.log('all met; samples and verdicts are in dist/soak.jsonl')
else console.log(`not met: ${failed.map(({ check }) => check).join(', ')}; samples and verdicts are in dist/soak.jsonl`)
process.exit(failed.length > 0 ? 1 : 0)

function number(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (!/^\d{1,9}$/.test(text) || value < least || value > most) {
    console.error(`${name} is "${text}": give a whole number from ${least} to ${most}, e.g. make soak ${name}=${least}`)
    process.exit(2)
  }
  return value
}
