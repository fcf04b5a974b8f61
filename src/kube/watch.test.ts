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

/** What a watch tells, in words. */
async function told(kube: KubeClient, signal?: AbortSignal): Promise<string[]> {
  const words: string[] = []
  for await (const event of kube.watch(nodes, { resourceVersion: '5', ...(signal && { signal }) })) {
    words.push(
      event.type === 'BOOKMARK' ? `BOOKMARK ${event.resourceVersion}` : `${event.type} ${event.object.metadata.name}`,
    )
  }
  return words
}

test('events come one by one, and the end of the server is no error', async () => {
  const handler: Handler = (_, response) => {
    open(response).end(
      line('ADDED', 'a', '6') + line('MODIFIED', 'a', '7') + line('BOOKMARK', '', '9') + line('DELETED', 'a', '10'),
    )
  }
  await withWatch(handler, async (kube, server) => {
    assert.deepEqual(await told(kube), ['ADDED a', 'MODIFIED a', 'BOOKMARK 9', 'DELETED a'])
    const { path, query } = server.asked[0] ?? assert.fail()
    assert.equal(path, '/api/v1/nodes')
    assert.deepEqual(Object.fromEntries(query), {
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '60',
      resourceVersion: '5',
    })
  })
})

test('an event without end ends the watch', async () => {
  const handler: Handler = (_, response) => {
    const piece = Buffer.alloc(1024 * 1024, 0x61)
    const more = () => {
      while (!response.destroyed && response.write(piece));
    }
    open(response).on('drain', more)
    more()
  }
  await withWatch(handler, kube => assert.rejects(told(kube), /an event is longer than \d+ characters/))
})

test('a line and even a character may come in pieces', async () => {
  const bytes = Buffer.from(line('ADDED', 'nœud-é-🙂', '6') + line('ADDED', 'b', '7'))
  const handler: Handler = async (_, response) => {
    open(response)
    for (const byte of bytes) {
      response.write(Buffer.from([byte]))
      await sleep(0)
    }
    response.end()
  }
  await withWatch(handler, async kube => assert.deepEqual(await told(kube), ['ADDED nœud-é-🙂', 'ADDED b']))
})

test('a large object and many small ones come through', async () => {
  const handler: Handler = (_, response) => {
    open(response).write(line('ADDED', 'x'.repeat(1_000_000), '6'))
    response.end(Array.from({ length: 2_000 }, (_, at) => line('ADDED', `n${at}`, `${at}`)).join(''))
  }
  await withWatch(handler, async kube => assert.equal((await told(kube)).length, 2_001))
})

test('an ERROR event of an old place is 410', async () => {
  const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 5 (100)' }
  const handler: Handler = (_, response) => void open(response).end(JSON.stringify({ type: 'ERROR', object }))
  await withWatch(handler, async kube =>
    assert.rejects(told(kube), error => isGone(error) && /too old/.test(String(error))),
  )
})

test('a refusal before the first event is told by its status', async () => {
  await withWatch(
    (_, response) => refuse(response, 410, 'Expired'),
    async kube => assert.rejects(told(kube), isGone),
  )
})

test('a connection that is reset is an error worth another try', async () => {
  const handler: Handler = ({ socket }, response) => {
    open(response).write(line('ADDED', 'a', '6'), () => socket.resetAndDestroy())
  }
  await withWatch(handler, async kube => assert.rejects(told(kube), isRetryable))
})

test('a server that dies within a line is an error worth another try', async () => {
  const handler: Handler = (_, response) => void open(response).end('{"type":"ADDED","obj')
  await withWatch(handler, async kube => assert.rejects(told(kube), isRetryable))
})

test('a connection whose other end vanished is given up after the deadline', async () => {
  const handler: Handler = (_, response) => open(response).flushHeaders()
  await withWatch(
    handler,
    async kube => {
      await assert.rejects(told(kube), (error: Error) => {
        assert.match(error.message, /the server did not end the watch after 0\.1 s/)
        return isRetryable(error)
      })
    },
    { seconds: () => 0.1, graceMs: 100 },
  )
})

test('a caller may end a watch, before and after it has begun', async () => {
  const handler: Handler = (_, response) => open(response).flushHeaders()
  await withWatch(handler, async (kube, server) => {
    const stop = new AbortController()
    const watching = told(kube, stop.signal)
    await eventually(() => assert.equal(server.asked.length, 1))
    stop.abort()
    assert.deepEqual(await watching, [])
    assert.deepEqual(await told(kube, stop.signal), [])
    assert.equal(server.asked.length, 1)
  })
})

test('a reader that leaves closes the connection', async () => {
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

test('a watch of a server that is busy tells how long to wait', async () => {
  await withWatch(
    (_, response) => json(response, 429, { kind: 'Status', code: 429 }, { 'retry-after': '2' }),
    async kube => assert.rejects(told(kube), { status: 429, retryAfter: 2 }),
  )
})
