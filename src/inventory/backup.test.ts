/** A backup as documented (`sqlite3 inventory.db ".backup copy.db"`), by the same API call, while the inventory writes. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { aWrite, filledTables, putEverything } from '../../test/support/inventory.ts'
import { contentOf } from '../../test/support/inventory-dump.ts'
import { silent } from '../telemetry/log.ts'
import { openStore } from './store.ts'

test('a backup of a running inventory contains everything acknowledged before it, with history', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-backup-'))
  t.after(() => rm(dir, { recursive: true }))
  const [path, copy] = [join(dir, 'inventory.db'), join(dir, 'copy.db')]
  const now = () => new Date()
  const running = await openStore({ path, log: silent, now })
  try {
    for (const state of ['Pending', 'InProgress', 'Configured'] as const)
      await running.put([aWrite('n1', { nics: 2, state })])
    const seen = new DatabaseSync(path, { readOnly: true })
    const [, pages] = await Promise.all([
      running.put([aWrite('n2', { nics: 1, state: 'Configured' })]),
      backup(seen, copy),
    ])
    seen.close()
    assert.ok(pages > 0)
    const before = await running.history({ nodeName: 'n1' })

    const restored = await openStore({ path: copy, log: silent, now })
    try {
      assert.deepEqual(await restored.history({ nodeName: 'n1' }), before)
      await restored.put([aWrite('n1', { nics: 3, state: 'Configured' })])
      assert.equal((await restored.history({ nodeName: 'n1' })).length, before.length + 1)
    } finally {
      await restored.close()
    }
    assert.deepEqual(await running.history({ nodeName: 'n1' }), before)
  } finally {
    await running.close()
  }
})

test('a restored backup has every row of every table', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-backup-'))
  t.after(() => rm(dir, { recursive: true }))
  const [path, copy] = [join(dir, 'inventory.db'), join(dir, 'copy.db')]
  const running = await openStore({ path, log: silent })
  await putEverything(running)
  const source = new DatabaseSync(path, { readOnly: true })
  await backup(source, copy)
  await (await openStore({ path: copy, log: silent })).close()
  const restored = new DatabaseSync(copy, { readOnly: true })
  const rows = contentOf(source)
  for (const table of filledTables)
    assert.ok(
      rows.some(row => row.startsWith(`insert into "${table}" `)),
      `no row of ${table}`,
    )
  assert.deepEqual(contentOf(restored), rows)
  for (const file of [source, restored]) file.close()
  await running.close()
})
