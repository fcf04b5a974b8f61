/**
 * Stores a batch of writes in one transaction: reads the old records, plans the changes, writes nodes, search rows and history.
 */
import type { Transaction } from 'kysely'
import type { InventoryRecord, InventoryWrite } from '../contract/inventory.ts'
import { insertAll } from './bulk.ts'
import { writeHoldings } from './holdings.ts'
import { type Change, planWrite } from './plan.ts'
import { isTransient } from './retries.ts'
import { addressRows, interfaceRows, nodeRow, recordFrom } from './rows.ts'
import type { Tables } from './schema.ts'

type Tx = Transaction<Tables>
type PlannedWrite = Change & { write: InventoryWrite; at: string }

/** Returns the changes: none if the records are stored already. */
export async function putChunk(
  tx: Tx,
  writes: readonly InventoryWrite[],
  timeOf: (write: InventoryWrite) => string,
): Promise<readonly Change[]> {
  const all = [...(await earlierNodes(tx, writes)), ...writes]
  const known = await recordsOf(tx, all)
  const recorded = await lastFailures(tx, all, known)
  const changes = all.flatMap((write): PlannedWrite[] => {
    const key = keyOf(write)
    const at = timeOf(write)
    const change = planWrite(known.get(key), write, at, recorded.get(key))
    if (!change) return []
    if (change.inHistory) recorded.delete(key)
    if (change.after) known.set(key, change.after)
    else known.delete(key)
    return [{ ...change, write, at }]
  })
  if (changes.length === 0) return changes

  await writeNodes(tx, changes)
  await writeHoldings(
    tx,
    changes.filter(({ what }) => what !== 'status'),
  )
  await writeHistory(tx, changes)
  return changes
}

/** Removals of the nodes that the VM of an only node had under other names. */
async function earlierNodes(tx: Tx, writes: readonly InventoryWrite[]): Promise<InventoryWrite[]> {
  const only = writes.filter(({ onlyNode, removed, instanceId }) => onlyNode && !removed && instanceId !== '')
  const written = new Set(writes.map(keyOf))
  const removals: InventoryWrite[] = []
  for (const [providerId, ofProvider] of Map.groupBy(only, write => write.providerId)) {
    const nodeOf = new Map(ofProvider.map(({ instanceId, nodeName }) => [instanceId, nodeName]))
    const rows = await tx
      .selectFrom('nodes')
      .select(['node_name', 'instance_id'])
      .where('provider_id', '=', providerId)
      .where('instance_id', 'in', padToPowerOfTwo([...nodeOf.keys()]))
      .execute()
    for (const { node_name: nodeName, instance_id: instanceId } of rows) {
      if (written.has(keyOf({ providerId, nodeName }))) continue
      const why = `the VM is node ${nodeOf.get(instanceId)} now`
      const config = { nodeName, interfaces: [] }
      removals.push({ providerId, nodeName, instanceId, config, lastConfigHash: '', removed: true, why })
    }
  }
  return removals
}

async function recordsOf(tx: Tx, writes: readonly InventoryWrite[]): Promise<Map<string, InventoryRecord>> {
  const records = new Map<string, InventoryRecord>()
  for (const [providerId, ofProvider] of Map.groupBy(writes, write => write.providerId)) {
    const names = padToPowerOfTwo(ofProvider.map(({ nodeName }) => nodeName))
    const rows = await tx
      .selectFrom('nodes')
      .selectAll()
      .where('provider_id', '=', providerId)
      .where('node_name', 'in', names)
      .execute()
    for (const row of rows) records.set(keyOf({ providerId, nodeName: row.node_name }), recordFrom(row))
  }
  return records
}

/** The last record in the history of each node that fails after an attempt: the attempt itself may be none. */
async function lastFailures(
  tx: Tx,
  writes: readonly InventoryWrite[],
  known: ReadonlyMap<string, InventoryRecord>,
): Promise<Map<string, InventoryRecord>> {
  const records = new Map<string, InventoryRecord>()
  for (const write of writes) {
    const before = known.get(keyOf(write))
    if (write.state !== 'Failed' || !before || !isTransient(before)) continue
    const row = await tx
      .selectFrom('history')
      .select('after')
      .where('node_name', '=', write.nodeName)
      .where('provider_id', '=', write.providerId)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row?.after) records.set(keyOf(write), JSON.parse(row.after))
  }
  return records
}

