/** `multinic audit`, against a real inventory. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../test/support/cli.ts'
import { anAuditEntry } from '../../test/support/inventory.ts'
import { type RunningInventory, startInventory } from '../inventory/main.ts'
import { silent } from '../telemetry/log.ts'

let dir: string
let open: RunningInventory
let multinic: Run

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-audit-'))
  const env = {
    ...{ INVENTORY_ADDR: '127.0.0.1:0', INVENTORY_DB_PATH: join(dir, 'inventory.db') },
    INVENTORY_ANONYMOUS_ACCESS: 'true',
  }
  open = await startInventory({ log: silent, env })
  multinic = runner({ MULTINIC_INVENTORY_URL: open.url })
})
after(async () => {
  await open.close()
  await rm(dir, { recursive: true })
})

test('audit lists who asked for what, in each format, and ends with 1 if nothing matches', async () => {
  const at = new Date().toISOString()
  const entries = [anAuditEntry({ at }), anAuditEntry({ action: 'removals.approve', caller: 'kim', proof: 'claimed' })]
  await open.recorder.put([], [], entries)
  const { code, out } = await multinic('audit')
  assert.deepEqual([code, out.split('\n').length], [0, 4])
  assert.match(
    out,
    /^at +action +object +caller +proof +outcome\n.* removals\.approve +multinic-system\/main +kim +claimed/,
  )
  assert.match((await multinic('audit', '-o', 'wide')).out, /recordedBy\n.* operator\n/)
  const csv = (await multinic('audit', '--action', 'removals.approve', '-o', 'csv')).out
  assert.match(
    csv,
    /^id,at,.*\r\n\d+,2026-01-01T00:00:00\.000Z,removals\.approve,.*,kim,claimed,object,synced,operator\r\n$/,
  )
  const recent = JSON.parse((await multinic('audit', '--from', '24h', '--limit', '1', '-o', 'json')).out)
  assert.deepEqual(
    recent.map((one: { caller: string }) => one.caller),
    ['kubectl-edit'],
  )
  assert.equal((await multinic('audit', '--caller', 'nobody')).code, 1)
  assert.match((await multinic('audit', '--to', 'soon')).error, /--to: "soon" is not a time/)
})

test('more entries than a page are listed completely', async () => {
  for (let page = 0; page < 6; page++) {
    const entries = Array.from({ length: 200 }, () => anAuditEntry({ caller: 'many' }))
    await open.recorder.put([], [], entries)
  }
  assert.equal(JSON.parse((await multinic('audit', '--caller', 'many', '-o', 'json')).out).length, 1_200)
})
