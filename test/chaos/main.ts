/**
 * `make chaos`: rounds of chaos, each from its own seed. SEED=n begins with that one, ROUNDS and STEPS bound it, RABBITMQ=local
 * has a broker of its own. A round that goes wrong is played again in shorter pieces, and the shortest history that still
 * goes wrong is printed with its seed.
 */
import { environment } from '../../src/runtime/env.ts'
import { historyOf, type Step, shorter, told, wordsFor } from './history.ts'
import { play } from './runner.ts'
import { startStage } from './setup.ts'

const { SEED, ROUNDS = '3', STEPS = '40', RABBITMQ } = environment()
const [first, rounds, steps] = [
  number('SEED', SEED ?? `${Date.now() % 100_000}`),
  number('ROUNDS', ROUNDS),
  number('STEPS', STEPS),
]
const nodes = 3
/** How often a failed history is played again in search of a shorter one. */
const mostTries = 12

let failed = 0
for (let seed = first; seed < first + rounds; seed++) {
  const history = historyOf(seed, {
    steps,
    vms: Array.from({ length: nodes }, (_, index) => `worker-${index + 1}`),
    subnets: ['storage', 'backup'],
    words: wordsFor({ broker: RABBITMQ === 'local' }),
  })
  console.log(`seed ${seed}: ${history.length} steps`)
  const wrong = await playOnce(history)
  if (wrong.length === 0) {
    console.log(`seed ${seed}: all guarantees held, and the world came to rest`)
    continue
  }
  failed++
  console.log(`seed ${seed} went wrong:\n${wrong.join('\n')}`)
  const shortest = await shorten(history)
  console.log(`the shortest history found (SEED=${seed}, ${shortest.length} of ${history.length} steps):`)
  for (const step of shortest) console.log(`  ${told(step)}`)
}
console.log(`${rounds - failed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)

async function playOnce(history: readonly Step[]): Promise<string[]> {
  const stage = await startStage({ nodes, rabbitmq: RABBITMQ || undefined })
  try {
    return await play(stage, history)
  } finally {
    await stage.end()
  }
}

async function shorten(history: Step[]): Promise<Step[]> {
  let shortest = history
  for (let tries = 0, candidates = shorter(history); tries < mostTries; tries++) {
    const candidate = candidates.shift()
    if (!candidate) break
    if ((await playOnce(candidate)).length === 0) continue
    shortest = candidate
    candidates = shorter(candidate)
  }
  return shortest
}

function number(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) {
    console.error(`${name} is "${text}": give a whole number, e.g. make chaos ${name}=7`)
    process.exit(2)
  }
  return Number(text)
}
