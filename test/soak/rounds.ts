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
    for (let due = everySeconds; !over(); due += everySeconds) {
      const wait = Math.min(due, seconds) - elapsed()
      await sleep(Math.max(0, wait * 1_000), undefined, { signal: ended }).catch(() => {})
      if (due >= seconds) return
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
