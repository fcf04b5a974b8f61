/**
 * The file of older versions, `inventory.json`: read once into the database beside it, and left in place.
 */
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { fromWireInterfaces, toWireInterface, type WireInterface } from '../contract/interfaces.ts'
import type { InventoryWrite } from '../contract/inventory.ts'
import { fieldErrors } from '../contract/problem.ts'
import type { Log } from '../telemetry/log.ts'
import type { Database } from './database.ts'

/** `inventory.json` → `inventory.db` beside it, and the other way round. */
export function pathsFrom(path: string): { database: string; oldFile: string } {
  const stem = path.replace(/\.(json|db)$/, '')
  return { database: path.endsWith('.json') ? `${stem}.db` : path, oldFile: `${stem}.json` }
}

const oldInterface = z.object({
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
const oldRecord = z.object({
  providerId: z.string().min(1),
  nodeName: z.string().min(1),
  instanceId: z.string().default(''),
  config: z.object({ interfaces: z.array(oldInterface).nullish() }),
  lastConfigHash: z.string().default(''),
  updatedAt: z.string().optional(),
})
const oldFileSchema = z.object({ records: z.array(oldRecord).nullish() })

export interface ImportOptions {
  db: Database
  put(writes: readonly InventoryWrite[], timeOf: (write: InventoryWrite) => string | undefined): Promise<void>
  oldFile: string
  log: Log
  now(): Date
}

/** A file that cannot be read is told of and tried again at the next start; the inventory works without it. */
export async function importOldFile({ db, put, oldFile, log, now }: ImportOptions): Promise<void> {
  const milestone = 'inventory.json imported'
  if (!existsSync(oldFile)) return
  const done = await db.selectFrom('milestones').select('at').where('name', '=', milestone).executeTakeFirst()
  if (done) return

  const parsed = oldFileSchema.safeParse(jsonIn(oldFile))
  if (!parsed.success) {
    const errors = fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`)
    log.error('the old inventory file cannot be imported', { path: oldFile, errors: errors.slice(0, 10) })
    return
  }
  const records = parsed.data.records ?? []
  const times = new Map(records.map(record => [keyOf(record), timeIn(record.updatedAt)]))
  await put(records.map(writeOf), write => times.get(keyOf(write)))
  await db
    .insertInto('milestones')
    .values({ name: milestone, at: now().toISOString() })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  log.info('the old inventory file was imported', { path: oldFile, records: records.length })
}

function writeOf(record: z.infer<typeof oldRecord>): InventoryWrite {
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

function timeIn(text: string | undefined): string | undefined {
  const time = new Date(text ?? '')
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
