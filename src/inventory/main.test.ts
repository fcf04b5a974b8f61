import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { request } from 'undici'
import { aWrite } from '../../test/inventory.ts'
import { silent } from '../log.ts'
import { runInventory, startInventory } from './main.ts'

test('the operator is handed a recorder; what it records is served, and is there after a restart', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-main-'))
  const env = { INVENTORY_ADDR: '127.0.0.1:0', INVENTORY_DB_PATH: join(dir, 'inventory.json') }
  try {
    const first = await startInventory({ env, log: silent })
    await first.recorder.put([aWrite('a')])
    const answer = await request(`${first.url}/v1/interfaces/node-configs?providerId=p1`)
    assert.equal(((await answer.body.json()) as unknown[]).length, 1)
    await first.close()

    const stop = new AbortController()
    let running: Promise<void> = Promise.resolve()
    const url = await new Promise<string>((resolve, reject) => {
      running = runInventory({ env, log: silent, signal: stop.signal, onListen: resolve })
      running.catch(reject)
    })
    const again = await request(`${url}/v1/inventory/node-configs/a`)
    assert.equal(again.statusCode, 200)
    await again.body.dump()
    stop.abort()
    await running
  } finally {
    await rm(dir, { recursive: true })
  }
})
