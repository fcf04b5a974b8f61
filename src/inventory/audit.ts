/**
 * The audit: entries that operators send, and those of the callers of this API. Kept as long as the history.
 */
import type { Selectable, Transaction } from 'kysely'
import type { AuditEntry, AuditWrite } from '../contract/audit.ts'
import type { Database } from './database.ts'
import type { AuditRow, Tables } from './schema.ts'
import { takeIds } from './write.ts'

export interface AuditFilter {
  /** RFC 3339 in UTC. `to` is not included. */
  from?: string
  to?: string
  action?: string
  object?: string
  caller?: string
  /** Only entries with a lower ID. */
  before?: number
  limit: number
}

/** Entries and who sent them. */
export interface AuditBatch {
  entries: readonly AuditWrite[]
  recordedBy: string
}

export async function putAudit(tx: Transaction<Tables>, { entries, recordedBy }: AuditBatch): Promise<boolean> {
  if (entries.length === 0) return false
  const first = await takeIds(tx, entries.length)
  const rows = entries.map(({ providerId, at, ...rest }, index) => ({
    ...rest,
    ...{ id: first + index, at: new Date(at).toISOString(), provider_id: providerId, recorded_by: recordedBy },
  }))
  await tx.insertInto('audit').values(rows).execute()
  return true
}

/** Newest first. */
export async function findAudit(db: Database, filter: AuditFilter): Promise<AuditEntry[]> {
  const { from, to, before, limit } = filter
  let query = db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit)
  if (from !== undefined) query = query.where('at', '>=', from)
  if (to !== undefined) query = query.where('at', '<', to)
  if (before !== undefined) query = query.where('id', '<', before)
  for (const column of ['action', 'object', 'caller'] as const) {
    const value = filter[column]
    if (value !== undefined) query = query.where(column, '=', value)
  }
  return (await query.execute()).map(entryFrom)
}

function entryFrom({ id, provider_id, recorded_by, ...rest }: Selectable<AuditRow>): AuditEntry {
  return { ...rest, id: Number(id), providerId: provider_id, recordedBy: recorded_by }
}
