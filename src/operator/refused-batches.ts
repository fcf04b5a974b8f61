/**
 * An inventory refuses a whole batch for one entry, for example because it is older than the operator. The batch is halved
 * until only that entry is left out: it must not keep back the records of other nodes.
 */
import { ServiceError } from '../http-client/errors.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { InventoryBatch } from './inventory-batches.ts'

type Put = (records: InventoryBatch['records'], verdicts: InventoryBatch['verdicts']) => Promise<boolean>

/** Reports whether the verdicts are stored. What is refused alone is logged, and is sent again when it changes. */
export async function putBatch(put: Put, batch: InventoryBatch, log: Log): Promise<boolean> {
  try {
    return await put(batch.records, batch.verdicts)
  } catch (error) {
    if (!(error instanceof ServiceError) || !contentStatuses.includes(error.status ?? 0)) throw error
    const halves = halvesOf(batch)
    if (halves.length === 0)
      log.error('the inventory refuses an entry', { ...subjectOf(batch), error: messageOf(error) })
    let isStored = true
    for (const half of halves) isStored = (await putBatch(put, half, log)) && isStored
    return isStored
  }
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
