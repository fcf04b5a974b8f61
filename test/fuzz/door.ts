/**
 * A door that is given thousands of broken inputs. FUZZ_SEED repeats a run, FUZZ_RUNS makes a longer one; a failure names its
 * seed and the smallest input that still fails.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { environment } from '../../src/runtime/env.ts'

const { FUZZ_SEED, FUZZ_RUNS } = environment()
/** A case takes well below a millisecond: one that computes for so long has lost its way. A machine may stand still as long. */
const longestMs = 10_000

export interface DoorOptions {
  runs?: number
  /** What the cases come to, such as `taken` and `refused`, each at least so often: or the inputs try too little. */
  atLeast: Record<string, number>
}

/** The same cases in every run; FUZZ_SEED=n hunts for others. */
const usualSeed = 20_261_115

/** `judge` says what became of an input, in a word; it throws when that must not be. */
export async function fuzzDoor<T>(
  inputs: fc.Arbitrary<T>,
  judge: (input: T) => string | Promise<string>,
  { runs = 10_000, atLeast }: DoorOptions,
): Promise<Record<string, number>> {
  const became: Record<string, number> = {}
  const property = fc.asyncProperty(inputs, async input => {
    const started = process.cpuUsage()
    const word = await judge(input)
    assert.ok(computedMs(started) < longestMs, 'it took too long')
    assert.deepEqual(Object.keys(Object.prototype), [], 'the prototype of every object was changed')
    became[word] = (became[word] ?? 0) + 1
  })
  await fc.assert(property, {
    numRuns: FUZZ_RUNS ? Number(FUZZ_RUNS) : runs,
    seed: Number(FUZZ_SEED ?? usualSeed),
  })
  for (const [word, least] of Object.entries(atLeast))
    assert.ok((became[word] ?? 0) >= least, `${word}: ${became[word] ?? 0} of ${JSON.stringify(became)}`)
  return became
}

/** Of this process since then. */
export function computedMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

/** Runs `work`, and gives the message of what it throws; anything but an Error with words in it is a fault. */
export async function refusalOf(work: () => unknown): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    assert.ok(error instanceof Error && error.message !== '', `it threw ${String(error)}`)
    assert.ok(!isOwnFault(error), error.stack ?? error.message)
    return error.message
  }
}

/** Errors that only a mistake in the program makes. */
function isOwnFault(error: Error): boolean {
  return ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'AssertionError'].includes(error.name)
}
