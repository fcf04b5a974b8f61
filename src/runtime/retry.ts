/**
 * Retries with exponential backoff and jitter.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Backoff {
  firstMs: number
  maxMs: number
}

export interface BackoffOptions {
  /** The delay that the server asked for, in its Retry-After header. */
  retryAfterMs?: number | undefined
  random?: (() => number) | undefined
}

/**
 * The delay after this many failures in a row: it doubles each time, and a random half of it is dropped so that clients do
 * not retry in step. Never below Retry-After, never above the maximum.
 */
export function backoffMs(
  failures: number,
  { firstMs, maxMs }: Backoff,
  { retryAfterMs = 0, random = Math.random }: BackoffOptions = {},
): number {
  const delay = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30)) * (0.5 + random() / 2)
  return Math.max(delay, Math.min(retryAfterMs, maxMs))
}

export interface RetryOptions extends Backoff {
  /** Calls in total. */
  attempts: number
  isRetryable: (error: unknown) => boolean
  retryAfterMs?: (error: unknown) => number | undefined
  onRetry?: (error: unknown, attempt: number) => void
  /** Ends the delay. The call itself has to follow it too. */
  signal?: AbortSignal | undefined
  random?: (() => number) | undefined
}

/** Rejects with the error of the last call. */
export async function retry<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts, isRetryable, retryAfterMs, onRetry, signal, random } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (attempt >= attempts || signal?.aborted || !isRetryable(error)) throw error
      onRetry?.(error, attempt)
      const delay = backoffMs(attempt, options, { retryAfterMs: retryAfterMs?.(error), random })
      await sleep(delay, undefined, signal && { signal })
    }
  }
}
