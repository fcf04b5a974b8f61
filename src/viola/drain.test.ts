import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { eventually } from '../../test/support/eventually.ts'
import { createApp, listen } from '../server/server.ts'
import { silent } from '../telemetry/log.ts'
import { drainBeforeClose } from './drain.ts'

/** Longer than the test has patience: whoever waits for the bound is late. */
const bound = 60_000

async function slowApp() {
  const app = createApp({ log: silent })
  const answered = Promise.withResolvers<string>()
  let asked = 0
  app.get('/slow', async () => {
    asked++
    return answered.promise
  })
  drainBeforeClose(app, bound)
  const url = await listen(app, '127.0.0.1:0')
  return { app, url: `${url}/slow`, asked: () => asked, answer: answered.resolve }
}

async function ends(closing: Promise<unknown>): Promise<void> {
  const late = sleep(30_000, 'late', { ref: false })
  assert.notEqual(await Promise.race([closing, late]), 'late')
}

test('a request under way is answered before the end', async () => {
  const { app, url, asked, answer } = await slowApp()
  const answered = request(url).then(({ body }) => body.text())
  await eventually(() => assert.equal(asked(), 1))
  const closing = app.close()
  answer('here it is')
  assert.equal(await answered, 'here it is')
  await ends(closing)
})

test('a caller who has left is not waited for', async () => {
  const { app, url, asked } = await slowApp()
  const leaving = new AbortController()
  const left = assert.rejects(request(url, { signal: leaving.signal }))
  await eventually(() => assert.equal(asked(), 1))
  leaving.abort()
  await left
  await ends(Promise.resolve(app.close()))
})
