/**
 * The reference page of the inventory's database with its diagram, from the tables that the migrations create.
 */
import { sql } from 'kysely'
import type { Tables } from '../src/inventory/schema.ts'
import { openSqlite } from '../src/inventory/sqlite.ts'
import { silent } from '../src/telemetry/log.ts'
import { type Language, referencePages } from './reference.ts'

type Table = keyof Tables
type Remarks = { [T in Table]?: { [C in keyof Tables[T]]?: string } }

const remarks: Remarks = {
  nodes: {
    config: 'JSON: delivered config',
    statuses: 'JSON: state and stages of each interface',
  },
  interfaces: { number: '0 to 9', source: 'namespace/name of the OpenstackConfig' },
  addresses: { address: 'canonical, without prefix length' },
  holdings: { address: 'canonical, without prefix length', until: 'null while it lasts' },
  events: { what: 'stage/verified, status/Failed, …' },
  history: { what: 'created, config, status, removed', after: 'JSON: the record after the change' },
  openstack_configs: { config: 'namespace/name', updated_at: 'when its verdicts changed' },
  verdicts: {
    port_id: 'empty for a verdict on the VM itself',
    kind: 'selected, ignored, notManaged',
    name: 'name of the interface',
    port_security: 'JSON',
  },
  sequences: { value: 'last change id, the version of all data' },
  milestones: { name: 'inventory.json imported' },
}

/** Labels of the relations. Records that outlive their node (..) have no foreign key. */
const meanings: [one: Table, line: '--' | '..', many: Table, meaning: string][] = [
  ['providers', '--', 'nodes', 'has'],
  ['nodes', '--', 'interfaces', 'has'],
  ['nodes', '--', 'addresses', 'has'],
  ['nodes', '..', 'holdings', 'held'],
  ['nodes', '..', 'deliveries', 'received'],
  ['nodes', '..', 'events', 'recorded'],
  ['nodes', '..', 'history', 'changed'],
  ['openstack_configs', '--', 'verdicts', 'decided'],
]

interface Column {
  name: string
  type: string
  marks: string[]
  remark: string
}

export async function inventorySchemaPages(): Promise<[path: string, text: string][]> {
  const diagram = await diagramOfTables()
  return referencePages('inventory-schema', 'src/inventory/migrations', texts, (_, { notes }) =>
    [`\`\`\`mermaid\nerDiagram\n${diagram}\n\`\`\`\n`, notes.map(note => `- ${note}\n`).join('')].join('\n'),
  )
}

async function diagramOfTables(): Promise<string> {
  const { db, close } = await openSqlite(':memory:', silent, () => new Date(0))
  try {
    const rows = async <T>(text: string) => (await sql.raw<T>(text).execute(db)).rows
    const tables = await rows<{ name: Table }>(
      "select name from sqlite_master where type = 'table' and name not like 'kysely%' and name not like 'sqlite%' order by rowid",
    )
    const keys: string[] = []
    const boxes: string[] = []
    for (const { name } of tables) {
      const foreign = await rows<{ table: string; from: string }>(`pragma foreign_key_list(${name})`)
      keys.push(...new Set(foreign.map(({ table }) => `${table} ${name}`)))
      const indexed = await rows<{ column: string }>(
        `select c.name as "column" from pragma_index_list('${name}') i, pragma_index_info(i.name) c where i.origin = 'c' and c.seqno = 0`,
      )
      const columns = (
        await rows<{ name: string; type: string; pk: number; notnull: number }>(`pragma table_info(${name})`)
      ).map(({ name: column, type, pk, notnull }): Column => {
        const marks = [...(pk > 0 ? ['PK'] : []), ...(foreign.some(({ from }) => from === column) ? ['FK'] : [])]
        const own = (remarks[name] as Record<string, string> | undefined)?.[column]
        const facts = [
          own,
          !notnull && pk === 0 ? 'optional' : undefined,
          indexed.some(index => index.column === column) ? 'indexed' : undefined,
        ]
        return { name: column, type, marks, remark: facts.filter(Boolean).join('; ') }
      })
      boxes.push(boxOf(name, columns))
    }
    return [...relationsOf(keys), '', ...boxes].join('\n')
  } finally {
    await close()
  }
}

/** Throws if the foreign keys of the schema differ from the relations above. */
function relationsOf(keys: readonly string[]): string[] {
  const expected = meanings.filter(([, line]) => line === '--').map(([one, , many]) => `${one} ${many}`)
  const odd = [...keys.filter(key => !expected.includes(key)), ...expected.filter(key => !keys.includes(key))]
  if (odd.length > 0) throw new Error(`scripts/inventory-schema.ts: update the relations of ${odd.join(', ')}`)
  return meanings.map(([one, line, many, meaning]) => `  ${one} ||${line}o{ ${many} : "${meaning}"`)
}

function boxOf(name: string, columns: readonly Column[]): string {
  const lines = columns.map(({ name, type, marks, remark }) =>
    [`    ${type.toLowerCase()} ${name}`, marks.join(', '), remark && `"${remark}"`].filter(Boolean).join(' '),
  )
  return [`  ${name} {`, ...lines, '  }'].join('\n')
}

