/**
 * Runs several tasks at the same time, each at its own interval, for a given time.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface PeriodicTask {
  everySeconds: number
  /** A late task leaves out what it missed, instead of repeating it at once. */
  skipsMissed?: boolean
  /** `elapsed`: seconds since the start. */
  run(elapsed: number): Promise<void>
}

/** A late task runs at once. A failure of one task stops all. */
export async function runPeriodically(
  seconds: number,
  tasks: readonly PeriodicTask[],
  signal: AbortSignal,
): Promise<void> {
  const startedAt = performance.now()
  const elapsed = () => (performance.now() - startedAt) / 1_000
  const failed = new AbortController()
  const stopped = AbortSignal.any([signal, failed.signal])
  const isOver = () => stopped.aborted || elapsed() >= seconds

  async function repeat({ everySeconds, skipsMissed, run }: PeriodicTask): Promise<void> {
    const next = (due: number) =>
      due + everySeconds * (skipsMissed ? Math.max(1, Math.ceil((elapsed() - due) / everySeconds)) : 1)
    for (let due = everySeconds; !isOver(); due = next(due)) {
      const wait = Math.min(due, seconds) - elapsed()
      await sleep(Math.max(0, wait * 1_000), undefined, { signal: stopped }).catch(() => {})
      if (due >= seconds) return
      if (!isOver()) await run(elapsed())
    }
  }
  await Promise.all(
    tasks.map(task =>
      repeat(task).catch(error => {
        failed.abort()
        // Ctrl-C stops the components too, so failures are expected.
        if (!signal.aborted) throw error
      }),
    ),
  )
}
