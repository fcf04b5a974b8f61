/**
 * So many requests a second from one address, after a burst: one script that loops takes nothing from the others.
 */
import type { FastifyInstance } from 'fastify'
import { type Bucket, createBucket } from '../runtime/token-bucket.ts'
import { HttpProblem } from '../server/server.ts'

const burst = 4
/** Addresses that are remembered; the one that was heard of longest ago is forgotten first. */
const mostAddresses = 10_000
/** Asked by the kubelet and by Prometheus, whoever else asks. */
const unlimited = new Set(['/healthz', '/readyz', '/metrics'])

export function limitRate(app: FastifyInstance, perSecond: number, now = () => performance.now()): void {
  const buckets = new Map<string, Bucket>()

  function bucketOf(address: string): Bucket {
    const bucket = buckets.get(address) ?? createBucket({ size: burst * perSecond, perSecond, now })
    buckets.delete(address)
    buckets.set(address, bucket)
    const [oldest] = buckets.keys()
    if (buckets.size > mostAddresses && oldest !== undefined) buckets.delete(oldest)
    return bucket
  }

  app.addHook('onRequest', async (request, reply) => {
    if (unlimited.has(request.routeOptions.url ?? '')) return
    const bucket = bucketOf(request.ip)
    if (bucket.take()) return
    reply.header('retry-after', Math.max(1, Math.ceil(bucket.msUntilNext() / 1_000)))
    throw new HttpProblem(429, `more than ${perSecond} requests a second came from this address; ask again in a moment`)
  })
}
