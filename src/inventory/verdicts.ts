/**
 * The verdicts of the operator. A write replaces those of one OpenstackConfig on a range of VMs, and only differences are
 * written. Reads are pages in the order of the primary key.
 */
import { type Insertable, type Selectable, sql, type Transaction } from 'kysely'
import { equalJson } from '../contract/json.ts'
import type { OperatorVerdict, StoredPlans, VerdictWrite } from '../contract/operator-api.ts'
import { reasonText } from '../contract/reasons/catalogue.ts'
import { type VerdictKind, verdictKind } from '../contract/verdict-kind.ts'
import { insertAll } from './bulk.ts'
import type { Database } from './database.ts'
import { prepared, type Reader } from './prepared.ts'
import type { Tables, VerdictRow } from './schema.ts'
import { padToPowerOfTwo } from './write.ts'

type Tx = Transaction<Tables>

/** The place of a verdict in the order of pages. */
export type Position = readonly [providerId: string, config: string, vm: string, port: string, reason: string]

export interface VerdictFilter {
  config?: string
  port?: string
  vm?: string
  providerId?: string
  kind?: VerdictKind
  after?: Position
  limit: number
}

/** Reports whether anything changed. */
export async function putVerdicts(tx: Tx, writes: readonly VerdictWrite[], now: () => Date): Promise<boolean> {
  let isChanged = false
  for (const write of writes)
    if (write.removed ? await removeConfig(tx, write) : await replaceRange(tx, write, now)) isChanged = true
  return isChanged
}

/** The verdicts are deleted with it. */
async function removeConfig(tx: Tx, { providerId, config }: VerdictWrite): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('openstack_configs')
    .where('provider_id', '=', providerId)
    .where('config', '=', config)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Rewrites the VMs of the range that differ. */
async function replaceRange(tx: Tx, write: VerdictWrite, now: () => Date): Promise<boolean> {
  const { providerId, config } = write
  const stored = Map.groupBy(await storedRows(tx, write), row => row.vm)
  const written = Map.groupBy(rowsOf(write), row => row.vm)
  const differing = new Map([...written].filter(([vm, rows]) => !equalJson(stored.get(vm), rows)))
  const outdated = [...stored.keys()].filter(vm => differing.has(vm) || !written.has(vm))
  const isChanged = outdated.length + differing.size > 0
  const isNew = await touchConfig(tx, write, now().toISOString(), isChanged)
  if (outdated.length > 0)
    await tx
      .deleteFrom('verdicts')
      .where('provider_id', '=', providerId)
      .where('config', '=', config)
      .where('vm', 'in', padToPowerOfTwo(outdated))
      .execute()
  // A verdict outside the range is invalid, but must not make the records fail.
  await insertAll(tx, 'verdicts', [...differing.values()].flat(), insert =>
    insert.onConflict(conflict => conflict.doNothing()),
  )
  const isPlanned = await replacePlan(tx, write, now)
  return isNew || isPlanned || isChanged
}

