/**
 * Hostile requests to the servers: every body and connection of the corpus, with and without a valid token.
 */
import { request } from 'node:http'
import { recordsPath } from '../../src/contract/inventory.ts'
import { planPath } from '../../src/contract/operator-api.ts'
import { violaPath } from '../../src/contract/viola.ts'
import type { ComponentName } from '../soak/names.ts'
import { type Body, bodies, type Expected } from './bodies.ts'
import { requests, sendRaw } from './connections.ts'

export interface Case {
  name: string
  component: ComponentName
  run(url: string, ended: AbortSignal): Promise<void>
}

/** Requests that are never answered are given up. */
const requestMs = 5_000

const apis: { name: string; component: ComponentName; method: string; path: string; expected: Expected }[] = [
  {
    name: 'POST to Viola',
    component: 'viola',
    method: 'POST',
    path: violaPath,
    expected: {
      head: '[',
      tail: ']',
      entry: n => ({ nodeName: `worker-${n}`, interfaces: [{ id: 0, macAddress: 'fa:16:3e:00:00:01' }] }),
    },
  },
  {
    name: 'PUT to the inventory',
    component: 'inventory',
    method: 'PUT',
    path: recordsPath,
    expected: {
      head: '{"records":[',
      tail: ']}',
      entry: n => ({
        providerId: 'p',
        nodeName: `worker-${n}`,
        instanceId: '',
        config: { nodeName: `worker-${n}`, interfaces: [] },
        lastConfigHash: '',
        why: 'test',
      }),
    },
  },
  {
    name: 'plan of the operator',
    component: 'operator',
    method: 'POST',
    path: planPath,
    expected: {
      head: '{"apiVersion":"v1","kind":"OpenstackConfig","metadata":{"name":"x","namespace":"x"},"spec":{"vmNames":[',
      tail: ']}}',
      entry: n => ({ name: `worker-${n}` }),
    },
  },
]

export function requestCases(token: string): Case[] {
  return apis.flatMap(({ name, component, method, path, expected }) => {
    const headers = { 'x-provider-id': 'p', authorization: `Bearer ${token}` }
    const withBody = (what: string, body: Body, sent: Record<string, string> = headers): Case => ({
      name: `${name} with ${what}`,
      component,
      run: url => sendBody(`${url}${path}`, method, sent, to => body(to, expected)),
    })
    const large = bodies['valid entries, 12 MiB'] as Body
    return [
      ...Object.entries(bodies).map(([what, body]) => withBody(what, body)),
      withBody('a large body and no token', large, { 'x-provider-id': 'p' }),
      {
        name: `${name} with a hundred large bodies at once`,
        component,
        run: async url => {
          await Promise.all(
            Array.from({ length: 100 }, () => withBody('', unfinished).run(url, new AbortController().signal)),
          )
        },
      },
      ...Object.entries(requests).map(([what, send]) => ({
        name: `${name} with ${what}`,
        component,
        run: (url: string) => {
          const { hostname: host, port } = new URL(url)
          const sent = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`)
          return sendRaw({ host, port: Number(port), path, headers: sent.join('') }, send, requestMs)
        },
      })),
    ]
  })
}

/** Just below the limit of any route, and then nothing: the server must keep it or drop it. */
const unfinished: Body = (to, { head }) => void to.write(`${head}"${'x'.repeat(3.9 * 1024 * 1024)}`)

/** Resolves with the answer, with the end of the connection, or after a while. */
async function sendBody(
  url: string,
  method: string,
  headers: Record<string, string>,
  write: (to: ReturnType<typeof request>) => Promise<void> | void,
): Promise<void> {
  const sent = request(url, { method, headers: { ...headers, 'content-type': 'application/json' }, agent: false })
  const done = new Promise<void>(resolve => {
    sent.once('response', response => response.resume().once('close', resolve))
    sent.once('error', () => resolve())
    sent.once('close', resolve)
    setTimeout(resolve, requestMs)
  })
  void Promise.resolve(write(sent)).catch(() => {})
  await done
  sent.destroy()
}
