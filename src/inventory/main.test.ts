import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { request } from 'undici'
import { aWrite } from '../../test/support/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { runInventory, startInventory } from './main.ts'
import { openStore } from './store.ts'

test('records of the operator are served and survive a restart', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-main-'))
  const env = {
    INVENTORY_ADDR: '127.0.0.1:0',
    INVENTORY_DB_PATH: join(dir, 'inventory.json'),
    INVENTORY_ANONYMOUS_ACCESS: 'true',
  }
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

test('history is kept as long as configured, and current records stay', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-kept-'))
  const path = join(dir, 'inventory.db')
  try {
    const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000)
    let time = daysAgo(30)
    const store = await openStore({ path, log: silent, now: () => time })
    await store.put([aWrite('a')])
    time = daysAgo(20)
    await store.put([aWrite('a', { nics: 2 })])
    time = daysAgo(5)
    await store.put([aWrite('a', { nics: 3 })])
    await store.close()
    const kept: [days: string, nics: number[]][] = [
      ['365', [3, 2, 1]],
      ['10', [3, 2]],
      ['1', [3]],
    ]
    for (const [INVENTORY_HISTORY_DAYS, nics] of kept) {
      const env = {
        INVENTORY_ADDR: '127.0.0.1:0',
        INVENTORY_DB_PATH: path,
        INVENTORY_HISTORY_DAYS,
        INVENTORY_ANONYMOUS_ACCESS: 'true',
      }
      const inventory = await startInventory({ env, log: silent })
      const { body } = await request(`${inventory.url}/v1/inventory/node-configs/a/history`)
      const entries = (await body.json()) as { after: { config: { interfaces: unknown[] } } }[]
      assert.deepEqual(
        entries.map(entry => entry.after.config.interfaces.length),
        nics,
      )
      await inventory.close()
    }
  } finally {
    await rm(dir, { recursive: true })
  }
})
