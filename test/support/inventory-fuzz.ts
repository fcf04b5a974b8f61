/**
 * Sends requests that are generated from the OpenAPI document of the inventory, and checks each response against the
 * document: a documented status, a body of the documented schema, and a problem for every error.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Agent, request } from 'undici'
import type { Route } from '../../src/contract/openapi.ts'
import { openApiDocument } from '../../src/contract/openapi.ts'
import { problem } from '../../src/contract/problem.ts'
import { inventoryApi } from '../../src/inventory/api.ts'
import { aWrite } from './inventory.ts'
import { type ApiRequest, requestsOf } from './openapi-requests.ts'

export interface FuzzOptions {
  url: string
  /** With role admin. */
  token: string
  /** Requests of each operation. */
  each: number
}

export const known = {
  providerId: ['p1', 'p2', 'nobody'],
  nodeName: ['w1', 'w2', 'gone', 'w-nowhere'],
  state: ['Configured', 'Failed', 'Pending', 'Nonsense'],
  instanceId: ['vm-w1', 'vm-w2', 'vm-nowhere'],
  q: ['10.', '02:00', 'port-w', 'vm-', 'w', 'p', '2001:db8::1', '10.0.0.0/8'],
  at: ['2020-01-01T00:00:00Z', '2099-01-01T00:00:00+09:00', '2026-13-01T00:00:00Z', 'yesterday'],
  from: ['2020-01-01T00:00:00Z', '2026-01-01T00:00:00+09:00'],
  to: ['2099-01-01T00:00:00Z', '2026-02-01T00:00:00Z'],
  action: ['records.write', 'config.change'],
  object: ['p1', 'multinic-system/main', 'nobody'],
  caller: ['fuzzer', 'nobody'],
  limit: ['1', '2', '100', '5000', '5001', '0', '-1', '9007199254740993'],
  before: ['1', '10', '9007199254740991'],
  after: ['0', '1', '999999999'],
  cursor: [Buffer.from('["p1","w1"]').toString('base64url'), Buffer.from('[1]').toString('base64url'), 'e30'],
  format: ['csv', 'CSV', 'json'],
  'if-none-match': ['"1"', 'W/"1"', '*', '"'],
  'last-event-id': ['0', '1', 'x'],
}

export const seeds = [
  aWrite('w1', { nics: 3, state: 'Configured' }),
  aWrite('w2', { nics: 1, state: 'Failed', reason: 'InterfaceNameInUse' }),
  aWrite('w1', { providerId: 'p2' }),
  aWrite('gone'),
  aWrite('gone', { removed: true }),
]

/** The statuses that each operation answered with. */
export async function fuzzInventory({ url, token, each }: FuzzOptions): Promise<Map<string, Set<number>>> {
  const dispatcher = new Agent({ connections: 8 })
  const statuses = new Map<string, Set<number>>()
  const operations = requestsOf(openApiDocument(inventoryApi), {
    ...known,
    authorization: [`Bearer ${token}`, `bearer ${token}`, 'Bearer an-unknown-token'],
    body: [...seeds.map(write => ({ records: [write] })), { token }].map(body => JSON.stringify(body)),
  })
  try {
    for (const requests of operations)
      await fc.assert(
        fc.asyncProperty(requests, async generated => {
          const operation = `${generated.method} ${generated.path}`
          const status = await send(url, generated, dispatcher)
          statuses.set(operation, (statuses.get(operation) ?? new Set()).add(status))
        }),
        { numRuns: each, seed: 20_261_115, endOnFailure: true },
      )
  } finally {
    await dispatcher.destroy()
  }
  return statuses
}

/** The requests must reach the handlers: every operation succeeds, and these statuses occur. */
export function assertReached(statuses: ReadonlyMap<string, ReadonlySet<number>>, expected: readonly number[]): void {
  const failing = [...statuses].filter(([, seen]) => ![200, 204].some(status => seen.has(status)))
  assert.deepEqual(failing, [], 'operations that never succeeded')
  const seen = new Set([...statuses.values()].flatMap(all => [...all]))
  assert.deepEqual(
    expected.filter(status => !seen.has(status)),
    [],
    'statuses that never occurred',
  )
}

async function send(url: string, generated: ApiRequest, dispatcher: Agent): Promise<number> {
  const { path, method, headers, body } = generated
  const route = inventoryApi.routes.find(one => one.path === path && one.method.toUpperCase() === method)
  assert.ok(route)
  const response = await request(`${url}${generated.url}`, {
    method: method as 'GET' | 'PUT',
    headers,
    dispatcher,
    ...(body !== undefined && { body }),
  })
  const { statusCode: status } = response
  const type = String(response.headers['content-type'] ?? '')
  if (status === 200 && type === 'text/event-stream') {
    response.body.on('error', () => {}).destroy()
    return status
  }
  const text = await response.body.text()
  assert.ok(documentedStatuses(route).has(status), `status ${status} is not documented: ${text}`)
  for (const name of Object.keys(response.headers)) assert.doesNotMatch(name, /^access-control-/)
  if (status >= 400) {
    assert.match(type, /^application\/problem\+json/)
    assert.equal(problem.parse(JSON.parse(text)).status, status)
  } else if (status === 200 && type.startsWith('application/json')) route.answers[200]?.body?.parse(JSON.parse(text))
  return status
}

/** A path whose last segment is empty is another route, or none. */
function documentedStatuses({ answers, problems = [], path }: Route): Set<number> {
  return new Set([...Object.keys(answers).map(Number), ...problems, ...(path.includes('{') ? [404] : [])])
}
