/**
 * Faulty responses of a cloud service: what a proxy, a load balancer or an overloaded service would send.
 */
import type { ServerResponse } from 'node:http'
import { bodyText, type CloudResponse } from './messages.ts'
import type { CloudFaults, ResponseFault, Service } from './state.ts'

/** Below the timeouts of all clients. */
export const slowMs = 2_000

/** In order of precedence. */
export const responseFaults: readonly ResponseFault[] = [
  'silent',
  'unauthorized',
  'throttled',
  'failing',
  'garbled',
  'truncated',
  'empty',
  'slow',
]

export function activeResponseFault(faults: CloudFaults, service: Service): ResponseFault | undefined {
  return responseFaults.find(fault => faults[fault].includes(service))
}

/** The page of a misconfigured gateway, with a success status. */
const garbage = '<html><body><h1>It works!</h1></body></html>\u0000\u0001{"ports": [,'

/** Sends a faulty response instead of the given one. Reports whether it did: `slow` and `failing` do not need it. */
export function sendFaultyResponse(fault: ResponseFault, response: CloudResponse, outgoing: ServerResponse): boolean {
  const json = { 'content-type': 'application/json' }
  switch (fault) {
    case 'unauthorized':
      outgoing.writeHead(401, json).end(JSON.stringify({ error: { code: 401, title: 'Unauthorized', message: 'no' } }))
      return true
    case 'throttled':
      outgoing
        .writeHead(429, { ...json, 'retry-after': '1' })
        .end(JSON.stringify({ overLimit: { code: 429, message: 'This request was rate-limited.', retryAfter: '1' } }))
      return true
    case 'garbled':
      outgoing.writeHead(response.status, json).end(garbage)
      return true
    case 'truncated': {
      const payload = Buffer.from(bodyText(response.body))
      outgoing.writeHead(response.status, {
        ...json,
        ...response.headers,
        'content-length': String(payload.length + 1),
      })
      outgoing.write(payload.subarray(0, Math.floor(payload.length / 2)), () => outgoing.destroy())
      return true
    }
    case 'empty':
      outgoing.writeHead(response.status, { ...json, 'content-length': '0' }).end()
      return true
    default:
      return false
  }
}
