/**
 * The metrics of the requests that an HTTP server receives. Labels have few values: the route, never the URL.
 *
 * An event stream is a request until it is open. After that it counts as a stream, because its duration is no latency.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { statusClass } from '../telemetry/client-metrics.ts'

export interface ServerMetrics {
  count(
    name: 'multinic_http_requests_total',
    by: number,
    labels: { route: string; method: string; status: string },
  ): void
  time(name: 'multinic_http_request_seconds', seconds: number, labels: { route: string; method: string }): void
  set(name: 'multinic_http_requests_active' | 'multinic_http_streams_active', value: number): void
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE']
/** Of each request that is being served. */
const streamOpeners = new WeakMap<FastifyRequest, () => void>()

/** Returns the function that starts to measure a request, for requests that no hook sees. */
export function measureRequests(
  app: FastifyInstance,
  metrics: ServerMetrics,
): (request: FastifyRequest, reply: FastifyReply) => void {
  const active = { multinic_http_requests_active: 0, multinic_http_streams_active: 0 }
  function change(name: keyof typeof active, by: number): void {
    active[name] += by
    metrics.set(name, active[name])
  }

  function start(request: FastifyRequest, { raw }: FastifyReply): void {
    const started = performance.now()
    let isStream = false
    change('multinic_http_requests_active', 1)
    function end(): void {
      change('multinic_http_requests_active', -1)
      const route = request.routeOptions.url ?? 'other'
      const method = methods.includes(request.method) ? request.method : 'other'
      const status = raw.headersSent ? statusClass(raw.statusCode) : 'error'
      metrics.count('multinic_http_requests_total', 1, { route, method, status })
      metrics.time('multinic_http_request_seconds', (performance.now() - started) / 1_000, { route, method })
    }
    streamOpeners.set(request, () => {
      isStream = true
      end()
      change('multinic_http_streams_active', 1)
    })
    // Also when the client disconnects before the response.
    raw.once('close', () => (isStream ? change('multinic_http_streams_active', -1) : end()))
  }

  app.addHook('onRequest', async (request, reply) => start(request, reply))
  return start
}

/** Call it after the headers of an event stream are sent. */
export function countAsStream(request: FastifyRequest): void {
  streamOpeners.get(request)?.()
}
