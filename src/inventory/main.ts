/**
 * The inventory as a program of its own, and as a part that the operator is handed: settings → store → app → listen.
 */
import type { FastifyInstance } from 'fastify'
import type { InventoryWrite } from '../contract/inventory.ts'
import { verdictsPath } from '../contract/operator-api.ts'
import { type Environment, settingsFrom } from '../runtime/env.ts'
import { listen } from '../server/server.ts'
import type { Log } from '../telemetry/log.ts'
import { createInventoryApp } from './app.ts'
import { type InventoryAuth, openInventoryAuth, type Reviews } from './auth.ts'
import { inventorySettings } from './config.ts'
import { openStore } from './store.ts'

export interface StartOptions {
  env: Environment
  log: Log
  onListen?: (url: string) => void
  /** Adds routes of another part to the same address. */
  also?: (app: FastifyInstance, auth: InventoryAuth) => void
  /** Opens the way to the Kubernetes that says whose a token is, for INVENTORY_TOKEN_REVIEW. */
  reviews?: (audience: string | undefined) => Promise<Reviews>
}

export interface RunningInventory {
  recorder: { put(writes: InventoryWrite[]): Promise<void> }
  url: string
  close(): Promise<void>
}

const dayMs = 24 * 3_600_000

export async function startInventory({ env, log, onListen, also, reviews }: StartOptions): Promise<RunningInventory> {
  const settings = settingsFrom(inventorySettings, env)
  const auth = await openInventoryAuth(settings.INVENTORY_TOKENS_FILE, log, {
    openReads: settings.INVENTORY_OPEN_READS,
    reviews: settings.INVENTORY_TOKEN_REVIEW ? await reviews?.(settings.INVENTORY_TOKEN_AUDIENCE) : undefined,
  })
  const store = await openStore({
    path: settings.INVENTORY_DB_PATH,
    databaseUrl: settings.INVENTORY_DATABASE_URL,
    log,
  })
  const { INVENTORY_WEB_DIR: webDir, INVENTORY_RATE_LIMIT: rateLimit } = settings
  const app = createInventoryApp({ store, auth, log, webDir, rateLimit })
  // Without an operator behind this address there are no verdicts; the dashboard is told so without an error.
  if (also) also(app, auth)
  else app.get(verdictsPath, (_, reply) => reply.code(204).send())
  const forgetting = setInterval(() => void forget(), dayMs)
  forgetting.unref()
  await forget()

  async function forget(): Promise<void> {
    const before = new Date(Date.now() - settings.INVENTORY_HISTORY_DAYS * dayMs).toISOString()
    try {
      const entries = await store.forget(before)
      if (entries > 0) log.info('old history forgotten', { before, entries })
    } catch (error) {
      log.warn('old history could not be forgotten', { error })
    }
  }

  const close = async () => {
    clearInterval(forgetting)
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
