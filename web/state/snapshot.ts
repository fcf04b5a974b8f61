/**
 * The nodes as they were at a time.
 */
import { useEffect, useState } from 'preact/hooks'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import { byName, type Node, nodeOf } from '../model/nodes.ts'
import { recordPages } from './api.ts'

export interface Past {
  at: string
  records: readonly InventoryRecord[]
  nodes: readonly Node[]
  /** Whether every page is in. */
  complete: boolean
  problem: string
}

/** Undefined for now, and as long as nothing is known of then. */
export function usePast(at: string | undefined, wait = 0): Past | undefined {
  const [past, setPast] = useState<Past>()
  useEffect(() => {
    if (at === undefined) return
    let current = true
    const timer = setTimeout(async () => {
      const records: InventoryRecord[] = []
      const told = (complete: boolean, problem = '') => {
        const nodes = records.map(record => nodeOf(record, [])).sort(byName)
        if (current) setPast({ at, records: [...records], nodes, complete, problem })
      }
      try {
        for await (const page of recordPages(at)) {
          if (!current) return
          records.push(...page)
          told(false)
        }
        told(true)
      } catch (error) {
        told(true, error instanceof Error ? error.message : String(error))
      }
    }, wait)
    return () => {
      current = false
      clearTimeout(timer)
    }
  }, [at, wait])
  return past?.at === at ? past : undefined
}
