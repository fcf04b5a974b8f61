import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type InventoryWrite, maxWrites } from '../../contract/inventory.ts'
import { inventoryBatches } from './inventory-batches.ts'

test('records are built with their batch, not all at once', () => {
  const built: string[] = []
  const writes = Array.from({ length: 3 * maxWrites }, (_, n) => ({
    instanceId: `vm-${n}`,
    build() {
      built.push(`vm-${n}`)
      return { instanceId: `vm-${n}` } as InventoryWrite
    },
  }))
  const sizes = []
  for (const batch of inventoryBatches(writes, []))
    sizes.push([batch.records.length, built.length <= (sizes.length + 1) * maxWrites])
  assert.deepEqual(sizes, Array(3).fill([maxWrites, true]))
  assert.equal(new Set(built).size, 3 * maxWrites)
})
