/**
 * The audit: part of the suite of every store.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditWrite } from '../../src/contract/audit.ts'
import type { Store } from '../../src/inventory/store.ts'

export function inventoryAuditConformance(using: (work: (store: Store) => Promise<void>) => Promise<void>): void {
  test('the audit is filtered by time, action, object and caller, newest first, and deleted with the history', () =>
    using(async store => {
      const entry = (at: string, more: Partial<AuditWrite> = {}): AuditWrite => ({
        ...{ at, action: 'config.change', object: 'ns/a', providerId: 'p1', caller: 'kim', proof: 'claimed' },
        ...{ source: 'object', outcome: 'synced', ...more },
      })
      const [first, second, third] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'] as const
      const before = await store.version()
      const sent = [entry(first), entry(second, { caller: 'lee' }), entry(third, { object: 'ns/b' })]
      await store.put([], [], { audit: { entries: sent, recordedBy: 'op' } })
      assert.notEqual(await store.version(), before)
      const found = async (filter: object) =>
        (await store.audit({ limit: 10, ...filter })).map(
          ({ at, caller, recordedBy }) => `${at} ${caller} ${recordedBy}`,
        )
      const lines = [
        '2026-01-03T00:00:00.000Z kim op',
        '2026-01-02T00:00:00.000Z lee op',
        '2026-01-01T00:00:00.000Z kim op',
      ]
      assert.deepEqual(await found({}), lines)
      assert.deepEqual(await found({ from: '2026-01-02T00:00:00.000Z', to: '2026-01-03T00:00:00.000Z' }), [lines[1]])
      assert.deepEqual(await found({ caller: 'lee' }), [lines[1]])
      assert.deepEqual(await found({ object: 'ns/b', action: 'config.change' }), [lines[0]])
      const [newest] = await store.audit({ limit: 1 })
      assert.deepEqual(await found({ before: newest?.id }), lines.slice(1))
      await store.pruneHistory('2026-01-02T12:00:00.000Z')
      assert.deepEqual(await found({}), [lines[0]])
    }))
}
