/**
 * One put: the records before are read, the changes planned, and nodes, search rows and history written together.
 */
import type { Transaction } from 'kysely'
import type { InventoryRecord, InventoryWrite } from '../contract/inventory.ts'
import { insertAll } from './bulk.ts'
import { type Change, planWrite } from './plan.ts'
import { addressRows, interfaceRows, nodeRow, recordFrom } from './rows.ts'
import type { Tables } from './schema.ts'

type Tx = Transaction<Tables>
type Written = Change & { write: InventoryWrite; at: string }

/** Reports whether anything changed. */
export async function putChunk(
  tx: Tx,
  writes: readonly InventoryWrite[],
  timeOf: (write: InventoryWrite) => string,
): Promise<boolean> {
  const known = await recordsOf(tx, writes)
  const changes = writes.flatMap((write): Written[] => {
    const key = keyOf(write)
    const at = timeOf(write)
    const change = planWrite(known.get(key), write, at)
    if (!change) return []
    if (change.after) known.set(key, change.after)
    else known.delete(key)
    return [{ ...change, write, at }]
  })
  if (changes.length === 0) return false

  await writeNodes(tx, changes)
  await writeHistory(tx, changes)
  return true
}

async function recordsOf(tx: Tx, writes: readonly InventoryWrite[]): Promise<Map<string, InventoryRecord>> {
  const records = new Map<string, InventoryRecord>()
  for (const [providerId, ofProvider] of Map.groupBy(writes, write => write.providerId)) {
    const names = padded(ofProvider.map(({ nodeName }) => nodeName))
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

/** A node that is written twice in one put ends as its last write says. */
async function writeNodes(tx: Tx, changes: readonly Written[]): Promise<void> {
  const last = new Map(changes.map(change => [keyOf(change.write), change]))
  const first = new Map([...changes].reverse().map(change => [keyOf(change.write), change]))
  const now = [...last.values()]
  const kept = now.flatMap(({ after }) => after ?? [])

  const providers = new Map(now.map(({ write, at }) => [write.providerId, at]))
  await insertAll(
    tx,
    'providers',
    [...providers].map(([provider_id, at]) => ({ provider_id, first_seen_at: at })),
    insert => insert.onConflict(conflict => conflict.column('provider_id').doNothing()),
  )
  for (const { write } of now.filter(({ after }) => !after))
    await tx
      .deleteFrom('nodes')
      .where('provider_id', '=', write.providerId)
      .where('node_name', '=', write.nodeName)
      .execute()
  await insertAll(tx, 'nodes', kept.map(nodeRow), insert =>
    insert.onConflict(conflict =>
      conflict.columns(['provider_id', 'node_name']).doUpdateSet(({ ref }) => ({
        instance_id: ref('excluded.instance_id'),
        config: ref('excluded.config'),
        config_hash: ref('excluded.config_hash'),
        statuses: ref('excluded.statuses'),
        state: ref('excluded.state'),
        reason: ref('excluded.reason'),
        message: ref('excluded.message'),
        interface_count: ref('excluded.interface_count'),
        updated_at: ref('excluded.updated_at'),
      })),
    ),
  )
  // The rows for search hang on the config alone: a new state leaves them.
  const reconfigured = new Set(changes.filter(({ what }) => what !== 'status').map(({ write }) => keyOf(write)))
  const newConfig = now.filter(({ write, after }) => after && reconfigured.has(keyOf(write)))
  for (const { write } of newConfig.filter(({ write }) => first.get(keyOf(write))?.before))
    for (const table of ['interfaces', 'addresses'] as const)
      await tx
        .deleteFrom(table)
        .where('provider_id', '=', write.providerId)
        .where('node_name', '=', write.nodeName)
        .execute()
  const records = newConfig.flatMap(({ after }) => after ?? [])
  // A config that names a number twice is wrong, but one wrong record must not keep the others out.
  await insertAll(tx, 'interfaces', records.flatMap(interfaceRows), insert =>
    insert.onConflict(conflict => conflict.doNothing()),
  )
  await insertAll(tx, 'addresses', records.flatMap(addressRows), insert =>
    insert.onConflict(conflict => conflict.doNothing()),
  )
}

async function writeHistory(tx: Tx, changes: readonly Written[]): Promise<void> {
  const told = changes.filter(change => change.told)
  const delivered = changes.filter(change => change.delivered)
  const eventCount = changes.reduce((sum, { events }) => sum + events.length, 0)
  // At least one number, whatever changed: the sequence is the version of the whole.
  let id = await numbers(tx, Math.max(1, told.length + delivered.length + eventCount))
  const ofNode = ({ providerId, nodeName }: InventoryWrite) => ({ provider_id: providerId, node_name: nodeName })
  const history = told.map(({ write, at, what, after }) => ({
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
  const happened = changes.flatMap(({ write, events }) =>
    events.map(({ mac, portId = null, what, reason = null, at }) => ({
      id: id++,
      ...ofNode(write),
      mac,
      port_id: portId,
      what,
      reason,
      at,
    })),
  )
  await insertAll(tx, 'history', history)
  await insertAll(tx, 'deliveries', deliveries)
  await insertAll(tx, 'events', happened)
}

/** The first of so many new numbers. The row is locked until we commit, so numbers come in the order of commits. */
async function numbers(tx: Tx, count: number): Promise<number> {
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

/** The last one again, up to a power of two: few sizes, few statements (see bulk.ts). */
function padded(names: readonly string[]): string[] {
  const size = 2 ** Math.ceil(Math.log2(names.length))
  return [...names, ...Array<string>(size - names.length).fill(names.at(-1) ?? '')]
}

function keyOf({ providerId, nodeName }: { providerId: string; nodeName: string }): string {
  return JSON.stringify([providerId, nodeName])
}
