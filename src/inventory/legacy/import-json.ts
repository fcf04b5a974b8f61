/**
 * Legacy: imports `inventory.json` of the Go implementation once into the database and leaves the file in place. Support
 * ends with 1.0.
 */
import { existsSync, readFileSync } from 'node:fs'
import * as z from 'zod'
import { fromWireInterfaces, toWireInterface, type WireInterface } from '../../contract/interfaces.ts'
import type { InventoryWrite } from '../../contract/inventory.ts'
import { fieldErrors } from '../../contract/problem.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Database } from '../database.ts'

/** `inventory.json` or `inventory.db` → the paths of both. */
export function databasePaths(path: string): { database: string; legacyFile: string } {
  const stem = path.replace(/\.(json|db)$/, '')
  return { database: path.endsWith('.json') ? `${stem}.db` : path, legacyFile: `${stem}.json` }
}

const legacyInterface = z.object({
  id: z.number().optional(),
  portId: z.string().optional(),
  name: z.string().optional(),
  macAddress: z.string(),
  address: z.string().optional(),
  cidr: z.string().optional(),
  mtu: z.number().optional(),
  networkId: z.string().optional(),
  subnetId: z.string().optional(),
})
const legacyRecord = z.object({
  providerId: z.string().min(1),
  nodeName: z.string().min(1),
  instanceId: z.string().default(''),
  config: z.object({ interfaces: z.array(legacyInterface).nullish() }),
  lastConfigHash: z.string().default(''),
  updatedAt: z.string().optional(),
})
const legacyFileSchema = z.object({ records: z.array(legacyRecord).nullish() })

export interface ImportOptions {
  db: Database
  put(writes: readonly InventoryWrite[], timeOf: (write: InventoryWrite) => string | undefined): Promise<void>
  legacyFile: string
  log: Log
  now(): Date
}

/** Logs a file that it cannot read and retries at the next start. The inventory works without it. */
export async function importLegacyFile({ db, put, legacyFile, log, now }: ImportOptions): Promise<void> {
  const milestone = 'inventory.json imported'
  if (!existsSync(legacyFile)) return
  const done = await db.selectFrom('milestones').select('at').where('name', '=', milestone).executeTakeFirst()
  if (done) return

  const parsed = legacyFileSchema.safeParse(readJson(legacyFile))
  if (!parsed.success) {
    const errors = fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`)
    log.error('cannot import legacy inventory file', { path: legacyFile, errors: errors.slice(0, 10) })
    return
  }
  const records = parsed.data.records ?? []
  const times = new Map(records.map(record => [keyOf(record), timeFrom(record.updatedAt)]))
  await put(records.map(writeOf), write => times.get(keyOf(write)))
  await db
    .insertInto('milestones')
    .values({ name: milestone, at: now().toISOString() })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  log.info('imported legacy inventory file', { path: legacyFile, records: records.length })
}

function writeOf(record: z.infer<typeof legacyRecord>): InventoryWrite {
  const { providerId, nodeName, instanceId, config, lastConfigHash } = record
  const interfaces = fromWireInterfaces((config.interfaces ?? []).slice(0, 10) as WireInterface[]).map(toWireInterface)
  return {
    providerId,
    nodeName,
    instanceId,
    config: { nodeName, ...(instanceId ? { instanceId } : {}), interfaces },
    lastConfigHash,
    why: 'imported from inventory.json',
  }
}

function keyOf({ providerId, nodeName }: { providerId: string; nodeName: string }): string {
  return JSON.stringify([providerId, nodeName])
}

function timeFrom(text: string | undefined): string | undefined {
  const time = new Date(text ?? '')
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
