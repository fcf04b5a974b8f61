/**
 * The last complete read of each object. A sync that notifications of ports started reads only the ports of the servers
 * that they name, and takes the rest from here.
 *
 * Such a sync only adds and updates interfaces. Whether many are missing at once is known only from a complete list, so a
 * plan that would remove one is made again from a complete read.
 */
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { createObjectMemory, type ObjectMemory } from '../../runtime/object-memory.ts'
import type { Cloud, Port } from '../cloud.ts'
import type { ChangedPorts } from '../events/hints.ts'
import { type DeliveredNode, identityOf, type Observed } from '../plan/observed-state.ts'
import type { NodePlan, Plan } from '../plan/plan.ts'
import { stage } from '../sync-error.ts'
import type { ViolaClient } from '../viola/viola-client.ts'

export interface Snapshot {
  /** Of the object. */
  generation: number | undefined
  /** With the account that the reads were made with. */
  cloud: Cloud
  viola: ViolaClient
  /** What the ports were listed by. */
  serverIds: readonly string[]
  ports: readonly Port[]
  /** With what was delivered since. */
  cluster: readonly DeliveredNode[]
  isTargeted: boolean
}

export interface Snapshots {
  /** Undefined also if a complete read is due. */
  get(key: string): Snapshot | undefined
  set(key: string, snapshot: Snapshot | undefined): void
  /** Milliseconds until a complete read is due, because less was read since the last one. */
  msUntilCompleteRead(key: string): number | undefined
  /** Notifications named only ports, and a complete read was needed. */
  noteMiss(key: string): void
  /** Whether a notification of a port may start a sync at once: it probably needs no complete read. */
  canTarget(key: string): boolean
}

/** Bounds how long a change without a notification stays unseen while others are seen. */
const completeReadAfterMs = 5_000
/** After a miss, notifications of ports are limited like all others for this time. */
const missMs = 2_000

export function createSnapshots(now: () => number, memory: ObjectMemory = createObjectMemory()): Snapshots {
  const snapshots = memory.slot<Snapshot>()
  const dueAt = memory.slot<number>()
  const missedAt = memory.slot<number>()
  return {
    get: key => (now() < (dueAt.get(key) ?? Number.POSITIVE_INFINITY) ? snapshots.get(key) : undefined),
    set(key, snapshot) {
      if (snapshot) snapshots.set(key, snapshot)
      else snapshots.delete(key)
      if (!snapshot?.isTargeted) dueAt.delete(key)
      else if (dueAt.get(key) === undefined) dueAt.set(key, now() + completeReadAfterMs)
    },
    msUntilCompleteRead(key) {
      const at = dueAt.get(key)
      return at === undefined ? undefined : Math.max(0, at - now())
    },
    noteMiss: key => void missedAt.set(key, now()),
    canTarget: key =>
      snapshots.get(key) !== undefined && now() - (missedAt.get(key) ?? Number.NEGATIVE_INFINITY) >= missMs,
  }
}

/** An edit, another account and a request to renumber need a complete read. */
export function isUsable(
  snapshot: Snapshot,
  { metadata, status }: OpenstackConfig,
  { cloud, viola }: Pick<Snapshot, 'cloud' | 'viola'>,
): boolean {
  return (
    snapshot.generation === metadata.generation &&
    snapshot.cloud === cloud &&
    snapshot.viola === viola &&
    status?.renumber?.current === undefined
  )
}

/** The cloud with the ports of the snapshot, after those of the changed servers were read again. Undefined without one. */
export async function withChangedPorts(
  snapshot: Snapshot,
  changed: ChangedPorts,
  signal: AbortSignal,
): Promise<Cloud | undefined> {
  const { cloud, serverIds } = snapshot
  const servers = changedServers(snapshot, changed)
  if (servers.length === 0) return undefined
  const read = await stage('NeutronPortError', () => cloud.portsOfServers(servers, signal))
  const ports = merged(snapshot, servers, read)
  return {
    ...cloud,
    portsOfServers: async (others, signal) =>
      equalIds(others, serverIds) ? ports : cloud.portsOfServers(others, signal),
  }
}

/** Also the servers that had the ports before: the notification of a detach names none. */
function changedServers({ serverIds, ports, cluster }: Snapshot, changed: ChangedPorts): string[] {
  const servers = new Set(changed.servers)
  for (const { id, serverId } of ports) if (changed.ports.has(id)) servers.add(serverId)
  for (const { instanceId = '', interfaces } of cluster)
    if (interfaces.some(({ portId = '' }) => changed.ports.has(portId))) servers.add(instanceId)
  return serverIds.filter(id => servers.has(id))
}

/** By server, in the order of the servers. A port that moved is only where it was found now. */
function merged({ serverIds, ports }: Snapshot, servers: readonly string[], read: readonly Port[]): Port[] {
  const isRead = new Set(servers)
  const ids = new Set(read.map(({ id }) => id))
  const others = ports.filter(({ id, serverId }) => !isRead.has(serverId) && !ids.has(id))
  const byServer = Map.groupBy([...others, ...read], ({ serverId }) => serverId)
  return serverIds.flatMap(id => byServer.get(id) ?? [])
}

function equalIds(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, position) => id === b[position])
}

/** Whether the plan removes an interface, or cannot decide without asking the cloud again. */
export function isRemoving({ plan, observed }: { plan: Plan; observed: Observed }): boolean {
  const { missingPorts, uncheckedVms, removalsOnHold, nodes } = plan
  if (missingPorts.length + uncheckedVms.length + removalsOnHold.length > 0) return true
  const byName = new Map(observed.delivered.map(node => [node.nodeName, node]))
  return nodes.some(node => losesInterface(node, byName.get(node.nodeName)))
}

function losesInterface({ action, interfaces }: NodePlan, delivered: DeliveredNode | undefined): boolean {
  if (action === 'keep' || !delivered) return false
  const left = new Set(interfaces.map(identityOf))
  return delivered.interfaces.some(nic => !left.has(identityOf(nic)))
}
