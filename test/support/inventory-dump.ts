/**
 * Dumps an inventory of this version with some content as SQL: the input of `migrations.test.ts` for later versions.
 *
 *   node test/support/inventory-dump.ts > test/golden/inventory/<newest migration>.sql
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { openStore } from '../../src/inventory/store.ts'
import { silent } from '../../src/telemetry/log.ts'
import { aWrite, someVerdicts } from './inventory.ts'

export async function dumpOfThisVersion(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-dump-'))
  try {
    const path = join(dir, 'inventory.db')
    let seconds = 0
    const now = () => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds++))
    const store = await openStore({ path, log: silent, now })
    const ignored = { vm: 'vm-w1', portId: 'port-late', reason: 'PortNotBound', message: 'no device owner' }
    await store.put(
      [aWrite('w1', { nics: 2 }), aWrite('w2'), aWrite('w1', { providerId: 'p2' })],
      [someVerdicts([ignored])],
    )
    const failed = {
      macAddress: '02:00:00:28:e2:00',
      portId: 'port-w2-0',
      status: 'Failed',
      reason: 'InterfaceNameInUse',
    } as const
    await store.put([
      aWrite('w2', { state: 'Failed', reason: 'ApplyFailed', interfaces: [failed], why: 'status reported' }),
    ])
    await store.put([aWrite('w1', { providerId: 'p2', removed: true, why: 'detached' })])
    await store.close()
    const file = new DatabaseSync(path, { readOnly: true })
    const text = [...schemaOf(file), ...contentOf(file)].map(line => `${line};\n`).join('')
    file.close()
    return text
  } finally {
    await rm(dir, { recursive: true })
  }
}

/** The statements that created the schema, tables before indexes, without the internal objects of SQLite. */
export function schemaOf(file: DatabaseSync): string[] {
  const objects = file
    .prepare("select sql from sqlite_master where sql is not null order by type = 'index', name")
    .all()
  return objects.map(({ sql }) => String(sql))
}

/** The rows of all tables, as statements. */
export function contentOf(file: DatabaseSync): string[] {
  const tables = file.prepare("select name from sqlite_master where type = 'table' order by rowid").all()
  return tables.flatMap(({ name }) =>
    file
      .prepare(`select * from "${name}"`)
      .all()
      .map(row => `insert into "${name}" values (${Object.values(row).map(literal).join(', ')})`),
  )
}

function literal(value: unknown): string {
  if (value === null || typeof value === 'number') return String(value)
  return `'${String(value).replaceAll("'", "''")}'`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(await dumpOfThisVersion())
