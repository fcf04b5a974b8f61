/**
 * Batches of records and verdicts for the inventory, each one transaction: a record is in the batch of the verdicts on its
 * VM. Pure.
 */
import { type InventoryWrite, maxWrites } from '../../contract/inventory.ts'
import type { VerdictWrite } from '../../contract/operator-api.ts'

export interface InventoryBatch {
  records: InventoryWrite[]
  verdicts: VerdictWrite[]
}

/** A record that is built with its batch: the records of thousands of nodes would need more memory than the nodes. */
export interface PendingWrite {
  instanceId: string
  build: () => InventoryWrite
}

/** Verdicts of a batch; one write may exceed it. */
const maxVerdicts = 1_000

export function* inventoryBatches(
  writes: Iterable<PendingWrite>,
  changes: Iterable<VerdictWrite>,
): Generator<InventoryBatch> {
  const left = Map.groupBy(writes, ({ instanceId }) => instanceId)
  const takeOf = (vm: string) => {
    const found = left.get(vm) ?? []
    left.delete(vm)
    return found.map(({ build }) => build())
  }
  let batch: InventoryBatch = { records: [], verdicts: [] }
  let verdicts = 0
  for (const change of changes) {
    const own = change.verdicts.flatMap(({ vm }) => takeOf(vm))
    const isFull =
      batch.records.length + own.length > maxWrites ||
      batch.verdicts.length >= maxWrites ||
      verdicts + change.verdicts.length > maxVerdicts
    if (isFull && batch.verdicts.length > 0) {
      yield batch
      batch = { records: [], verdicts: [] }
      verdicts = 0
    }
    // Several nodes may name the same VM.
    while (own.length > maxWrites) yield { records: own.splice(0, maxWrites), verdicts: [] }
    batch.records.push(...own)
    batch.verdicts.push(change)
    verdicts += change.verdicts.length
  }
  for (const { build } of [...left.values()].flat()) {
    if (batch.records.length >= maxWrites) {
      yield batch
      batch = { records: [], verdicts: [] }
    }
    batch.records.push(build())
  }
  if (batch.records.length > 0 || batch.verdicts.length > 0) yield batch
}
