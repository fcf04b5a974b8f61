/**
 * Runs a check with thousands of broken inputs. FUZZ_SEED repeats a run, FUZZ_RUNS sets its length. A failure shows its seed
 * and the smallest input that fails.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { environment } from '../../src/runtime/env.ts'

const { FUZZ_SEED, FUZZ_RUNS } = environment()
/** CPU time limit of a case. It normally takes well below a millisecond, but the machine may be busy. */
const maxMs = 10_000

export interface FuzzOptions {
  runs?: number
  /** Minimum in 10,000 cases for each outcome, such as `accepted` and `refused`: otherwise the inputs cover too little. */
  atLeast: Record<string, number>
}

/** The same cases in every run, unless FUZZ_SEED is set. */
const defaultSeed = 20_261_115

/** `check` returns the outcome of an input, and throws if it is wrong. */
export async function fuzz<T>(
  inputs: fc.Arbitrary<T>,
  check: (input: T) => string | Promise<string>,
  { runs = 2_000, atLeast }: FuzzOptions,
): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {}
  const property = fc.asyncProperty(inputs, async input => {
    const started = process.cpuUsage()
    const outcome = await check(input)
    assert.ok(cpuMsSince(started) < maxMs, 'the input took too long')
    assert.deepEqual(Object.keys(Object.prototype), [], 'Object.prototype was changed')
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  })
  const numRuns = FUZZ_RUNS ? Number(FUZZ_RUNS) : runs
  await fc.assert(property, { numRuns, seed: Number(FUZZ_SEED ?? defaultSeed) })
  for (const [outcome, share] of Object.entries(atLeast)) {
    const minimum = (share * numRuns) / 10_000
    assert.ok((outcomes[outcome] ?? 0) >= minimum, `fewer than ${minimum} ${outcome}: ${JSON.stringify(outcomes)}`)
  }
  return outcomes
}

/** CPU time of this process. */
export function cpuMsSince(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

/** Runs `work` and returns the message of its error. Fails if it throws something else than an Error with a message. */
export async function refusalOf(work: () => unknown): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    assert.ok(error instanceof Error && error.message !== '', `threw ${String(error)}`)
    assert.ok(!isProgramError(error), error.stack ?? error.message)
    return error.message
  }
}

/** Errors that only a bug causes. */
function isProgramError(error: Error): boolean {
  return ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'AssertionError'].includes(error.name)
}
