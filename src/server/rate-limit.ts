/**
 * Rate limit by key, such as the address or the user of a client, with a token bucket each: one looping script does not slow
 * down the others.
 */
import type { FastifyInstance } from 'fastify'
import { type Bucket, createBucket } from '../runtime/token-bucket.ts'
import { HttpProblem } from './server.ts'

export interface RateLimit {
  /** Throws a 429 with Retry-After when the key has used up its requests. */
  take(key: string): void
}

export interface RateLimitOptions {
  perSecond: number
  /** Requests that are possible at once. */
  burst: number
  /** Completes `rate limit exceeded: `. */
  text: string
  now?: () => number
}

/** The key that was used least recently is dropped first. */
const maxKeys = 10_000

export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { perSecond, burst, text, now = () => performance.now() } = options
  const buckets = new Map<string, Bucket>()
  return {
    take(key) {
      const bucket = buckets.get(key) ?? createBucket({ size: burst, perSecond, now })
      buckets.delete(key)
      buckets.set(key, bucket)
      const [oldest] = buckets.keys()
      if (buckets.size > maxKeys && oldest !== undefined) buckets.delete(oldest)
      if (bucket.take()) return
      const retryAfterSeconds = Math.max(1, Math.ceil(bucket.msUntilNext() / 1_000))
      throw new HttpProblem(429, `rate limit exceeded: ${text}; retry later`, { retryAfterSeconds })
    },
  }
}

/** For the kubelet and Prometheus. */
const unlimited = new Set(['/healthz', '/readyz', '/metrics'])

/** Limits the requests of each client address. */
export function limitAddresses(app: FastifyInstance, perSecond: number, now?: () => number): void {
  const text = `${perSecond} requests per second from one address`
  const limit = createRateLimit({ perSecond, burst: 4 * perSecond, text, ...(now && { now }) })
  app.addHook('onRequest', async request => {
    if (!unlimited.has(request.routeOptions.url ?? '')) limit.take(request.ip)
  })
}
