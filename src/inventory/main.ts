/**
 * The inventory as a program and as a component inside the operator: settings → store → app → listen.
 */
import type { FastifyInstance } from 'fastify'
import type { AuditWrite } from '../contract/audit.ts'
import type { InventoryRecord, InventoryWrite } from '../contract/inventory.ts'
import type { VerdictWrite } from '../contract/operator-api.ts'
import type { Environment } from '../runtime/env.ts'
import type { Access } from '../server/access.ts'
import { openCertificates } from '../server/certificates.ts'
import { listen } from '../server/server.ts'
import { measureCalls } from '../telemetry/client-metrics.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openInventoryAccess } from './access.ts'
import { createInventoryApp } from './app.ts'
import { inventorySettingsFrom } from './config.ts'
import { measureReadyPorts } from './ready-ports.ts'
import { openStore } from './store.ts'

export interface StartOptions {
  env: Environment
  log: Log
  onListen?: (url: string) => void
  /** Adds routes of another component to the same server. */
  addRoutes?: (app: FastifyInstance, access: Access) => void
  /** How often the files of the certificate are read again. */
  reloadMs?: number
}

export interface RunningInventory {
  recorder: {
    /** Reports that the verdicts are stored too. */
    put(writes: InventoryWrite[], verdicts?: VerdictWrite[], audit?: AuditWrite[]): Promise<boolean>
    list(providerId: string): Promise<InventoryRecord[]>
  }
  url: string
  close(): Promise<void>
}

const dayMs = 24 * 3_600_000

export async function startInventory(options: StartOptions): Promise<RunningInventory> {
  const { env, log, onListen, addRoutes, reloadMs } = options
  const settings = inventorySettingsFrom(env)
  const certificates = await openCertificates('INVENTORY', settings, log, reloadMs)
  const metrics = createMetrics('inventory', { process: true })
  const access = await openInventoryAccess(settings, env, log, measureCalls(metrics))
  const store = await openStore({
    path: settings.INVENTORY_DB_PATH,
    databaseUrl: settings.INVENTORY_DATABASE_URL,
    log,
    onReady: measureReadyPorts(metrics),
  })
  const rateLimit = settings.INVENTORY_RATE_LIMIT
  const app = createInventoryApp({ store, access, log, metrics, rateLimit, certificates })
  addRoutes?.(app, access)
  const stop = new AbortController()
  // In the background: PostgreSQL may need minutes to drop or to partition a large history.
  let pruning = prune()
  const pruneTimer = setInterval(() => {
    pruning = pruning.then(prune)
  }, dayMs)
  pruneTimer.unref()

  async function prune(): Promise<void> {
    const kept = new Date(Date.now() - settings.INVENTORY_HISTORY_DAYS * dayMs).toISOString()
    const before = store.keepsHistoryFrom(kept)
    try {
      const entries = await store.pruneHistory(before, stop.signal)
      if (entries > 0) log.info('deleted old history', { before, entries })
    } catch (error) {
      if (!stop.signal.aborted) log.warn('cannot delete old history', { error })
    }
  }

  const close = async () => {
    clearInterval(pruneTimer)
    stop.abort()
    await app.close()
    await pruning
    await store.close()
  }
  try {
    const url = await listen(app, settings.INVENTORY_ADDR)
    log.info('inventory listening', { url })
    onListen?.(url)
    const recorder: RunningInventory['recorder'] = {
      put: (writes, verdicts, audit = []) =>
        store.put(writes, verdicts, { audit: { entries: audit, recordedBy: 'operator' } }).then(() => true),
      list: providerId => store.list({ providerId }),
    }
    return { recorder, url, close }
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
