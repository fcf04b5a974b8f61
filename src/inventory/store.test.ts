import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { inventoryStoreConformance } from '../../test/conformance/inventory-store.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { openStore, type Store } from './store.ts'

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-'))
})
after(() => rm(dir, { recursive: true }))

let count = 0
let time = 0
const now = () => new Date(Date.UTC(2026, 0, 1) + 1000 * time++)
const newPath = () => join(dir, `inventory-${count++}.db`)

async function using(path: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore({ path, log: silent, now })
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const content = (path: string) =>
  [path, `${path}-wal`].map(file =>
    existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : '',
  )

inventoryStoreConformance(now => openStore({ path: newPath(), log: silent, now }))

test('a repeated put adds no history and does not write the file', () => {
  const path = newPath()
  return using(path, async store => {
    const writes = Array.from({ length: 300 }, (_, i) => aWrite(`n${i}`, { nics: 3, state: 'Configured' }))
    await store.put(writes)
    const before = content(path)
    await store.put(writes)
    await store.put([aWrite('never-there', { removed: true })])
    assert.deepEqual(content(path), before)
    assert.equal((await store.history({ nodeName: 'n7' })).length, 1)
  })
})

test('retries add no history, and another failure does', () =>
  using(newPath(), async store => {
    const nic = { macAddress: '02:00:00:00:00:01', portId: 'p', status: 'Failed', reason: 'FileError' } as const
    const failed = (attempt: number, reason: string = nic.reason) =>
      aWrite('n', {
        state: 'Failed',
        reason: 'InterfacesFailed',
        message: `attempt ${attempt}`,
        interfaces: [{ ...nic, reason }],
        why: 'the node is Failed',
      })
    const retried = aWrite('n', { state: 'InProgress', interfaces: [nic], why: 'the node is InProgress' })
    for (const write of [failed(1), retried, failed(2), retried, failed(3)]) await store.put([write])
    assert.equal((await store.history({ nodeName: 'n' })).length, 1)
    assert.equal((await store.get('p1', 'n'))?.message, 'attempt 3')
    await store.put([retried])
    await store.put([failed(4, 'NicMissing')])
    await store.put([aWrite('n', { state: 'Configured', interfaces: [{ ...nic, status: 'Configured' }] })])
    const states = (await store.history({ nodeName: 'n' })).map(({ after }) => after?.interfaces?.[0]?.reason)
    assert.deepEqual(states, ['FileError', 'NicMissing', 'FileError'])
  }))

test('only its owner can read the file, and it survives a restart', async () => {
  const path = join(dir, 'deep', 'er', 'inventory.db')
  await using(path, store => store.put([aWrite('a')]))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  await using(path, async store => assert.equal((await store.list()).length, 1))
})

test('a damaged file is renamed and logged, and the store starts with a new file', async () => {
  const path = newPath()
  writeFileSync(path, 'this was a database once'.repeat(100))
  const lines: string[] = []
  const store = await openStore({ path, log: createLog({}, { write: line => lines.push(line) }), now })
  await store.put([aWrite('a')])
  await store.close()
  assert.match(lines.join(''), /renamed it and started a new one/)
  const renamed = (await readdir(dir)).find(name => name.includes('.damaged-'))
  assert.match(readFileSync(join(dir, renamed ?? ''), 'utf8'), /^this was a database once/)
})

test('a write of many nodes lets other requests run between its chunks', () =>
  using(newPath(), async store => {
    let turns = 0
    let next: NodeJS.Immediate
    const turn = () => {
      turns++
      next = setImmediate(turn)
    }
    next = setImmediate(turn)
    await store.put(Array.from({ length: 1_000 }, (_, i) => aWrite(`n${i}`)))
    clearImmediate(next)
    assert.ok(turns >= 4, `${turns} turns of the event loop`)
  }))
