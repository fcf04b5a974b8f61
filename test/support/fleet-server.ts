/**
 * Serves an inventory with many nodes and the dashboard on loopback.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInventoryApp } from '../../src/inventory/app.ts'
import { openStore, type Store } from '../../src/inventory/store.ts'
import type { Access } from '../../src/server/access.ts'
import { silent } from '../../src/telemetry/log.ts'
import { cachedWeb } from '../../web/build.ts'
import { openToEveryone } from './access.ts'
import { aFleet, aFleetHistory, verdictWritesOf } from './fleet.ts'

export interface FleetServer {
  url: string
  store: Store
  webDir: string
  close(): Promise<void>
}

export async function startFleet(nodes: number, access?: Access): Promise<FleetServer> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-fleet-'))
  const webDir = await cachedWeb()
  const now = new Date()
  let clock: Date | undefined
  const store = await openStore({ path: join(dir, 'inventory.db'), log: silent, now: () => clock ?? new Date() })
  for (const { at, writes } of aFleetHistory({ nodes, now })) {
    clock = at
    await store.put(writes)
  }
  clock = undefined
  await store.put([], verdictWritesOf(aFleet({ nodes, now })))
  const opened = access ?? (await openToEveryone())
  const app = createInventoryApp({ store, access: opened, log: silent, webDir })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    url,
    store,
    webDir,
    async close() {
      await app.close()
      await store.close()
      await rm(dir, { recursive: true })
    },
  }
}
