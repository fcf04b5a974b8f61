/**
 * Builds inventory records for tests.
 */
import type { AuditWrite } from '../../src/contract/audit.ts'
import { type InventoryWrite, type Stage, stages } from '../../src/contract/inventory.ts'
import type { StoredPlan, VerdictWrite } from '../../src/contract/operator-api.ts'
import type { Tables } from '../../src/inventory/schema.ts'
import type { Store } from '../../src/inventory/store.ts'

export function aWrite(nodeName: string, more: Partial<InventoryWrite> & { nics?: number } = {}): InventoryWrite {
  const { nics = 1, ...rest } = more
  const base = [...nodeName].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 0xffff, 7)
  const [high, low] = [base >> 8, base & 0xff]
  const hex = (byte: number) => byte.toString(16).padStart(2, '0')
  return {
    providerId: 'p1',
    nodeName,
    instanceId: `vm-${nodeName}`,
    config: {
      nodeName,
      instanceId: `vm-${nodeName}`,
      interfaces: Array.from({ length: nics }, (_, id) => ({
        id,
        name: `multinic${id}`,
        portId: `port-${nodeName}-${id}`,
        macAddress: `02:00:00:${hex(high)}:${hex(low)}:0${id}`,
        address: `10.${id}.${high}.${low}`,
        cidr: `10.${id}.0.0/16`,
        mtu: 1450,
      })),
    },
    lastConfigHash: `hash-${nodeName}-${nics}`,
    why: 'a port was attached',
    ...rest,
  }
}

/** A node whose port passed every stage: the first in second `from` of 2026, and each other one second later. */
export function aReadyWrite(
  nodeName: string,
  { from = 0, stages: given }: { from?: number; stages?: Partial<Record<Stage, string>> } = {},
): InventoryWrite {
  const write = aWrite(nodeName, { state: 'Configured' })
  const [nic] = write.config.interfaces
  const timeOf = (step: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, from + step)).toISOString()
  const passed = given ?? Object.fromEntries(stages.map((stage, step) => [stage, timeOf(step)]))
  const { id, name, portId, macAddress } = nic as { id: number; name: string; portId: string; macAddress: string }
  return { ...write, interfaces: [{ id, name, portId, macAddress, status: 'Configured', stages: passed }] }
}

/** A plan that adds an interface to a node. */
export function aPlan(nodeName: string, more: Partial<StoredPlan> = {}): StoredPlan {
  const { instanceId, config } = aWrite(nodeName)
  const node = { nodeName, instanceId, action: 'send' as const, interfaces: config.interfaces, why: ['a port is new'] }
  return { nodes: [node], unchanged: 2, heldRemovals: [], moves: [], omitted: 0, ...more }
}

/** All verdicts of an OpenstackConfig. */
export function someVerdicts(verdicts: VerdictWrite['verdicts'], more: Partial<VerdictWrite> = {}): VerdictWrite {
  return { providerId: 'p1', config: 'multinic-system/main', verdicts, ...more }
}

export type OpenStore = (now: () => Date) => Promise<Store>

/** Runs a test with an empty store and closes it. The clock of the stores advances by a second with each reading. */
export function usingStores(open: OpenStore) {
  let time = 0
  const now = () => new Date(Date.UTC(2026, 0, 1) + 1000 * time++)
  const using = async (work: (store: Store) => Promise<void>) => {
    const store = await open(now)
    try {
      await work(store)
    } finally {
      await store.close()
    }
  }
  return { now, using }
}

/** The tables that `putEverything` fills: the compiler demands every table that the inventory writes. */
export const filledTables = Object.keys({
  providers: true,
  nodes: true,
  interfaces: true,
  addresses: true,
  holdings: true,
  deliveries: true,
  events: true,
  history: true,
  openstack_configs: true,
  verdicts: true,
  audit: true,
  sequences: true,
} satisfies Record<Exclude<keyof Tables, 'milestones'>, true>)

/** At least one row in every table: records with stages, history, past holders, verdicts and a plan. */
export async function putEverything(store: Store): Promise<void> {
  await store.put([aReadyWrite('ready'), aWrite('changed', { nics: 2 })])
  await store.put(
    [aWrite('changed', { nics: 1 }), aWrite('ready', { removed: true })],
    [
      someVerdicts([{ vm: 'vm-changed', portId: 'late', reason: 'PortNotBound', message: 'no device owner' }], {
        plan: aPlan('changed'),
      }),
    ],
  )
  await store.put([aReadyWrite('ready')], [], { audit: { entries: [anAuditEntry()], recordedBy: 'operator' } })
}

export function anAuditEntry(more: Partial<AuditWrite> = {}): AuditWrite {
  return {
    ...{ at: '2026-01-01T00:00:00.000Z', action: 'config.change', object: 'multinic-system/main', providerId: 'p1' },
    ...{ caller: 'kubectl-edit', proof: 'fieldManager', source: 'object', outcome: 'synced', ...more },
  }
}
