/**
 * How a service of the cloud answers when it is told to misbehave: what stands between it and its callers in bad hours.
 */
import type { ServerResponse } from 'node:http'
import { type Answer, textOf } from './http-server.ts'
import type { Faults, Manner, Service } from './state.ts'

/** Well below the time-outs of callers: slow is not silent. */
export const slowMs = 2_000

/** In the order in which one hides the other. */
export const manners: readonly Manner[] = [
  'silent',
  'unauthorized',
  'throttled',
  'failing',
  'garbled',
  'truncated',
  'empty',
  'slow',
]

export function mannerOf(faults: Faults, service: Service): Manner | undefined {
  return manners.find(manner => faults[manner].includes(service))
}

/** A gateway's page, with the status of success: no caller may take it for an answer. */
const garbage = '<html><body><h1>It works!</h1></body></html>\u0000\u0001{"ports": [,'

/** Sends another answer than the service meant. Reports whether it did. */
export function ruined(manner: Manner, answer: Answer, outgoing: ServerResponse): boolean {
  const json = { 'content-type': 'application/json' }
  switch (manner) {
    case 'unauthorized':
      outgoing.writeHead(401, json).end(JSON.stringify({ error: { code: 401, title: 'Unauthorized', message: 'no' } }))
      return true
    case 'throttled':
      outgoing
        .writeHead(429, { ...json, 'retry-after': '1' })
        .end(JSON.stringify({ overLimit: { code: 429, message: 'This request was rate-limited.', retryAfter: '1' } }))
      return true
    case 'garbled':
      outgoing.writeHead(answer.status, json).end(garbage)
      return true
    case 'truncated': {
      const payload = Buffer.from(textOf(answer.body))
      outgoing.writeHead(answer.status, { ...json, ...answer.headers, 'content-length': String(payload.length + 1) })
      outgoing.write(payload.subarray(0, Math.floor(payload.length / 2)), () => outgoing.destroy())
      return true
    }
    case 'empty':
      outgoing.writeHead(answer.status, { ...json, 'content-length': '0' }).end()
      return true
    default:
      return false
  }
}
