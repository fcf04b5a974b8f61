/**
 * Renames reasons in records, history and events as the catalogue renamed them before 0.1.0. Messages are not changed.
 *
 * A history may be many gigabytes: pages bound the memory, and only documents with an old name are rewritten. No new name
 * is also an old one, so a migration that was interrupted can run again.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely'

/** Frozen: a later rename needs a migration of its own. */
const renames = [
  ['AgentLost', 'ReportMissing'],
  ['Enslaved', 'LinkHasMaster'],
  ['EventsAway', 'EventBusUnreachable'],
  ['EventsConnected', 'EventBusConnected'],
  ['EventsConnecting', 'EventBusConnecting'],
  ['EventsOff', 'EventBusNotConfigured'],
  ['EventsUnavailable', 'EventBusConfigError'],
  ['ForeignOwner', 'DeviceOwnerNotAllowed'],
  ['GatewaySilent', 'GatewayUnreachable'],
  ['HostUnseen', 'HostPathNotMounted'],
  ['ImageMissing', 'ImagePullFailed'],
  ['LeftBehind', 'NodesOrphaned'],
  ['NameTaken', 'InterfaceNameInUse'],
  ['NodeAway', 'PodNotStarting'],
  ['NodeFull', 'NodeOutOfResources'],
  ['NodeMissing', 'NodeNotFound'],
  ['NodesDone', 'AllNodesProcessed'],
  ['NodeUnheard', 'NodeUnreachable'],
  ['NotAttachedYet', 'PortNotBound'],
  ['OtherNetwork', 'NetworkMismatch'],
  ['OtherVm', 'VmNotSelected'],
  ['RuleTaken', 'RulePriorityInUse'],
  ['Superseded', 'PreviousJobRunning'],
  ['TableTaken', 'RoutingTableInUse'],
  ['Taken', 'Selected'],
  ['VmGone', 'VmNotFound'],
] as const

const oldNames = sql.join(renames.map(([old]) => sql.lit(old)))
/** The same token inside a message has escaped quotes and does not match. */
const token = (name: string) => `"reason":"${name}"`
const hasOldName = new RegExp(token(`(?:${renames.map(([old]) => old).join('|')})`))
const pageSize = 500

export async function up(db: Kysely<unknown>): Promise<void> {
  let changed = await renameInHistory(db)
  changed += await renameInEvents(db)
  // Last: PostgreSQL locks these rows until the commit, and other replicas write them.
  const nodes = sql`update nodes set reason = ${renamedColumn}, statuses = ${renamedDocument('statuses')}
    where reason in (${oldNames}) or ${sql.join(
      renames.map(([old]) => sql`statuses like ${sql.lit(`%${token(old)}%`)}`),
      sql` or `,
    )}`
  changed += await run(db, nodes)
  // The number is the ETag of every read: callers must not keep a response with old names.
  if (changed > 0) await run(db, sql`update sequences set value = value + 1 where name = 'changes'`)
}

/** Reading every document once costs a fraction of searching it for each name in SQL. */
async function renameInHistory(db: Kysely<unknown>): Promise<number> {
  let [last, changed] = [0, 0]
  for (;;) {
    const { rows } = await sql<{ id: number; after: string | null }>`
      select id, after from history where id > ${last} order by id limit ${sql.lit(pageSize)}`.execute(db)
    const ids = rows.filter(({ after }) => after && hasOldName.test(after)).map(({ id }) => id)
    if (ids.length > 0)
      changed += await run(
        db,
        sql`update history set after = ${renamedDocument('after')} where id in (${sql.join(ids)})`,
      )
    last = rows.at(-1)?.id ?? last
    if (rows.length < pageSize) return changed
  }
}

/** By ranges of ids, so that no statement of a large table exceeds the statement timeout. */
async function renameInEvents(db: Kysely<unknown>): Promise<number> {
  const { rows } = await sql<{ first: number | null; last: number | null }>`
    select min(id) as first, max(id) as last from events`.execute(db)
  const [first, last] = [rows[0]?.first ?? 0, rows[0]?.last ?? -1]
  let changed = 0
  for (let start = first; start <= last; start += 100_000)
    changed += await run(
      db,
      sql`update events set reason = ${renamedColumn}
        where id >= ${start} and id < ${start + 100_000} and reason in (${oldNames})`,
    )
  return changed
}

const renamedColumn = sql`case reason ${sql.join(
  renames.map(([old, name]) => sql`when ${sql.lit(old)} then ${sql.lit(name)}`),
  sql` `,
)} else reason end`

function renamedDocument(column: string): RawBuilder<unknown> {
  return renames.reduce<RawBuilder<unknown>>(
    (text, [old, name]) => sql`replace(${text}, ${sql.lit(token(old))}, ${sql.lit(token(name))})`,
    sql.ref(column),
  )
}

async function run(db: Kysely<unknown>, statement: RawBuilder<unknown>): Promise<number> {
  return Number((await statement.execute(db)).numAffectedRows ?? 0)
}
