/**
 * When each port reached the stages of a delivery: seen, delivered, in the cluster, with a job. The inventory stores them.
 */
import type { Interface } from '../../contract/interfaces.ts'
import { type DeliveredNode, identityOf } from '../plan/observed-state.ts'
import { setBounded } from './bounded.ts'
import { hasJob, type Stages } from './inventory-record.ts'

export interface StageTimes {
  seen(providerId: string, portId: string): void
  delivered(providerId: string, nics: readonly Interface[], stored: boolean): void
  /** The controller may have started a job for these interfaces. */
  node(providerId: string, node: DeliveredNode): void
  of(providerId: string, nic: Interface): Stages | undefined
}

export function createStageTimes(now: () => Date): StageTimes {
  const stages = new Map<string, Stages>()
  const timestamp = timestampsOf(now)
  return {
    seen(providerId, portId) {
      const key = `${providerId} ${portId}`
      const known = stages.get(key)
      // A port that was delivered before was detached meanwhile.
      if (known?.seen === undefined || known.delivered !== undefined) setBounded(stages, key, { seen: timestamp() })
    },
    delivered(providerId, nics, stored) {
      const at = timestamp()
      for (const nic of nics) {
        const key = `${providerId} ${identityOf(nic)}`
        const known = stages.get(key)
        const seen = (known?.delivered === undefined && known?.seen) || at
        setBounded(stages, key, { seen, delivered: at, ...(stored && { cr: at }) })
      }
    },
    node(providerId, node) {
      if (!hasJob(node)) return
      for (const nic of node.interfaces) {
        const key = `${providerId} ${identityOf(nic)}`
        const known = stages.get(key)
        if (known?.job === undefined) setBounded(stages, key, { ...known, job: timestamp() })
      }
    },
    of: (providerId, nic) => stages.get(`${providerId} ${identityOf(nic)}`),
  }
}

/** Formats each millisecond once: thousands of ports are seen in the same one. */
function timestampsOf(now: () => Date): () => string {
  let last = { ms: Number.NaN, text: '' }
  return () => {
    const ms = now().getTime()
    if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() }
    return last.text
  }
}