/** The last write of a node wins. */
async function writeNodes(tx: Tx, changes: readonly PlannedWrite[]): Promise<void> {
  const last = new Map(changes.map(change => [keyOf(change.write), change]))
  const first = new Map([...changes].reverse().map(change => [keyOf(change.write), change]))
  const final = [...last.values()]
  const kept = final.flatMap(({ after }) => after ?? [])

  const providers = new Map(final.map(({ write, at }) => [write.providerId, at]))
  await insertAll(
    tx,
    'providers',
    [...providers].map(([provider_id, at]) => ({ provider_id, first_seen_at: at })),
    insert => insert.onConflict(conflict => conflict.column('provider_id').doNothing()),
  )
  for (const { write } of final.filter(({ after }) => !after))
    await tx
      .deleteFrom('nodes')
      .where('provider_id', '=', write.providerId)
      .where('node_name', '=', write.nodeName)
      .execute()
  await insertAll(tx, 'nodes', kept.map(nodeRow), insert =>
    insert.onConflict(conflict =>
      conflict.columns(['provider_id', 'node_name']).doUpdateSet(({ ref }) => ({
        instance_id: ref('excluded.instance_id'),
        instance_name: ref('excluded.instance_name'),
        provider_name: ref('excluded.provider_name'),
        config: ref('excluded.config'),
        config_hash: ref('excluded.config_hash'),
        statuses: ref('excluded.statuses'),
        state: ref('excluded.state'),
        reason: ref('excluded.reason'),
        message: ref('excluded.message'),
        agent_rollout: ref('excluded.agent_rollout'),
        interface_count: ref('excluded.interface_count'),
        updated_at: ref('excluded.updated_at'),
      })),
    ),
  )
  // A status change keeps the search rows.
  const reconfigured = new Set(changes.filter(({ searchable }) => searchable).map(({ write }) => keyOf(write)))
  const newConfig = final.filter(({ write, after }) => after && reconfigured.has(keyOf(write)))
  for (const { write } of newConfig.filter(({ write }) => first.get(keyOf(write))?.before))
    for (const table of ['interfaces', 'addresses'] as const)
      await tx
        .deleteFrom(table)
        .where('provider_id', '=', write.providerId)
        .where('node_name', '=', write.nodeName)
        .execute()
  const records = newConfig.flatMap(({ after }) => after ?? [])
  // A config with a duplicate index is invalid, but must not make the other records fail.
  await insertAll(tx, 'interfaces', records.flatMap(interfaceRows), insert =>
    insert.onConflict(conflict => conflict.doNothing()),
  )
  await insertAll(tx, 'addresses', records.flatMap(addressRows), insert =>
    insert.onConflict(conflict => conflict.doNothing()),
  )
}

async function writeHistory(tx: Tx, changes: readonly PlannedWrite[]): Promise<void> {
  const entries = changes.filter(({ inHistory }) => inHistory)
  const delivered = changes.filter(change => change.delivered)
  const eventCount = changes.reduce((sum, { events }) => sum + events.length, 0)
  // Always at least one ID: the sequence is also the version of the store.
  let id = await takeIds(tx, Math.max(1, entries.length + delivered.length + eventCount))
  const ofNode = ({ providerId, nodeName }: InventoryWrite) => ({ provider_id: providerId, node_name: nodeName })
  const history = entries.map(({ write, at, what, after }) => ({
    id: id++,
    ...ofNode(write),
    at,
    what,
    why: write.why,
    after: after ? JSON.stringify(after) : null,
  }))
  const deliveries = delivered.map(({ write, at }) => ({
    id: id++,
    ...ofNode(write),
    config_hash: write.lastConfigHash,
    at,
  }))
  const events = changes.flatMap(({ write, events }) =>
    events.map(({ macAddress, portId = null, what, reason = null, at }) => ({
      id: id++,
      ...ofNode(write),
      mac: macAddress,
      port_id: portId,
      what,
      reason,
      at,
    })),
  )
  await insertAll(tx, 'history', history)
  await insertAll(tx, 'deliveries', deliveries)
  await insertAll(tx, 'events', events)
}

/** Reserves `count` IDs and returns the first. The row stays locked until the commit, so IDs follow the commit order. */
export async function takeIds(tx: Tx, count: number): Promise<number> {
  const { value } = await tx
    .insertInto('sequences')
    .values({ name: 'changes', value: count })
    .onConflict(conflict =>
      conflict
        .column('name')
        .doUpdateSet(({ eb, ref }) => ({ value: eb('sequences.value', '+', ref('excluded.value')) })),
    )
    .returning('value')
    .executeTakeFirstOrThrow()
  return Number(value) - count + 1
}

/** Repeats the last name up to a power of two: few sizes mean few prepared statements (see bulk.ts). */
export function padToPowerOfTwo(names: readonly string[]): string[] {
  const size = 2 ** Math.ceil(Math.log2(names.length))
  return [...names, ...Array<string>(size - names.length).fill(names.at(-1) ?? '')]
}

function keyOf({ providerId, nodeName }: { providerId: string; nodeName: string }): string {
  return JSON.stringify([providerId, nodeName])
}
