import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openData } from './data.ts'

/** The requests of the page, which all get this status. */
function answering(t: { mock: typeof import('node:test').mock }, status: () => number): string[] {
  const requests: string[] = []
  t.mock.method(globalThis, 'fetch', async (path: string) => {
    requests.push(path.split('?', 1)[0] ?? '')
    return new Response(status() === 200 ? '[]' : '{}', { status: status() })
  })
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  Object.assign(globalThis, { requestAnimationFrame: () => 0, document: { visibilityState: 'visible' } })
  return requests
}

async function pass(t: { mock: typeof import('node:test').mock }, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    t.mock.timers.tick(1_000)
    await new Promise(resolve => setImmediate(resolve))
  }
}

test('a page that is not signed in asks once, and again after the sign-in', async t => {
  let status = 401
  const requests = answering(t, () => status)
  const source = openData()
  source.start()
  await pass(t, 60)
  assert.deepEqual(requests.toSorted(), ['/v1/inventory/events', '/v1/inventory/history', '/v1/inventory/node-configs'])
  assert.equal(source.data.phase, 'unauthorized')
  status = 200
  source.retry()
  await pass(t, 1)
  assert.equal(requests.filter(path => path === '/v1/inventory/events').length, 2)
  assert.equal(source.data.phase, 'ready')
})

test('a stream that cannot be reached is opened again by itself', async t => {
  const requests = answering(t, () => 503)
  openData().start()
  await pass(t, 60)
  assert.ok(requests.filter(path => path === '/v1/inventory/events').length > 3)
})

test('a page whose session ended shows the sign-in', async t => {
  let status = 200
  answering(t, () => status)
  const source = openData()
  source.start()
  await pass(t, 1)
  assert.equal(source.data.phase, 'ready')
  status = 401
  await pass(t, 60)
  assert.equal(source.data.phase, 'unauthorized')
})
