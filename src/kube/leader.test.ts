import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { type Handler, objectStore, refuse, serve } from '../../test/support/http-stub.ts'
import { silent } from '../telemetry/log.ts'
import { connectKube } from './client.ts'
import { microTime, runLeaderElection } from './leader.ts'
import type { LeaseObject } from './types.ts'

const path = '/apis/coordination.k8s.io/v1/namespaces/system/leases/one'

async function aServer(leaseMs = 1_000) {
  const store = objectStore()
  const disconnected = new Set<string>()
  const writes = { wait: Promise.resolve() }
  const handler: Handler = async (asked, response) => {
    if (asked.method !== 'GET') await writes.wait
    const who = asked.headers.authorization?.slice('Bearer '.length) ?? ''
    if (disconnected.has(who)) return refuse(response, 503, 'ServiceUnavailable')
    return store.handler(asked, response)
  }
  const server = await serve(handler)
  const clients = new Map<string, ReturnType<typeof connectKube>>()
  const terms: { who: string; from: number; until?: number }[] = []

  function candidate(who: string, onLeading?: (signal: AbortSignal) => Promise<void>) {
    const stop = new AbortController()
    const kube = connectKube({ server: server.url, token: () => who }, { attempts: 1 })
    clients.set(who, kube)
    const ended = runLeaderElection({
      ...{ kube, namespace: 'system', name: 'one', identity: who, log: silent, signal: stop.signal },
      ...{ leaseMs, renewMs: 200 },
      onLeading:
        onLeading ??
        (async signal => {
          const term: (typeof terms)[number] = { who, from: performance.now() }
          terms.push(term)
          if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
          term.until = performance.now()
        }),
    })
    return {
      ended,
      async stop() {
        stop.abort()
        await ended
      },
    }
  }

  return {
    candidate,
    terms,
    writes,
    asked: server.requests,
    leaders: () => terms.map(({ who }) => who),
    lease: () => (store.objects.get(path) as LeaseObject | undefined)?.spec,
    deleteLease: () => store.objects.delete(path),
    put: (spec: LeaseObject['spec']) => {
      const stored = store.objects.get(path) ?? assert.fail('no lease')
      const metadata = { ...stored.metadata, resourceVersion: `${Number(stored.metadata.resourceVersion) + 1_000}` }
      store.objects.set(path, { ...stored, metadata, spec } as unknown as typeof stored)
    },
    disconnected,
    async close() {
      for (const kube of clients.values()) await kube.close()
      await server.close()
    },
  }
}

test('one of two replicas leads, renews and releases the lease, and the other follows at once', async () => {
  // No busy machine loses this lease, and the other replica does not wait for its end.
  const server = await aServer(60_000)
  const a = server.candidate('a')
  await eventually(() => assert.deepEqual(server.leaders(), ['a']))
  const b = server.candidate('b')
  const { acquireTime } = server.lease() ?? {}
  assert.match(acquireTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  const renewals = new Set<string | undefined>()
  await eventually(() => assert.ok(renewals.add(server.lease()?.renewTime).size > 3, 'renewed three times'))
  assert.equal(server.lease()?.acquireTime, acquireTime)
  await a.stop()
  await eventually(() => assert.deepEqual(server.leaders(), ['a', 'b']), { within: 30_000 })
  assert.equal(server.lease()?.leaseTransitions, 1)
  await b.stop()
  assert.equal(server.lease()?.holderIdentity, '')
  await server.close()
})

test('a disconnected leader stops before another one starts, and becomes a candidate again', async () => {
  const server = await aServer()
  const a = server.candidate('a')
  await eventually(() => assert.deepEqual(server.leaders(), ['a']))
  const b = server.candidate('b')
  server.disconnected.add('a')
  await eventually(() => assert.deepEqual(server.leaders(), ['a', 'b']))
  const [first, second] = server.terms
  assert.ok(first?.until !== undefined && second && first.until < second.from, 'two led at once')
  server.disconnected.delete('a')
  await b.stop()
  await eventually(() => assert.deepEqual(server.leaders(), ['a', 'b', 'a']))
  await a.stop()
  await server.close()
})

test('a candidate waits for the lease of a dead holder by its own clock', async () => {
  const server = await aServer()
  const first = server.candidate('first')
  await eventually(() => assert.deepEqual(server.leaders(), ['first']))
  await first.stop()
  // The clock of the dead holder was a day ahead of ours.
  const renewTime = microTime(new Date(Date.now() + 86_400_000))
  server.put({ holderIdentity: 'dead', leaseDurationSeconds: 1, renewTime, leaseTransitions: 4 })
  const began = performance.now()
  const b = server.candidate('b')
  await eventually(() => assert.deepEqual(server.leaders(), ['first', 'b']))
  assert.ok(performance.now() - began >= 1_000)
  assert.equal(server.lease()?.leaseTransitions, 5)
  await b.stop()
  await server.close()
})

test('a lease that another replica took ends the leadership', async () => {
  const server = await aServer()
  const a = server.candidate('a')
  await eventually(() => assert.deepEqual(server.leaders(), ['a']))
  server.put({ holderIdentity: 'thief', leaseDurationSeconds: 60, renewTime: microTime(new Date()) })
  await eventually(() => assert.ok(server.terms[0]?.until))
  await a.stop()
  assert.equal(server.lease()?.holderIdentity, 'thief')
  await server.close()
})

test('the holder creates a deleted lease again', async () => {
  const server = await aServer()
  const a = server.candidate('a')
  await eventually(() => assert.deepEqual(server.leaders(), ['a']))
  server.deleteLease()
  await eventually(() => assert.equal(server.lease()?.holderIdentity, 'a'))
  assert.equal(server.terms[0]?.until, undefined)
  await a.stop()
  await server.close()
})

test('an error of the leader work rejects the election and releases the lease', async () => {
  const server = await aServer()
  const a = server.candidate('a', async () => {
    throw new Error('no database')
  })
  await assert.rejects(a.ended, /no database/)
  assert.equal(server.lease()?.holderIdentity, '')
  await server.close()
})

test('the end of the leader work ends the election', async () => {
  const server = await aServer()
  await server.candidate('a', async () => {}).ended
  assert.equal(server.lease()?.holderIdentity, '')
  await server.close()
})

test('a candidate that is stopped first never leads', async () => {
  const server = await aServer()
  server.disconnected.add('a')
  const a = server.candidate('a')
  await a.stop()
  assert.deepEqual(server.leaders(), [])
  await server.close()
})

test('a stop during the acquisition of the lease takes effect', async () => {
  const server = await aServer()
  const { promise, resolve } = Promise.withResolvers<void>()
  server.writes.wait = promise
  const a = server.candidate('a')
  await eventually(() => assert.ok(server.asked.some(({ method }) => method !== 'GET')))
  const stopped = a.stop()
  resolve()
  await stopped
  assert.equal(server.lease()?.holderIdentity ?? '', '')
  await server.close()
})
