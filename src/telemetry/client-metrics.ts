/**
 * The metrics of requests to other services, the same for every client of every component.
 */

/** Starts to measure a request. Call the result once, with the status class, or `error` without a complete response. */
export type StartCall = (service: string, method: string) => (status: string) => void

interface ClientMetrics {
  count(
    name: 'multinic_client_requests_total',
    by: number,
    labels: { service: string; method: string; status: string },
  ): void
  time(name: 'multinic_client_request_seconds', seconds: number, labels: { service: string; method: string }): void
  set(name: 'multinic_client_requests_active', value: number, labels: { service: string }): void
}

export function measureCalls(metrics: ClientMetrics): StartCall {
  const active = new Map<string, number>()
  function change(service: string, by: number): void {
    const value = (active.get(service) ?? 0) + by
    active.set(service, value)
    metrics.set('multinic_client_requests_active', value, { service })
  }

  return (service, method) => {
    const started = performance.now()
    change(service, 1)
    return status => {
      change(service, -1)
      metrics.count('multinic_client_requests_total', 1, { service, method, status })
      metrics.time('multinic_client_request_seconds', (performance.now() - started) / 1_000, { service, method })
    }
  }
}

/** `error` for a code that HTTP does not define: the peer must not choose the values of a label. */
export function statusClass(code: number): string {
  return code >= 100 && code < 600 ? `${Math.floor(code / 100)}xx` : 'error'
}
