/** Starts all our HTTP servers and collects their errors. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { healthApp } from '../../src/controller/health.ts'
import { startInventory } from '../../src/inventory/main.ts'
import { createOperatorApp, serveOperatorApi } from '../../src/operator/app.ts'
import { createPlanLimit } from '../../src/operator/limits/plan-limit.ts'
import { listen } from '../../src/server/server.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { adminCaller, openToEveryone } from '../support/access.ts'
import { startTargetCluster } from '../support/target-cluster.ts'
import { aViola } from '../support/viola.ts'

export interface Servers extends AsyncDisposable {
  apps: Record<'viola' | 'inventory' | 'operator' | 'controller', FastifyInstance>
  ports: Record<string, number>
  /** For requests that need a known caller. */
  authorization: string
  /** Errors that they logged. */
  failures: string[]
}

export async function startServers(): Promise<Servers> {
  const failures: string[] = []
  const log = createLog({}, { level: 'error', write: line => failures.push(line) })
  const dir = await mkdtemp(join(tmpdir(), 'multinic-servers-'))
  const biz = await startTargetCluster()
  const viola = await aViola({ KUBECONFIG: biz.api.kubeconfig }, log)
  let inventoryApp: FastifyInstance | undefined
  const inventory = await startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      INVENTORY_RATE_LIMIT: '0',
      INVENTORY_ANONYMOUS_ACCESS: 'true',
    },
    log,
    addRoutes: (app, access) => {
      inventoryApp = app
      serveOperatorApi(app, () => undefined, access)
    },
  })
  const caller = await adminCaller(dir)
  const operator = createOperatorApp({
    log,
    metrics: createMetrics('operator'),
    ready: () => [],
    isLeader: () => true,
    access: await openToEveryone('OPERATOR', caller.tokensFile),
    dryRun: () => Promise.reject(new Error('not used')),
    planLimit: createPlanLimit(),
  })
  const empty = { synced: true, list: () => [], by: () => [], problem: () => undefined }
  const controller = healthApp({
    caches: { configs: empty, jobs: empty } as never,
    metrics: createMetrics('controller'),
    log,
    now: () => new Date(),
    signal: new AbortController().signal,
    refused: { problem: () => undefined },
    warnings: () => [],
    queue: () => undefined,
  })
  if (!inventoryApp) throw new Error('the inventory did not call addRoutes')
  const urls = {
    viola: await listen(viola.app, '127.0.0.1:0'),
    inventory: inventory.url,
    operator: await listen(operator, '127.0.0.1:0'),
    controller: await listen(controller, '127.0.0.1:0'),
  }
  return {
    apps: { viola: viola.app, inventory: inventoryApp, operator, controller },
    ports: Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, Number(new URL(url).port)])),
    authorization: `Bearer ${caller.token}`,
    failures,
    async [Symbol.asyncDispose]() {
      await Promise.all([viola.close(), inventory.close(), operator.close(), controller.close()])
      await biz.close()
      await rm(dir, { recursive: true })
    },
  }
}
