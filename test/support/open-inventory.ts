/**
 * An inventory that answers everybody, with a database of its own that disappears with it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningInventory, type StartOptions, startInventory } from '../../src/inventory/main.ts'
import { silent } from '../../src/telemetry/log.ts'

export async function startOpenInventory(more: Pick<StartOptions, 'addRoutes'> = {}): Promise<RunningInventory> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-'))
  const inventory = await startInventory({
    ...more,
    log: silent,
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      INVENTORY_ANONYMOUS_ACCESS: 'true',
    },
  })
  return {
    ...inventory,
    async close() {
      await inventory.close()
      await rm(dir, { recursive: true })
    },
  }
}
