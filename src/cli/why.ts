/**
 * Which nodes, NICs and verdicts a word is about: a port, a node, a VM, an address or a MAC. Pure.
 */
import { canonical } from '../contract/address.ts'
import { addressesOf } from '../contract/interfaces.ts'
import { type InventoryRecord, type Stage, stages } from '../contract/inventory.ts'
import type { OperatorVerdict } from '../contract/operator-api.ts'
import { type NicView, nicViews, stateOf, stateOfNic } from './status.ts'

export interface NicWhy extends NicView {
  /** When it passed each stage. */
  stages: Partial<Record<Stage, string>>
  /** The stage that it has not passed yet. */
  waitsFor?: Stage
}

export interface NodeWhy {
  providerId: string
  nodeName: string
  instanceId: string
  state: string
  reason?: string
  message?: string
  remedy?: string
  interfaces: NicWhy[]
}

export interface Why {
  nodes: NodeWhy[]
  /** Ports and VMs that are none of these NICs, and what became of them. */
  verdicts: OperatorVerdict[]
}

/** Of records that begin with the word, those that it is about: whole nodes, or nodes with the one NIC that it names. */
export function nodesAbout(word: string, records: readonly InventoryRecord[]): NodeWhy[] {
  return records.flatMap(record => {
    const whole = record.nodeName === word || record.instanceId === word
    const interfaces = whysOf(record, nic => whole || isAbout(word, nic))
    if (!whole && interfaces.length === 0) return []
    const { providerId, nodeName, instanceId, reason, message, remedy } = record
    const told = { ...(reason && { reason }), ...(message && { message }), ...(remedy && { remedy }) }
    return [{ providerId, nodeName, instanceId, state: stateOf(record), ...told, interfaces }]
  })
}

/** What is told of these NICs already is not told twice. */
export function whyOf(nodes: readonly NodeWhy[], verdicts: readonly OperatorVerdict[]): Why {
  const shown = new Set(nodes.flatMap(({ interfaces }) => interfaces.map(({ portId }) => portId)))
  const seen = new Set<string>()
  return {
    nodes: [...nodes],
    verdicts: verdicts.filter(({ config, vm, portId, reason }) => {
      if (portId !== undefined && reason === 'Selected' && shown.has(portId)) return false
      const key = JSON.stringify([config, vm, portId, reason])
      return !seen.has(key) && seen.add(key)
    }),
  }
}

function whysOf(record: InventoryRecord, among: (nic: Wanted) => boolean): NicWhy[] {
  return nicViews(record, among).map(nic => {
    const passed = stateOfNic(record, nic)?.stages ?? {}
    const waitsFor = nic.status === 'Configured' ? undefined : stages.find(stage => passed[stage] === undefined)
    return { ...nic, stages: passed, ...(waitsFor && Object.keys(passed).length > 0 && { waitsFor }) }
  })
}

type Wanted = InventoryRecord['config']['interfaces'][number]

export function isAbout(word: string, nic: Wanted): boolean {
  const address = canonical(word.split('/', 1)[0] ?? word)
  return (
    nic.portId === word ||
    nic.macAddress.toLowerCase() === word.toLowerCase() ||
    (address !== undefined && addressesOf(nic).some(one => one.split('/', 1)[0] === address))
  )
}
