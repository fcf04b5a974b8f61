/**
 * Several works side by side, each again and again at its own pace, until the time is over.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Round {
  everySeconds: number
  /** Told how many seconds have passed. */
  work(elapsed: number): Promise<void>
}

/** A work that is late goes on at once. Whatever goes wrong in one of them ends all. */
export async function inRounds(seconds: number, rounds: readonly Round[], signal: AbortSignal): Promise<void> {
  const began = performance.now()
  const elapsed = () => (performance.now() - began) / 1_000
  const wrong = new AbortController()
  const ended = AbortSignal.any([signal, wrong.signal])
  const over = () => ended.aborted || elapsed() >= seconds

  async function play({ everySeconds, work }: Round): Promise<void> {
    for (let round = 1; !over(); round++) {
      const wait = Math.min(round * everySeconds, seconds) - elapsed()
      await sleep(Math.max(0, wait * 1_000), undefined, { signal: ended }).catch(() => {})
      if (!over()) await work(elapsed())
    }
  }
  await Promise.all(
    rounds.map(round =>
      play(round).catch(error => {
        wrong.abort()
        // Ctrl-C reaches the parts too: what breaks then is no news.
        if (!signal.aborted) throw error
      }),
    ),
  )
}
