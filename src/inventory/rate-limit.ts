/**
 * Rate limit per client address with a token bucket, so that one looping script does not slow down the others.
 */
import type { FastifyInstance } from 'fastify'
import { type Bucket, createBucket } from '../runtime/token-bucket.ts'
import { HttpProblem } from '../server/server.ts'

const burst = 4
/** The least recently used address is dropped first. */
const maxAddresses = 10_000
/** For the kubelet and Prometheus. */
const unlimited = new Set(['/healthz', '/readyz', '/metrics'])

export function limitRate(app: FastifyInstance, perSecond: number, now = () => performance.now()): void {
  const buckets = new Map<string, Bucket>()

  function bucketOf(address: string): Bucket {
    const bucket = buckets.get(address) ?? createBucket({ size: burst * perSecond, perSecond, now })
    buckets.delete(address)
    buckets.set(address, bucket)
    const [oldest] = buckets.keys()
    if (buckets.size > maxAddresses && oldest !== undefined) buckets.delete(oldest)
    return bucket
  }

  app.addHook('onRequest', async (request, reply) => {
    if (unlimited.has(request.routeOptions.url ?? '')) return
    const bucket = bucketOf(request.ip)
    if (bucket.take()) return
    reply.header('retry-after', Math.max(1, Math.ceil(bucket.msUntilNext() / 1_000)))
    throw new HttpProblem(429, `rate limit exceeded: ${perSecond} requests per second from one address; retry later`)
  })
}
