import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { eventually } from '../../test/support/eventually.ts'
import { createApp, listen } from '../server/server.ts'
import { silent } from '../telemetry/log.ts'
import { drainBeforeClose } from './drain.ts'

/** Longer than the limit of the test: waiting for it fails the test. */
const bound = 60_000

async function slowApp() {
  const app = createApp({ log: silent })
  const response = Promise.withResolvers<string>()
  let requests = 0
  app.get('/slow', async () => {
    requests++
    return response.promise
  })
  drainBeforeClose(app, bound)
  const url = await listen(app, '127.0.0.1:0')
  return { app, url: `${url}/slow`, requests: () => requests, respond: response.resolve }
}

async function closes(closing: Promise<unknown>): Promise<void> {
  const late = sleep(30_000, 'late', { ref: false })
  assert.notEqual(await Promise.race([closing, late]), 'late')
}

test('a request in progress gets its response before the server closes', async () => {
  const { app, url, requests, respond } = await slowApp()
  const answered = request(url).then(({ body }) => body.text())
  await eventually(() => assert.equal(requests(), 1))
  const closing = app.close()
  respond('done')
  assert.equal(await answered, 'done')
  await closes(closing)
})

test('the server does not wait for a client that has disconnected', async () => {
  const { app, url, requests } = await slowApp()
  const abort = new AbortController()
  const aborted = assert.rejects(request(url, { signal: abort.signal }))
  await eventually(() => assert.equal(requests(), 1))
  abort.abort()
  await aborted
  await closes(Promise.resolve(app.close()))
})
