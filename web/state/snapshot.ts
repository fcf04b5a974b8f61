/**
 * The nodes as they were at a given time.
 */
import { useEffect, useState } from 'preact/hooks'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import { type Node, nodeOf } from '../model/nodes.ts'
import { byName } from '../model/order.ts'
import { recordPages } from './api.ts'

export interface Snapshot {
  at: string
  records: readonly InventoryRecord[]
  nodes: readonly Node[]
  /** Whether all pages are loaded. */
  complete: boolean
  error: string
}

/** Undefined without a time, and until the first page is loaded. Starts to load after `delayMs`. */
export function useSnapshot(at: string | undefined, delayMs = 0): Snapshot | undefined {
  const [snapshot, setSnapshot] = useState<Snapshot>()
  useEffect(() => {
    if (at === undefined) return
    let current = true
    const timer = setTimeout(async () => {
      const records: InventoryRecord[] = []
      const publish = (complete: boolean, error = '') => {
        const nodes = records.map(record => nodeOf(record, [])).sort(byName)
        if (current) setSnapshot({ at, records: [...records], nodes, complete, error })
      }
      try {
        for await (const page of recordPages(at)) {
          if (!current) return
          records.push(...page)
          publish(false)
        }
        publish(true)
      } catch (error) {
        publish(true, error instanceof Error ? error.message : String(error))
      }
    }, delayMs)
    return () => {
      current = false
      clearTimeout(timer)
    }
  }, [at, delayMs])
  return snapshot?.at === at ? snapshot : undefined
}