const texts: Record<Language, { title: string; text: string; notes: readonly string[] }> = {
  en: {
    title: 'Inventory database',
    text: 'The default is one SQLite file (WAL, `synchronous = FULL`: acknowledged writes are on the disk). With `INVENTORY_DATABASE_URL` it is PostgreSQL 12 or newer. Both have the same tables and the same [migrations](../../src/inventory/migrations/all.ts), which run at the start and only forward. Text is in byte order on both (`collate "C"`). [schema.ts](../../src/inventory/schema.ts) has the types of the tables.',
    notes: [
      'The documents in `nodes` are authoritative. `interfaces` and `addresses` are derived from `config`, for search and for your own queries. They are deleted with their node.',
      'Only differences are written. A write without changes does not touch the file. The time of a check (`lastChecked`) is stored in `nodes` and creates no history.',
      'The state of a node before a change is the `after` of its previous entry.',
      '`holdings` is the index of `GET /v1/inventory/holders`: which interface had which address, MAC address and port, and when. It outlives its node like the history.',
      '`history`, `deliveries` and `events` outlive their node (dotted lines). Their ids come from one sequence that is locked until the commit. A client that has seen id n has therefore missed nothing below n, and server-sent events resume from it.',
      '`verdicts` has what the last sync of each OpenstackConfig decided about each port and VM. The operator writes it in the transaction of the records. It is deleted with its OpenstackConfig and has no history.',
      'Times are UTC text of a fixed width, so text order is time order.',
      'History is kept for `INVENTORY_HISTORY_DAYS` (365), together with the entries that describe the state at that time.',
      'Size in SQLite: a node with 10 interfaces takes 36 KiB with its first history entry, and 10 KiB for each further change. A node with one interface takes 6 KiB and 2.5 KiB. 10,000 nodes with 10 interfaces take 360 MiB, and one change per day on each adds 95 MiB per day.',
      'If `INVENTORY_DB_PATH` ends in `.json`, it names the file of the Go implementation. The database is next to it with the ending `.db`. The records are imported once, and the file is not changed.',
      'A damaged file is renamed to `….damaged-<time>` and a new one is created. The operator restores the records with the next syncs. No node depends on the inventory.',
    ],
  },
  ko: {
    title: '인벤토리 데이터베이스',
    text: '기본값은 SQLite 파일 하나입니다(WAL, `synchronous = FULL`: 응답한 쓰기는 디스크에 있습니다). `INVENTORY_DATABASE_URL`을 설정하면 PostgreSQL 12 이상을 사용합니다. 둘 다 같은 테이블과 같은 [마이그레이션](../../src/inventory/migrations/all.ts)을 사용하며, 마이그레이션은 시작할 때 앞으로만 실행됩니다. 텍스트는 둘 다 바이트 순서로 정렬됩니다(`collate "C"`). 테이블의 타입은 [schema.ts](../../src/inventory/schema.ts)에 있습니다.',
    notes: [
      '`nodes`의 문서가 기준입니다. `interfaces`와 `addresses`는 검색과 사용자 쿼리를 위해 `config`에서 만들며, 노드와 함께 삭제됩니다.',
      '차이만 씁니다. 변경이 없는 쓰기는 파일을 건드리지 않습니다. 점검 시각(`lastChecked`)은 `nodes`에 저장되며 이력을 만들지 않습니다.',
      '변경 전 노드의 상태는 이전 항목의 `after`입니다.',
      '`holdings`는 `GET /v1/inventory/holders`의 인덱스입니다. 어느 인터페이스가 어떤 주소, MAC 주소, 포트를 언제 가졌는지 기록하며, 이력처럼 노드가 삭제되어도 남습니다.',
      '`history`, `deliveries`, `events`는 노드가 삭제되어도 남습니다(점선). id는 커밋할 때까지 잠기는 시퀀스 하나에서 나오므로, id n을 본 클라이언트는 n 아래를 놓치지 않으며 server-sent events를 거기서 이어 받습니다.',
      '`verdicts`에는 각 OpenstackConfig의 마지막 동기화가 포트와 VM마다 내린 판정이 있습니다. operator가 레코드와 같은 트랜잭션으로 기록하며, OpenstackConfig와 함께 삭제되고 이력은 남기지 않습니다.',
      '시각은 길이가 고정된 UTC 텍스트이므로 텍스트 순서가 시간 순서입니다.',
      '이력은 `INVENTORY_HISTORY_DAYS`(365)일 동안 보관하며, 그 시점의 상태를 나타내는 항목도 함께 보관합니다.',
      'SQLite에서의 크기: 인터페이스가 10개인 노드는 첫 이력을 포함해 36 KiB, 이후 변경마다 10 KiB를 씁니다. 인터페이스가 하나인 노드는 6 KiB와 2.5 KiB입니다. 인터페이스가 10개인 노드 10,000개는 360 MiB이고, 노드마다 하루에 한 번 변경하면 하루에 95 MiB가 늘어납니다.',
      '`INVENTORY_DB_PATH`가 `.json`으로 끝나면 Go 구현의 파일입니다. 데이터베이스는 같은 위치에 확장자 `.db`로 만들어집니다. 레코드를 한 번 가져오며 원본 파일은 바꾸지 않습니다.',
      '손상된 파일은 `….damaged-<time>`으로 이름을 바꾸고 새 파일을 만듭니다. operator가 다음 동기화에서 기록을 복원합니다. 인벤토리에 의존하는 노드는 없습니다.',
    ],
  },
}
