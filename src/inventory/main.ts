/**
 * The inventory as a program of its own, and as a part that the operator is handed: settings → store → app → listen.
 */
import type { InventoryWrite } from '../contract/inventory.ts'
import { type Environment, settingsFrom } from '../env.ts'
import { listen } from '../http.ts'
import type { Log } from '../log.ts'
import { createInventoryApp } from './app.ts'
import { openInventoryAuth } from './auth.ts'
import { inventorySettings } from './config.ts'
import { openStore } from './store.ts'

export interface StartOptions {
  env: Environment
  log: Log
  onListen?: (url: string) => void
}

export interface RunningInventory {
  recorder: { put(writes: InventoryWrite[]): Promise<void> }
  url: string
  close(): Promise<void>
}

export async function startInventory({ env, log, onListen }: StartOptions): Promise<RunningInventory> {
  const settings = settingsFrom(inventorySettings, env)
  const auth = await openInventoryAuth(settings.INVENTORY_TOKENS_FILE, log)
  const store = await openStore({ path: settings.INVENTORY_DB_PATH, log })
  const app = createInventoryApp({ store, auth, log })
  const close = async () => {
    await app.close()
    await store.close()
  }
  try {
    const url = await listen(app, settings.INVENTORY_ADDR)
    log.info('inventory listening', { url })
    onListen?.(url)
    return { recorder: { put: store.put }, url, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Runs until the signal. */
export async function runInventory({ signal, ...options }: StartOptions & { signal: AbortSignal }): Promise<void> {
  const inventory = await startInventory(options)
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  await inventory.close()
  options.log.info('stopped')
}
