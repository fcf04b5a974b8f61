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
  use: (context: {
    recorder: EventRecorder
    another(): EventRecorder
    stored(): EventObject[]
    deleteAll(): void
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
      stored: () => [...store.objects.values()] as unknown as EventObject[],
      deleteAll: () => store.objects.clear(),
      writes: () => server.requests.filter(({ method }) => method !== 'GET').length,
      tick: seconds => {
        now += seconds * 1_000
      },
    })
  } finally {
    await kube.close()
    await server.close()
  }
}

test('an Event has its reason, object and time', async () => {
  await withServer(async ({ recorder, stored }) => {
    recorder.event(config('w1'), 'Warning', 'NicMissing', 'no device has fa:16:3e:00:00:02')
    await recorder.flush()
    const [{ metadata, ...event } = assert.fail('no event')] = stored()
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

test('a repeated Event raises the count, even after a restart', async () => {
  await withServer(async ({ recorder, another, stored, tick }) => {
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
      stored().map(({ count, firstTimestamp, lastTimestamp }) => ({ count, firstTimestamp, lastTimestamp })),
      [{ count: 4, firstTimestamp: '2026-01-02T03:04:05Z', lastTimestamp: '2026-01-02T03:05:05Z' }],
    )
  })
})

test('an expired Event is created again', async () => {
  await withServer(async ({ recorder, stored, deleteAll }) => {
    const say = () => recorder.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
    say()
    await recorder.flush()
    deleteAll()
    say()
    await recorder.flush()
    assert.deepEqual(
      stored().map(({ count }) => count),
      [1],
    )
  })
})

test('another message, reason or object makes another Event', async () => {
  await withServer(async ({ recorder, stored }) => {
    recorder.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
    recorder.event(config('w1'), 'Normal', 'Configured', '3 interfaces')
    recorder.event(config('w1'), 'Warning', 'NicMissing', '2 interfaces')
    recorder.event(config('w2'), 'Normal', 'Configured', '2 interfaces')
    await recorder.flush()
    assert.equal(stored().length, 4)
  })
})

test('Events are sent without a flush', async () => {
  await withServer(async ({ recorder, stored }) => {
    recorder.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
    await eventually(() => assert.equal(stored().length, 1))
  })
})

test('Events of cluster-scoped objects are in the namespace default', async () => {
  await withServer(async ({ recorder, stored }) => {
    recorder.event({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1' } }, 'Normal', 'Seen', 'a node')
    await recorder.flush()
    assert.equal(stored()[0]?.metadata.namespace, 'default')
    assert.equal(stored()[0]?.involvedObject.namespace, undefined)
  })
})

test('a long message is truncated at 1,024 bytes, not inside a character', async () => {
  await withServer(async ({ recorder, stored }) => {
    recorder.event(config('w1'), 'Normal', 'Long', `x${'é'.repeat(2_000)}`)
    await recorder.flush()
    const message = stored()[0]?.message ?? ''
    assert.ok(Buffer.byteLength(message) <= 1_024)
    assert.match(message, /^xé+…$/)
  })
})

test('the rate limit of one object does not affect others', async () => {
  await withServer(async ({ recorder, stored, writes, tick }) => {
    for (let at = 0; at < 500; at++) recorder.event(config('loud'), 'Normal', 'Again', `time ${at}`)
    recorder.event(config('quiet'), 'Normal', 'Once', 'hello')
    await recorder.flush()
    assert.equal(writes(), 26)
    assert.ok(stored().some(({ reason }) => reason === 'Once'))
    tick(60)
    recorder.event(config('loud'), 'Normal', 'Again', 'a minute later')
    await recorder.flush()
    assert.equal(writes(), 27)
  })
})

test('a rejected Event is logged and fails nothing', async () => {
  const lines: string[] = []
  const server = await serve((_, response) => refuse(response, 403, 'Forbidden'))
  const kube = connectKube({ server: server.url })
  const log = createLog({}, { write: line => lines.push(line) })
  const recorder = createEventRecorder({ kube, component: 'controller', log })
  recorder.event(config('w1'), 'Normal', 'Configured', '2 interfaces')
  await recorder.flush()
  assert.match(lines.join(), /cannot record event.*Configured.*Forbidden/)
  await kube.close()
  await server.close()
})

test('control characters and marks of the writing direction are shown as escapes', () =>
  withServer(async ({ recorder, stored }) => {
    recorder.event(config('x'), 'Warning', 'Failed', 'name \u202egnp.exe\u001b[2J')
    await recorder.flush()
    assert.equal(stored()[0]?.message, 'name \\u202egnp.exe\\u001b[2J')
  }))
