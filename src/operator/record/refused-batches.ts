/**
 * An inventory refuses a whole batch for one entry, for example because it is of another version, or because the operator
 * has no right to one provider. The batch is divided until only that is left out: it must not keep back the records of others.
 */

import type { AuditWrite } from '../../contract/audit.ts'
import { ServiceError } from '../../http-client/errors.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import type { InventoryBatch } from './inventory-batches.ts'

type Put = (records: InventoryBatch['records'], verdicts: InventoryBatch['verdicts']) => Promise<unknown>

/**
 * Reports whether nothing was forbidden. What is refused alone is logged, and is sent again when it changes. Providers that
 * the operator may not write are added to `forbidden`.
 */
export async function putBatch(put: Put, batch: InventoryBatch, log: Log, forbidden: Set<string>): Promise<boolean> {
  try {
    await put(batch.records, batch.verdicts)
    return true
  } catch (error) {
    const status = error instanceof ServiceError ? error.status : undefined
    if (status !== 403 && !contentStatuses.includes(status ?? 0)) throw error
    const parts = status === 403 ? byProvider(batch) : halvesOf(batch)
    if (parts.length < 2) {
      log.error('the inventory refuses an entry', { ...subjectOf(batch), error: messageOf(error) })
      if (status !== 403) return true
      for (const { providerId } of [...batch.records, ...batch.verdicts]) forbidden.add(providerId)
      return false
    }
    let isStored = true
    for (const part of parts) isStored = (await putBatch(put, part, log, forbidden)) && isStored
    return isStored
  }
}

/** Entries that the inventory refuses are logged by then: they must not keep back the records of nodes. */
export async function putAudit(
  put: (entries: AuditWrite[]) => Promise<unknown>,
  entries: AuditWrite[],
  log: Log,
): Promise<void> {
  try {
    await put(entries)
  } catch (error) {
    if (!(error instanceof ServiceError) || ![...contentStatuses, 403].includes(error.status ?? 0)) throw error
    log.error('the inventory refuses audit entries', { entries: entries.length, error: messageOf(error) })
  }
}

function byProvider({ records, verdicts }: InventoryBatch): InventoryBatch[] {
  const providers = new Set([...records, ...verdicts].map(({ providerId }) => providerId))
  return [...providers].map(provider => ({
    records: records.filter(({ providerId }) => providerId === provider),
    verdicts: verdicts.filter(({ providerId }) => providerId === provider),
  }))
}

const contentStatuses = [400, 413, 422]

/** A record stays with the verdicts on its VM, unless one of both is refused. None for a single entry. */
export function halvesOf({ records, verdicts }: InventoryBatch): InventoryBatch[] {
  if (verdicts.length > 1) {
    const last = verdicts.slice(Math.ceil(verdicts.length / 2))
    const vms = new Set(last.flatMap(one => one.verdicts.map(({ vm }) => vm)))
    return [
      {
        records: records.filter(({ instanceId }) => !vms.has(instanceId)),
        verdicts: verdicts.slice(0, -last.length),
      },
      { records: records.filter(({ instanceId }) => vms.has(instanceId)), verdicts: last },
    ]
  }
  if (records.length > 0 && verdicts.length > 0)
    return [
      { records, verdicts: [] },
      { records: [], verdicts },
    ]
  const middle = Math.ceil(records.length / 2)
  if (records.length < 2) return []
  return [records.slice(0, middle), records.slice(middle)].map(half => ({ records: half, verdicts: [] }))
}

function subjectOf({ records: [record], verdicts: [verdicts] }: InventoryBatch): Record<string, string> {
  return record ? { node: record.nodeName, provider: record.providerId } : { config: verdicts?.config ?? '' }
}
