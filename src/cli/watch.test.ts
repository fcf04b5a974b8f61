/** `--watch` with a real inventory: changes appear by its event stream, and by polls without it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { json, serve } from '../../test/support/http-stub.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { startOpenInventory } from '../../test/support/open-inventory.ts'
import type { RunningInventory } from '../inventory/main.ts'
import { status } from './actions.ts'
import { CliError, type Io } from './io.ts'
import { watching } from './watch.ts'

let inventory: RunningInventory
const never = 3_600_000

before(async () => {
  inventory = await startOpenInventory()
})
after(async () => {
  await inventory.close()
})

const stopped = new Error('stopped')

/** A watch of `status` that a test can read and stop. */
function watch(url: string, { pollMs, ...more }: Partial<Io> & { pollMs: number }) {
  const seen = { out: '', runs: 0, isStopped: false }
  const out = (text: string) => {
    seen.out += text
  }
  const env = { MULTINIC_INVENTORY_URL: url }
  const io: Io = {
    ...{ env, language: 'en', out, note: out, terminal: false, now: () => new Date() },
    read: async () => '',
    ...more,
  }
  const ended = watching(
    io,
    {},
    to => {
      seen.runs++
      if (seen.isStopped) throw stopped
      return status(to, {})
    },
    pollMs,
  )
  return { seen, ended }
}

test('experience: --watch shows a change at once, by the event stream', async () => {
  await inventory.recorder.put([aWrite('w1')])
  const { seen, ended } = watch(inventory.url, { pollMs: never })
  // The second run is the one after the stream has opened.
  await eventually(() => assert.ok(seen.runs >= 2))
  assert.doesNotMatch(seen.out, /w2/)
  await inventory.recorder.put([aWrite('w2')])
  await eventually(() => assert.match(seen.out, /w2/))
  assert.equal(seen.out.match(/^provider p1/gm)?.length, 2, 'a result that has not changed is not printed again')
  seen.isStopped = true
  await inventory.recorder.put([aWrite('w3')])
  await assert.rejects(ended, stopped)
})

test('--watch polls an inventory without an event stream, and goes on while it does not respond', async () => {
  let answers: 'records' | 'nothing' = 'records'
  const stub = await serve(({ path }, response) => {
    if (path.endsWith('/events')) return json(response, 404, {})
    json(response, answers === 'records' ? 200 : 503, [])
  })
  const { seen, ended } = watch(stub.url, { pollMs: 1 })
  await eventually(() => assert.equal(seen.out, 'no node has been configured yet\n'))
  answers = 'nothing'
  await eventually(() => assert.match(seen.out, /responds with HTTP 503/))
  answers = 'records'
  await eventually(() => assert.match(seen.out, /HTTP 503.*\n(.*\n)*no node has been configured yet\n$/))
  seen.isStopped = true
  await assert.rejects(ended, stopped)
  await stub.close()
})

test('--watch ends at once if the first answer is an error', async () => {
  const { ended } = watch('http://127.0.0.1:9', { pollMs: never })
  await assert.rejects(ended, CliError)
})

test('on a terminal --watch draws over the last text, and never more than the screen holds', async () => {
  const { seen, ended } = watch(inventory.url, { pollMs: never, terminal: true, rows: 4 })
  await eventually(() => assert.ok(seen.runs >= 2))
  const drawn = seen.out
  assert.ok(drawn.startsWith('\u001b[H') && drawn.endsWith('\u001b[J'))
  assert.equal(drawn.split('\n').length - 1, 3)
  assert.match(drawn, /… \d+ more lines; name a node, or use a larger terminal/)
  seen.isStopped = true
  await inventory.recorder.put([aWrite('w4')])
  await assert.rejects(ended, stopped)
})
