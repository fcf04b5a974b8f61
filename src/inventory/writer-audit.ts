/**
 * Audit entries of the callers who write records here: one for each caller, provider and hour. The history has every write.
 */
import { type AuditWrite, auditName } from '../contract/audit.ts'

const hourMs = 3_600_000
const maxKnown = 10_000

export interface WriterAudit {
  /** Of what is not stored yet. */
  entriesOf(caller: string, writes: readonly { providerId: string }[]): AuditWrite[]
  noteStored(entries: readonly AuditWrite[]): void
}

export function createWriterAudit(now: () => Date): WriterAudit {
  let known = new Set<string>()
  let hour = 0
  return {
    entriesOf(caller, writes) {
      const at = now()
      const current = Math.floor(at.getTime() / hourMs)
      if (current !== hour || known.size > maxKnown) known = new Set()
      hour = current
      return [...new Set(writes.map(({ providerId }) => providerId))].flatMap((providerId): AuditWrite[] => {
        const entry: AuditWrite = {
          ...{ at: at.toISOString(), action: 'records.write', object: auditName(providerId, 507), providerId },
          ...{ caller: auditName(caller), proof: 'authenticated', source: 'inventory-api', outcome: 'written' },
        }
        return known.has(keyOf(entry)) ? [] : [entry]
      })
    },
    noteStored(entries) {
      for (const entry of entries) known.add(keyOf(entry))
    },
  }
}

function keyOf({ caller, providerId }: AuditWrite): string {
  return JSON.stringify([caller, providerId])
}
