/**
 * Random choices of a seed.
 */
import { indexesOf } from '../support/random.ts'

/** By name, with its weight. A text that it returns is added to the description of the step. */
export type Operations = Record<string, [weight: number, act: () => unknown]>

export type Draws = ReturnType<typeof drawsOf>

export function drawsOf(seed: number) {
  const random = indexesOf(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  return {
    below,
    pick: <T>(all: readonly T[]): T => all[below(all.length)] as T,
    chance: (probability: number) => random() < probability,
    operation(operations: Operations): [name: string, act: () => unknown] {
      const all = Object.entries(operations).flatMap(([name, [weight, act]]) =>
        Array.from({ length: weight }, () => [name, act] as [string, () => unknown]),
      )
      return all[below(all.length)] ?? ['', () => {}]
    },
  }
}
