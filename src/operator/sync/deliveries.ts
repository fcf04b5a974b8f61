/**
 * Whether anything was ever delivered in the name of an OpenstackConfig. Its deletion needs Viola only if so.
 *
 * The mark is `status.deliveredTo`, written before the first node is sent: an operator that is killed after a POST, or that
 * gets no answer to one, leaves it. The records of the operator and of the inventory replace a status that was lost.
 */
import { type OpenstackConfig, openstackConfigs, providerIdOf } from '../../contract/openstack-config.ts'
import type { Kube } from '../../kube/api.ts'
import { keyOf, parseKey } from '../../kube/keys.ts'
import { createObjectMemory, type ObjectMemory } from '../../runtime/object-memory.ts'
import type { NodePlan } from '../plan/plan.ts'
import type { Target } from '../record/sync-outcome.ts'
import { type NodeInterfaces, type Remaining, remainingOf } from '../status/removal-pending.ts'

export interface Deliveries {
  /** Marks the objects that get interfaces with these nodes: also others, to which interfaces are handed over. */
  mark(config: OpenstackConfig, target: Target, nodes: readonly NodePlan[]): Promise<void>
  /** What the records have of an object. Read at most once a minute: a provider may have thousands. */
  recorded(config: OpenstackConfig): Promise<Remaining[]>
  /** False only if the status and the records show that nothing was. */
  mayHaveDelivered(config: OpenstackConfig): Promise<boolean>
}

const keepMs = 60_000

export interface DeliveriesOptions {
  kube: Pick<Kube, 'patchStatus'>
  find: (key: string) => OpenstackConfig | undefined
  /** Read the records of a provider. */
  records: readonly ((providerId: string) => Promise<readonly NodeInterfaces[]>)[]
  memory?: ObjectMemory
  /** Monotonic milliseconds. */
  now?: () => number
}

export function createDeliveries({
  kube,
  find,
  records,
  memory = createObjectMemory(),
  now = () => performance.now(),
}: DeliveriesOptions): Deliveries {
  const known = memory.slot<{ remaining: Remaining[]; at: number }>()

  async function read(config: OpenstackConfig): Promise<Remaining[]> {
    const lists = await Promise.all(records.map(list => list(providerIdOf(config))))
    const found = remainingOf(keyOf(config), lists.flat())
    const remaining = [...new Map(found.map(node => [node.nodeName, node])).values()]
    known.set(keyOf(config), { remaining, at: now() })
    return remaining
  }

  return {
    async mark(config, target, nodes) {
      for (const source of sourcesOf(nodes)) {
        const object = source === keyOf(config) ? config : find(source)
        if (!object || object.status?.deliveredTo) continue
        const { metadata } = await kube.patchStatus(openstackConfigs, parseKey(source), { deliveredTo: target })
        if (metadata.deletionTimestamp) throw new Error(`OpenstackConfig ${source} is being deleted; nothing is sent`)
      }
    },
    async recorded(config) {
      const last = known.get(keyOf(config))
      return last && now() - last.at < keepMs ? last.remaining : read(config)
    },
    async mayHaveDelivered(config) {
      return wasDelivered(config) || (await read(config)).length > 0
    },
  }
}

function sourcesOf(nodes: readonly NodePlan[]): Set<string> {
  const sent = nodes.filter(({ action }) => action !== 'remove')
  return new Set(sent.flatMap(({ interfaces }) => interfaces.flatMap(({ source }) => source ?? [])))
}

/** A status that no sync wrote says nothing: it may have been lost, with the object restored from a backup. */
function wasDelivered({ status = {} }: OpenstackConfig): boolean {
  const { lastSyncedAt, lastError, deliveredTo, lastChangeAt, orphanedNodes, heldRemovals, reservedIndexes } = status
  if (lastSyncedAt === undefined && lastError === undefined) return true
  const lists = [orphanedNodes, heldRemovals, reservedIndexes]
  return deliveredTo !== undefined || lastChangeAt !== undefined || lists.some(list => list !== undefined)
}
