import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../test/support/eventually.ts'
import { type Handler, type HttpStub, json, refuse, serve } from '../../test/support/http-stub.ts'
import { connectKube, type KubeClient } from './client.ts'
import { isGone, isRetryable } from './errors.ts'
import { nodes } from './resources.ts'

async function withWatch(
  handler: Handler,
  use: (kube: KubeClient, server: HttpStub) => Promise<void>,
  watchTimes = { seconds: () => 60, graceMs: 60_000 },
): Promise<void> {
  const server = await serve(handler)
  const kube = connectKube({ server: server.url }, { watchTimes })
  try {
    await use(kube, server)
  } finally {
    await kube.close()
    await server.close()
  }
}

const open = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' })
const line = (type: string, name: string, resourceVersion: string) =>
  `${JSON.stringify({ type, object: { metadata: { name, resourceVersion } } })}\n`

/** The events of a watch as text. */
async function eventTexts(kube: KubeClient, signal?: AbortSignal): Promise<string[]> {
  const texts: string[] = []
  for await (const event of kube.watch(nodes, { resourceVersion: '5', ...(signal && { signal }) })) {
    texts.push(
      event.type === 'BOOKMARK' ? `BOOKMARK ${event.resourceVersion}` : `${event.type} ${event.object.metadata.name}`,
    )
  }
  return texts
}

test('events arrive one by one, and the end of the watch is not an error', async () => {
  const handler: Handler = (_, response) => {
    open(response).end(
      line('ADDED', 'a', '6') + line('MODIFIED', 'a', '7') + line('BOOKMARK', '', '9') + line('DELETED', 'a', '10'),
    )
  }
  await withWatch(handler, async (kube, server) => {
    assert.deepEqual(await eventTexts(kube), ['ADDED a', 'MODIFIED a', 'BOOKMARK 9', 'DELETED a'])
    const { path, query } = server.requests[0] ?? assert.fail()
    assert.equal(path, '/api/v1/nodes')
    assert.deepEqual(Object.fromEntries(query), {
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '60',
      resourceVersion: '5',
    })
  })
})

/** The units of an event without an end, and what the error says. */
const excessiveEvents: Record<string, [unit: string, expected: RegExp]> = {
  'an endless event': ['a', /a watch event is longer than \d+ bytes/],
  'an event of empty objects': ['{},', /a watch event has more than \d+ elements/],
  'an event of nested lists': ['[', /a watch event is nested deeper than \d+ levels/],
}
for (const [name, [unit, expected]] of Object.entries(excessiveEvents))
  test(`${name} ends the watch before it is parsed`, async () => {
    const handler: Handler = (_, response) => {
      const piece = Buffer.from(unit.repeat(300_000))
      const more = () => {
        while (!response.destroyed && response.write(piece));
      }
      open(response).on('drain', more)
      more()
    }
    await withWatch(handler, kube => assert.rejects(eventTexts(kube), expected))
  })

test('an event that is not UTF-8 ends the watch', async () => {
  const handler: Handler = (_, response) => {
    open(response).end(
      Buffer.concat([Buffer.from('{"type":"ADDED","object":"'), Buffer.from([0xff]), Buffer.from('"}\n')]),
    )
  }
  await withWatch(handler, kube => assert.rejects(eventTexts(kube), /a watch event is not UTF-8/))
})

test('a line and even a character may arrive in chunks', async () => {
  const bytes = Buffer.from(line('ADDED', 'nœud-é-🙂', '6') + line('ADDED', 'b', '7'))
  const handler: Handler = async (_, response) => {
    open(response)
    for (const byte of bytes) {
      response.write(Buffer.from([byte]))
      await sleep(0)
    }
    response.end()
  }
  await withWatch(handler, async kube => assert.deepEqual(await eventTexts(kube), ['ADDED nœud-é-🙂', 'ADDED b']))
})

test('a large object and many small ones arrive', async () => {
  const handler: Handler = (_, response) => {
    open(response).write(line('ADDED', 'x'.repeat(1_000_000), '6'))
    response.end(Array.from({ length: 2_000 }, (_, at) => line('ADDED', `n${at}`, `${at}`)).join(''))
  }
  await withWatch(handler, async kube => assert.equal((await eventTexts(kube)).length, 2_001))
})

test('an ERROR event for an expired resourceVersion is 410', async () => {
  const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 5 (100)' }
  const handler: Handler = (_, response) => void open(response).end(JSON.stringify({ type: 'ERROR', object }))
  await withWatch(handler, async kube =>
    assert.rejects(eventTexts(kube), error => isGone(error) && /too old/.test(String(error))),
  )
})

test('an error before the first event has its status', async () => {
  await withWatch(
    (_, response) => refuse(response, 410, 'Expired'),
    async kube => assert.rejects(eventTexts(kube), isGone),
  )
})

test('a connection reset is retryable', async () => {
  const handler: Handler = ({ socket }, response) => {
    open(response).write(line('ADDED', 'a', '6'), () => socket.resetAndDestroy())
  }
  await withWatch(handler, async kube => assert.rejects(eventTexts(kube), isRetryable))
})

test('a watch that ends in the middle of a line is retryable', async () => {
  const handler: Handler = (_, response) => void open(response).end('{"type":"ADDED","obj')
  await withWatch(handler, async kube => assert.rejects(eventTexts(kube), isRetryable))
})

test('a connection whose peer vanished ends at the deadline', async () => {
  const handler: Handler = (_, response) => open(response).flushHeaders()
  await withWatch(
    handler,
    async kube => {
      await assert.rejects(eventTexts(kube), (error: Error) => {
        assert.match(error.message, /the server did not end it after 0\.1 s/)
        return isRetryable(error)
      })
    },
    { seconds: () => 0.1, graceMs: 100 },
  )
})

test('a caller can abort a watch before and after it has begun', async () => {
  const handler: Handler = (_, response) => open(response).flushHeaders()
  await withWatch(handler, async (kube, server) => {
    const stop = new AbortController()
    const watching = eventTexts(kube, stop.signal)
    await eventually(() => assert.equal(server.requests.length, 1))
    stop.abort()
    assert.deepEqual(await watching, [])
    assert.deepEqual(await eventTexts(kube, stop.signal), [])
    assert.equal(server.requests.length, 1)
  })
})

test('leaving the loop closes the connection', async () => {
  let closed = false
  const handler: Handler = ({ socket }, response) => {
    socket.on('close', () => {
      closed = true
    })
    open(response).write(line('ADDED', 'a', '6'))
  }
  await withWatch(handler, async kube => {
    for await (const event of kube.watch(nodes, { resourceVersion: '5' })) {
      assert.equal(event.type, 'ADDED')
      break
    }
    await eventually(() => assert.ok(closed))
  })
})

test('the error of a watch has the Retry-After of the server', async () => {
  await withWatch(
    (_, response) => json(response, 429, { kind: 'Status', code: 429 }, { 'retry-after': '2' }),
    async kube => assert.rejects(eventTexts(kube), { status: 429, retryAfter: 2 }),
  )
})