/** The same plan keeps its time. Reports whether it is another one. */
async function replacePlan(tx: Tx, { providerId, config, plan }: VerdictWrite, now: () => Date): Promise<boolean> {
  if (!plan) return false
  const text = JSON.stringify(plan)
  const { numUpdatedRows } = await tx
    .updateTable('openstack_configs')
    .set({ plan: text, planned_at: now().toISOString() })
    .where('provider_id', '=', providerId)
    .where('config', '=', config)
    .where(({ eb, or }) => or([eb('plan', 'is', null), eb('plan', '<>', text)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** By provider: an inventory may serve several operators. */
export async function findPlans(db: Database, config: string): Promise<StoredPlans> {
  const rows = await db
    .selectFrom('openstack_configs')
    .select(['provider_id', 'plan', 'planned_at'])
    .where('config', '=', config)
    .where('plan', 'is not', null)
    .orderBy('provider_id')
    .$narrowType<{ plan: string; planned_at: string }>()
    .execute()
  return rows.map(({ provider_id, plan, planned_at }) => ({
    ...{ config, providerId: provider_id, plannedAt: planned_at },
    plan: JSON.parse(plan),
  }))
}

/** Reports whether it is new. */
async function touchConfig(
  tx: Tx,
  { providerId, config }: VerdictWrite,
  at: string,
  isChanged: boolean,
): Promise<boolean> {
  const known = await tx
    .selectFrom('openstack_configs')
    .select('updated_at')
    .where('provider_id', '=', providerId)
    .where('config', '=', config)
    .executeTakeFirst()
  if (!known || isChanged)
    await tx
      .insertInto('openstack_configs')
      .values({ provider_id: providerId, config, updated_at: at, plan: null, planned_at: null })
      .onConflict(conflict =>
        conflict
          .columns(['provider_id', 'config'])
          .doUpdateSet(({ ref }) => ({ updated_at: ref('excluded.updated_at') })),
      )
      .execute()
  return !known
}

function storedRows(tx: Tx, { providerId, config, after, upTo }: VerdictWrite): Promise<Selectable<VerdictRow>[]> {
  let query = tx
    .selectFrom('verdicts')
    .select(columns)
    .where('provider_id', '=', providerId)
    .where('config', '=', config)
    .orderBy('vm')
    .orderBy('port_id')
    .orderBy('reason')
  if (after !== undefined) query = query.where('vm', '>', after)
  if (upTo !== undefined) query = query.where('vm', '<=', upTo)
  return query.execute()
}

/** In the order of the rows of `rowsOf`. */
const columns = [
  ...(['provider_id', 'config', 'vm', 'port_id', 'reason', 'kind'] as const),
  ...(['message', 'vm_name', 'name', 'port_security'] as const),
] satisfies (keyof VerdictRow)[]

/** One row for each position, in its order. */
function rowsOf({ providerId, config, verdicts }: VerdictWrite): Insertable<VerdictRow>[] {
  const rows = new Map(
    verdicts.map(({ vm, portId = '', reason, message, vmName, name, portSecurity }) => [
      JSON.stringify([vm, portId, reason]),
      {
        ...{ provider_id: providerId, config, vm, port_id: portId, reason, kind: verdictKind(reason), message },
        vm_name: vmName ?? null,
        name: name ?? null,
        port_security: portSecurity ? JSON.stringify(portSecurity) : null,
      },
    ]),
  )
  const keyOf = ({ port_id, reason }: VerdictRow) => `${port_id} ${reason}`
  return [...rows.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

export async function hasConfigs(reader: Reader): Promise<boolean> {
  return (await prepared(reader, 'configs', () => sql`select 1 from openstack_configs limit 1`, {})).length > 0
}

export async function findVerdicts(db: Database, filter: VerdictFilter): Promise<OperatorVerdict[]> {
  const { config, port, vm, providerId, kind, after, limit } = filter
  let query = db.selectFrom('verdicts').select(columns)
  if (providerId !== undefined) query = query.where('provider_id', '=', providerId)
  if (config !== undefined) query = query.where('config', '=', config)
  if (vm !== undefined) query = query.where('vm', '=', vm)
  if (port !== undefined) query = query.where('port_id', '=', port)
  // A literal, because an index is restricted to one kind.
  if (kind !== undefined) query = query.where('kind', '=', sql.lit(kind))
  if (after !== undefined)
    query = query.where(sql<boolean>`(provider_id, config, vm, port_id, reason) > (${sql.join(after)})`)
  for (const column of ['provider_id', 'config', 'vm', 'port_id', 'reason'] as const) query = query.orderBy(column)
  return (await query.limit(limit).execute()).map(verdictFrom)
}

/** With the remedy of the current catalogue. */
function verdictFrom(row: Selectable<VerdictRow>): OperatorVerdict {
  const remedy = reasonText(row.reason)?.remedy
  return {
    config: row.config,
    providerId: row.provider_id,
    vm: row.vm,
    ...(row.vm_name !== null && { vmName: row.vm_name }),
    ...(row.port_id !== '' && { portId: row.port_id }),
    reason: row.reason,
    message: row.message,
    ...(remedy !== undefined && { remedy }),
    ...(row.name !== null && { name: row.name }),
    ...(row.port_security !== null && { portSecurity: JSON.parse(row.port_security) }),
  }
}

export function positionOf({ providerId = '', config, vm, portId = '', reason }: OperatorVerdict): Position {
  return [providerId, config, vm, portId, reason]
}
