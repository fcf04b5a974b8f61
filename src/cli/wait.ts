/**
 * Waits for a result in a cluster, with the time limit of `--timeout`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseDuration } from '../contract/duration.ts'
import { CliError } from './io.ts'

export const defaultTimeout = '5m'
const pollMs = 250

export function timeoutMsOf({ timeout = defaultTimeout }: { timeout?: string }): number {
  const ms = parseDuration(timeout)
  if (ms === undefined) throw new CliError(`--timeout: "${timeout}" is not a duration; use 90s or 5m, for example`)
  return ms
}

/** Polls until there is a result; undefined after the time limit. */
export async function waitFor<T>(
  flags: { timeout?: string },
  poll: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const until = performance.now() + timeoutMsOf(flags); ; ) {
    const found = await poll()
    if (found !== undefined || performance.now() > until) return found
    await sleep(pollMs)
  }
}
