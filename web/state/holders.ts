/**
 * A question to the inventory and its outcome: the answer, or why there is none. An unreachable inventory is not an empty answer.
 */
import { useEffect, useState } from 'preact/hooks'
import type { HoldersAnswer } from '../../src/contract/inventory.ts'
import { holders } from './api.ts'

export type Outcome<T> = { answer: T; error?: undefined } | { answer?: undefined; error: string }

export async function outcomeOf<T>(asked: Promise<T>): Promise<Outcome<T>> {
  try {
    return { answer: await asked }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** Who has or had the value. Undefined while the server is asked, and for an empty value. */
export function useHolders(q: string, delayMs = 0): Outcome<HoldersAnswer> | undefined {
  return useOutcome(q, holders, delayMs)
}

/** The outcome for the newest `q` only. */
export function useOutcome<T>(
  q: string,
  ask: (q: string, signal: AbortSignal) => Promise<T>,
  delayMs: number,
): Outcome<T> | undefined {
  const [found, setFound] = useState<{ q: string; outcome: Outcome<T> }>()
  useEffect(() => {
    if (q === '') return
    const stop = new AbortController()
    const timer = setTimeout(async () => {
      const outcome = await outcomeOf(ask(q, stop.signal))
      if (!stop.signal.aborted) setFound({ q, outcome })
    }, delayMs)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [q, delayMs])
  return found?.q === q ? found.outcome : undefined
}
