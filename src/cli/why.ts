/**
 * Which nodes, NICs and verdicts a word is about: a port, a node, a VM, an address or a MAC. Pure.
 */
import { canonical } from '../contract/address.ts'
import { comparisonsOf } from '../contract/deviations.ts'
import { addressesOf } from '../contract/interfaces.ts'
import type { InventoryRecord } from '../contract/inventory.ts'
import type { OperatorVerdict } from '../contract/operator-api.ts'
import { currentStage, type Stage } from '../contract/stages.ts'
import { type Explained, type NicView, nicView, stateOf } from './status.ts'

export interface NicWhy extends NicView {
  /** When it passed each stage. */
  stages: Partial<Record<Stage, string>>
  /** Stages whose reported time was impossible. */
  clamped?: Stage[]
  /** The stage that it has not passed yet. */
  waitsFor?: Stage
}

/** Which node, with the names of its cluster and its VM. */
export interface NodeNames {
  providerId: string
  providerName?: string
  nodeName: string
  instanceId: string
  instanceName?: string
}

export interface NodeWhy extends NodeNames, Explained {
  state: string
  interfaces: NicWhy[]
}

export interface Why {
  nodes: NodeWhy[]
  /** Verdicts on ports and VMs without one of these NICs. */
  verdicts: OperatorVerdict[]
}

/** Records that match exactly: whole nodes, or nodes with the one NIC that matches. */
export function nodesAbout(what: string, records: readonly InventoryRecord[], now: Date): NodeWhy[] {
  return records.flatMap(record => {
    const whole = [record.nodeName, record.instanceId, record.instanceName].includes(what)
    const interfaces = whysOf(record, now, nic => whole || isAbout(what, nic))
    if (!whole && interfaces.length === 0) return []
    const { providerId, providerName, nodeName, instanceId, instanceName, reason, message, remedy } = record
    const text = { ...(reason && { reason }), ...(message && { message }), ...(remedy && { remedy }) }
    const names = { ...(providerName && { providerName }), ...(instanceName && { instanceName }) }
    return [{ providerId, nodeName, instanceId, ...names, state: stateOf(record), ...text, interfaces }]
  })
}

/** Drops verdicts on ports whose NICs are shown anyway. */
export function whyOf(nodes: readonly NodeWhy[], verdicts: readonly OperatorVerdict[]): Why {
  const shown = new Set(nodes.flatMap(({ interfaces }) => interfaces.map(({ portId }) => portId)))
  const seen = new Set<string>()
  return {
    nodes: [...nodes],
    verdicts: verdicts.filter(({ config, vm, portId, reason }) => {
      if (portId !== undefined && ['Selected', 'SelectedByOther'].includes(reason) && shown.has(portId)) return false
      const key = JSON.stringify([config, vm, portId, reason])
      return !seen.has(key) && seen.add(key)
    }),
  }
}

function whysOf(record: InventoryRecord, now: Date, among: (nic: WireNic) => boolean): NicWhy[] {
  return comparisonsOf(record)
    .filter(({ requested }) => among(requested))
    .map(comparison => {
      const nic = nicView(comparison, now)
      const { stages: passed = {}, clamped, reason, status, pending } = comparison.state ?? {}
      const { matches } = comparison
      const isDrifted = reason === 'Drifted' || (status === 'Configured' && !pending && !matches)
      const waitsFor = currentStage({ matches, isDrifted, times: passed })
      return {
        ...nic,
        stages: passed,
        ...(clamped && { clamped }),
        ...(waitsFor && Object.keys(passed).length > 0 && { waitsFor }),
      }
    })
}

type WireNic = InventoryRecord['config']['interfaces'][number]

function isAbout(what: string, nic: WireNic): boolean {
  const address = canonical(what.split('/', 1)[0] ?? what)
  return (
    nic.portId === what ||
    nic.macAddress.toLowerCase() === what.toLowerCase() ||
    (address !== undefined && addressesOf(nic).some(one => one.split('/', 1)[0] === address))
  )
}
