/**
 * `make chaos`: rounds of chaos, each with its own seed. SEED=n sets the first seed, ROUNDS and STEPS limit the run,
 * RABBITMQ=local starts a broker. After a failure it repeats shorter parts of the history, and prints the shortest part that
 * still fails with its seed.
 */
import { finish, none } from '../../scripts/totals.ts'
import { environment } from '../../src/runtime/env.ts'
import { describeStep, faultsFor, historyOf, type Step, shorter } from './history.ts'
import { runHistory } from './runner.ts'
import { startChaosSetup } from './setup.ts'

const { SEED, ROUNDS = '3', STEPS = '40', RABBITMQ } = environment()
const [first, rounds, steps] = [
  number('SEED', SEED ?? `${Date.now() % 100_000}`),
  number('ROUNDS', ROUNDS),
  number('STEPS', STEPS),
]
const nodes = 3
/** Number of attempts to shorten a failed history. */
const maxAttempts = 12

let failed = 0
for (let seed = first; seed < first + rounds; seed++) {
  const history = historyOf(seed, {
    steps,
    vms: Array.from({ length: nodes }, (_, index) => `worker-${index + 1}`),
    subnets: ['storage', 'backup'],
    faults: faultsFor({ broker: RABBITMQ === 'local' }),
  })
  console.log(`seed ${seed}: ${history.length} steps`)
  const violations = await runOnce(history)
  if (violations.length === 0) {
    console.log(`seed ${seed}: all guarantees held, and the system reached the requested state`)
    continue
  }
  failed++
  console.log(`seed ${seed} failed:\n${violations.join('\n')}`)
  const shortest = await shorten(history)
  console.log(`shortest failing history (SEED=${seed}, ${shortest.length} of ${history.length} steps):`)
  for (const step of shortest) console.log(`  ${describeStep(step)}`)
}
await finish({ ...none, passed: rounds - failed, failed })
process.exit()

async function runOnce(history: readonly Step[]): Promise<string[]> {
  const setup = await startChaosSetup({ nodes, rabbitmq: RABBITMQ || undefined })
  try {
    return await runHistory(setup, history)
  } finally {
    await setup.stop()
  }
}

async function shorten(history: Step[]): Promise<Step[]> {
  let shortest = history
  for (let attempt = 0, candidates = shorter(history); attempt < maxAttempts; attempt++) {
    const candidate = candidates.shift()
    if (!candidate) break
    if ((await runOnce(candidate)).length === 0) continue
    shortest = candidate
    candidates = shorter(candidate)
  }
  return shortest
}

function number(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) {
    console.error(`${name}: "${text}" is not a whole number; example: make chaos ${name}=7`)
    process.exit(2)
  }
  return Number(text)
}
