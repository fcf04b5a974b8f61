/** Verdicts in SQLite. postgres.e2e.test.ts runs the same suite. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { inventoryVerdictsConformance } from '../../test/conformance/inventory-verdicts.ts'
import { someVerdicts, usingStores } from '../../test/support/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { openStore } from './store.ts'

inventoryVerdictsConformance(now => openStore({ path: ':memory:', log: silent, now }))

test('the database has the time of the last change of the verdicts on an object', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-verdicts-'))
  t.after(() => rm(dir, { recursive: true }))
  const path = join(dir, 'inventory.db')
  const { using } = usingStores(now => openStore({ path, log: silent, now }))
  await using(async store => {
    const seen = new DatabaseSync(path, { readOnly: true })
    t.after(() => seen.close())
    const on = (vm: string, message = 'm') => ({ vm, reason: 'VmNotFound', message })
    const timeAfter = async (...verdicts: ReturnType<typeof on>[]) => {
      await store.put([], [someVerdicts(verdicts)])
      return String(seen.prepare('select updated_at from openstack_configs').get()?.['updated_at'])
    }
    const created = await timeAfter(on('a'))
    assert.equal(await timeAfter(on('a')), created)
    const added = await timeAfter(on('a'), on('b'))
    assert.ok(added > created)
    const replaced = await timeAfter(on('a', 'other'), on('b'))
    assert.ok(replaced > added)
    assert.ok((await timeAfter(on('b'))) > replaced)
  })
})
