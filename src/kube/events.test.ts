import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { objectStore, refuse, serve } from '../../test/support/http-stub.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { connectKube } from './client.ts'
import { createEventRecorder, type EventRecorder } from './events.ts'
import type { EventObject, KubeObject } from './types.ts'

const config = (name: string): KubeObject => ({
  apiVersion: 'multinic.io/v1',
  kind: 'MultiNicNodeConfig',
  metadata: { name, namespace: 'multinic-system', uid: `uid-${name}` },
})

async function withServer(
  use: (given: {
    recorder: EventRecorder
    another(): EventRecorder
    kept(): EventObject[]
    forget(): void
    writes(): number
    tick(seconds: number): void
  }) => Promise<void>,
): Promise<void> {
  const store = objectStore()
  const server = await serve(store.handler)
  const kube = connectKube({ server: server.url })
  let now = Date.UTC(2026, 0, 2, 3, 4, 5)
  const another = () => createEventRecorder({ kube, component: 'controller', log: silent, now: () => new Date(now) })
  try {
    await use({
      recorder: another(),
      another,
      kept: () => [...store.objects.values()] as unknown as EventObject[],
      forget: () => store.objects.clear(),
      writes: () => server.asked.filter(({ method }) => method !== 'GET').length,
      tick: seconds => {
        now += seconds * 1_000
      },
    })
  } finally {
    await kube.close()
    await server.close()
  }
}

test('an Event says what, about whom, and when', async () => {
  await withServer(async ({ recorder, kept }) => {
    recorder.event(config('w1'), 'Warning', 'NicMissing', 'no device has fa:16:3e:00:00:02')
    await recorder.flush()
    const [{ metadata, ...event } = assert.fail('no event')] = kept()
    assert.equal(metadata.namespace, 'multinic-system')
    assert.match(metadata.name, /^w1\.[0-9a-f]{16}$/)
    assert.deepEqual(event, {
      apiVersion: 'v1',
      kind: 'Event',
      involvedObject: {
        apiVersion: 'multinic.io/v1',
        kind: 'MultiNicNodeConfig',
        name: 'w1',
        namespace: 'multinic-system',
        uid: 'uid-w1',
      },
      type: 'Warning',
      reason: 'NicMissing',
      message: 'no device has fa:16:3e:00:00:02',
      count: 1,
      firstTimestamp: '2026-01-02T03:04:05Z',
      lastTimestamp: '2026-01-02T03:04:05Z',
      source: { component: 'controller' },
      reportingComponent: 'controller',
    })
  })
})

test('saying it again raises the count, also after a restart', async () => {
  await withServer(async ({ recorder, another, kept, tick }) => {
    const say = (to: EventRecorder) => to.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
    say(recorder)
    await recorder.flush()
    tick(60)
    say(recorder)
    say(recorder)
    await recorder.flush()
    const restarted = another()
    say(restarted)
    await restarted.flush()
    assert.deepEqual(
      kept().map(({ count, firstTimestamp, lastTimestamp }) => ({ count, firstTimestamp, lastTimestamp })),
      [{ count: 4, firstTimestamp: '2026-01-02T03:04:05Z', lastTimestamp: '2026-01-02T03:05:05Z' }],
    )
  })
})

test('an Event that the cluster has forgotten is made anew', async () => {
  await withServer(async ({ recorder, kept, forget }) => {
    const say = () => recorder.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
    say()
    await recorder.flush()
    forget()
    say()
    await recorder.flush()
    assert.deepEqual(
      kept().map(({ count }) => count),
      [1],
    )
  })
})

test('other words, another reason and another object are other Events', async () => {
  await withServer(async ({ recorder, kept }) => {
    recorder.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
    recorder.event(config('w1'), 'Normal', 'Configured', '3 interfaces')
    recorder.event(config('w1'), 'Warning', 'NicMissing', '2 interfaces')
    recorder.event(config('w2'), 'Normal', 'Configured', '2 interfaces')
    await recorder.flush()
    assert.equal(kept().length, 4)
  })
})

test('Events are sent without a flush too', async () => {
  await withServer(async ({ recorder, kept }) => {
    recorder.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
    await eventually(() => assert.equal(kept().length, 1))
  })
})

test('what is cluster-wide has its Events in the namespace default', async () => {
  await withServer(async ({ recorder, kept }) => {
    recorder.event({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1' } }, 'Normal', 'Seen', 'a node')
    await recorder.flush()
    assert.equal(kept()[0]?.metadata.namespace, 'default')
    assert.equal(kept()[0]?.involvedObject.namespace, undefined)
  })
})

test('a long message is cut at 1,024 bytes and not within a character', async () => {
  await withServer(async ({ recorder, kept }) => {
    recorder.event(config('w1'), 'Normal', 'Long', `x${'é'.repeat(2_000)}`)
    await recorder.flush()
    const message = kept()[0]?.message ?? ''
    assert.ok(Buffer.byteLength(message) <= 1_024)
    assert.match(message, /^xé+…$/)
  })
})

test('a talkative object is bounded, and others are still heard', async () => {
  await withServer(async ({ recorder, kept, writes, tick }) => {
    for (let at = 0; at < 500; at++) recorder.event(config('loud'), 'Normal', 'Again', `time ${at}`)
    recorder.event(config('quiet'), 'Normal', 'Once', 'hello')
    await recorder.flush()
    assert.equal(writes(), 26)
    assert.ok(kept().some(({ reason }) => reason === 'Once'))
    tick(60)
    recorder.event(config('loud'), 'Normal', 'Again', 'a minute later')
    await recorder.flush()
    assert.equal(writes(), 27)
  })
})

test('a cluster that refuses Events is logged, and nobody fails', async () => {
  const lines: string[] = []
  const server = await serve((_, response) => refuse(response, 403, 'Forbidden'))
  const kube = connectKube({ server: server.url })
  const log = createLog({}, { write: line => lines.push(line) })
  const recorder = createEventRecorder({ kube, component: 'controller', log })
  recorder.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
  await recorder.flush()
  assert.match(lines.join(), /an event was not recorded.*Configured.*Forbidden/)
  await kube.close()
  await server.close()
})
