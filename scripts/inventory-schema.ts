/**
 * The page about the inventory's database, with its diagram: read from the tables that the migrations make.
 */
import { sql } from 'kysely'
import type { Tables } from '../src/inventory/schema.ts'
import { openSqlite } from '../src/inventory/sqlite.ts'
import { silent } from '../src/telemetry/log.ts'

type Table = keyof Tables
type Remarks = { [T in Table]?: { [C in keyof Tables[T]]?: string } }

const remarks: Remarks = {
  nodes: {
    config: 'JSON: what was delivered',
    statuses: 'JSON: state and stages of each interface',
  },
  interfaces: { number: '0 to 9', source: 'namespace/name of the OpenstackConfig' },
  addresses: { address: 'canonical, without prefix length' },
  events: { what: 'stage/verified, status/Failed, …' },
  history: { what: 'created, config, status, removed', after: 'JSON: the record since then' },
  sequences: { value: 'of changes: the version of the whole' },
  milestones: { name: 'inventory.json imported' },
}

/** What a key between tables means. Those that outlive their node (..) are not held by a key. */
const meanings: [one: Table, line: '--' | '..', many: Table, meaning: string][] = [
  ['providers', '--', 'nodes', 'has'],
  ['nodes', '--', 'interfaces', 'was given'],
  ['nodes', '--', 'addresses', 'answers to'],
  ['nodes', '..', 'deliveries', 'was sent'],
  ['nodes', '..', 'events', 'went through'],
  ['nodes', '..', 'history', 'was'],
]

interface Column {
  name: string
  type: string
  marks: string[]
  remark: string
}

export async function inventorySchemaPage(): Promise<string> {
  const { db, close } = await openSqlite(':memory:', silent, () => new Date(0))
  try {
    const rows = async <T>(text: string) => (await sql.raw<T>(text).execute(db)).rows
    const made = await rows<{ name: Table }>(
      "select name from sqlite_master where type = 'table' and name not like 'kysely%' and name not like 'sqlite%' order by rowid",
    )
    const keys: string[] = []
    const boxes: string[] = []
    for (const { name } of made) {
      const foreign = await rows<{ table: string; from: string }>(`pragma foreign_key_list(${name})`)
      keys.push(...new Set(foreign.map(({ table }) => `${table} ${name}`)))
      const indexed = await rows<{ column: string }>(
        `select c.name as "column" from pragma_index_list('${name}') i, pragma_index_info(i.name) c where i.origin = 'c' and c.seqno = 0`,
      )
      const columns = (
        await rows<{ name: string; type: string; pk: number; notnull: number }>(`pragma table_info(${name})`)
      ).map(({ name: column, type, pk, notnull }): Column => {
        const marks = [...(pk > 0 ? ['PK'] : []), ...(foreign.some(({ from }) => from === column) ? ['FK'] : [])]
        const said = (remarks[name] as Record<string, string> | undefined)?.[column]
        const facts = [
          said,
          !notnull && pk === 0 ? 'may be absent' : undefined,
          indexed.some(one => one.column === column) ? 'indexed' : undefined,
        ]
        return { name: column, type, marks, remark: facts.filter(Boolean).join('; ') }
      })
      boxes.push(boxOf(name, columns))
    }
    return page([...relationsOf(keys), '', ...boxes].join('\n'))
  } finally {
    await close()
  }
}

/** Fails where a key of the schema has no meaning here, or a meaning no key: then this file is what is out of date. */
function relationsOf(keys: readonly string[]): string[] {
  const held = meanings.filter(([, line]) => line === '--').map(([one, , many]) => `${one} ${many}`)
  const odd = [...keys.filter(key => !held.includes(key)), ...held.filter(key => !keys.includes(key))]
  if (odd.length > 0) throw new Error(`scripts/inventory-schema.ts does not know what is between: ${odd.join(', ')}`)
  return meanings.map(([one, line, many, meaning]) => `  ${one} ||${line}o{ ${many} : "${meaning}"`)
}

function boxOf(name: string, columns: readonly Column[]): string {
  const lines = columns.map(({ name, type, marks, remark }) =>
    [`    ${type.toLowerCase()} ${name}`, marks.join(', '), remark && `"${remark}"`].filter(Boolean).join(' '),
  )
  return [`  ${name} {`, ...lines, '  }'].join('\n')
}

function page(diagram: string): string {
  return `<!-- Made by \`make generate\` from src/inventory/migrations. Do not edit. -->
# The inventory's database

SQLite in one file by default (WAL, \`synchronous = FULL\`: what was acknowledged is on the disk), PostgreSQL 12 or newer with \`INVENTORY_DATABASE_URL\`: the same tables and the same [migrations](../../src/inventory/migrations/all.ts), forward only, which run by themselves at the start. Text is in byte order on both (\`collate "C"\`). The tables are typed in [schema.ts](../../src/inventory/schema.ts).

\`\`\`mermaid
erDiagram
${diagram}
\`\`\`

- The documents in \`nodes\` are the truth. \`interfaces\` and \`addresses\` are made of \`config\` for search and for joins of your own; they go with their node.
- Only differences are written. A write that changes nothing touches no page of the file. The time of a check (\`lastChecked\`) is kept in \`nodes\` and makes no history.
- What a node was before a change is the \`after\` of its entry before.
- \`history\`, \`deliveries\` and \`events\` outlive their node (dotted). Their numbers come from one sequence that is locked until the commit, so a reader that has seen number n misses nothing below n: server-sent events resume by it.
- Times are UTC text of one width: the order of text is the order of time.
- History is kept for \`INVENTORY_HISTORY_DAYS\` (365). What is needed to tell how a node has been since then stays.
- Size, measured in SQLite: a node of 10 interfaces takes 36 KiB with its first history, and 10 KiB more for each change that is kept; a node of one interface 6 KiB and 2.5 KiB. 10,000 nodes of 10 interfaces are 360 MiB, and one change a day on each of them adds 95 MiB a day.
- \`INVENTORY_DB_PATH\` that ends in \`.json\` names the file of older versions: the database is beside it under the same name with \`.db\`, the records are imported once, the file is left as it is.
- A file that is damaged is put aside as \`….damaged-<time>\` and a new one begun: the operator fills it again with its next syncs. Nothing on a node depends on the inventory.
`
}
