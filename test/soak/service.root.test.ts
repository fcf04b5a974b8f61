/** The Service of the soak: connections reach ready replicas only. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createService } from './service.ts'

/** A replica that answers with its address. */
async function startReplica(t: { after(end: () => unknown): void }, port: number): Promise<string> {
  const address = `127.0.0.1:${port}`
  const server = createServer(socket => socket.end(address)).listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return address
}

async function callMany(port: number, times: number): Promise<string[]> {
  const answers = new Set<string>()
  for (let call = 0; call < times; call++) answers.add(await text(connect(port, '127.0.0.1')))
  return [...answers].sort()
}

test('a connection goes to a random ready replica, and is refused without one', async t => {
  const [one, other] = [await startReplica(t, 8_101), await startReplica(t, 8_102)]
  const service = createService('viola', 7_101)
  assert.equal(service.address, '127.0.0.1:7101')
  await assert.rejects(callMany(7_101, 1), { code: 'ECONNREFUSED' })
  await service.setReady(one, true)
  assert.deepEqual(await callMany(7_101, 20), [one])
  await service.setReady(other, true)
  // One replica gets all of 50 connections once in 10^15.
  assert.deepEqual(await callMany(7_101, 50), [one, other])
  await service.setReady(one, false)
  assert.deepEqual(await callMany(7_101, 20), [other])
  await service.setReady(other, false)
  await assert.rejects(callMany(7_101, 1), { code: 'ECONNREFUSED' })
})

test('two Services have rules of their own', async t => {
  const [viola, inventory] = [await startReplica(t, 8_103), await startReplica(t, 8_104)]
  await createService('viola', 7_103).setReady(viola, true)
  await createService('inventory', 7_104).setReady(inventory, true)
  assert.deepEqual([await callMany(7_103, 5), await callMany(7_104, 5)], [[viola], [inventory]])
})
