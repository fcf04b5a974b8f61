/**
 * The statuses as this leader wrote them, or found them at first. Somebody may edit a status, and much of it can be derived
 * from nothing else: the plan uses what was written last, and the next write puts the rest right.
 *
 * The entries refer to objects of the cache, so they cost no memory of their own.
 */
import { equalJson } from '../contract/json.ts'
import type { NodeConfig, NodeConfigStatus } from '../contract/node-config.ts'
import type { Caches } from './caches.ts'
import { isLegacyEntry } from './plan/config-status.ts'

export interface OwnStatuses {
  /** The config with the status that we wrote last: the same object unless somebody edited it. */
  of(config: NodeConfig): NodeConfig
  /** Before a write: its response may be lost. */
  writing(config: NodeConfig, status: NodeConfigStatus): void
  wrote(config: NodeConfig): void
}

interface Entry {
  status: NodeConfigStatus | undefined
  /** A write without a response yet. */
  written?: NodeConfigStatus
}

export function createOwnStatuses({ configs }: { configs: Pick<Caches['configs'], 'on' | 'restoredAt'> }): OwnStatuses {
  const entries = new Map<string, Entry>()
  let restoredAt = configs.restoredAt()

  configs.on(({ type, object }) => {
    if (type === 'deleted') entries.delete(uidOf(object))
  })

  return {
    of(config) {
      // An entry of a MultiNicBizConfig is kept in no API server.
      if (isLegacyEntry(config)) return config
      // The statuses of a backup belong to its specs.
      if (restoredAt !== configs.restoredAt()) {
        restoredAt = configs.restoredAt()
        entries.clear()
      }
      const entry = entries.get(uidOf(config))
      if (
        !entry ||
        equalJson(config.status, entry.status) ||
        (entry.written && equalJson(config.status, entry.written))
      ) {
        entries.set(uidOf(config), { status: config.status })
        return config
      }
      const { status: _, ...rest } = config
      return { ...rest, ...(entry.status && { status: entry.status }) }
    },
    writing(config, status) {
      const entry = entries.get(uidOf(config))
      if (entry) entry.written = status
    },
    wrote: config => void entries.set(uidOf(config), { status: config.status }),
  }
}

function uidOf({ metadata }: NodeConfig): string {
  return metadata.uid ?? ''
}
