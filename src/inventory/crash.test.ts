import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { silent } from '../telemetry/log.ts'
import { openStore } from './store.ts'

/** Prints the number of each put after it was acknowledged. The test kills it long before its last put. */
const writer = `
  const { openStore } = await import(process.argv[1])
  const { silent } = await import(process.argv[2])
  const { aWrite } = await import(process.argv[3])
  const store = await openStore({ path: process.argv[4], log: silent })
  const first = Number(process.argv[5])
  for (let i = first; i < first + 10_000; i++) {
    await store.put([aWrite('node-' + (i % 7), { nics: 3, lastConfigHash: String(i), why: String(i) }), aWrite('extra-' + i)])
    process.stdout.write(i + '\\n')
  }`
const modules = ['./store.ts', '../telemetry/log.ts', '../../test/support/inventory.ts']

/** Runs the writer from put `first` and kills it after put `last` was acknowledged. Returns the last acknowledged put. */
async function killedWriter(path: string, first: number, last: number): Promise<number> {
  const files = modules.map(file => import.meta.resolve(file))
  const child = spawn(process.execPath, ['--input-type=module', '-e', writer, '--', ...files, path, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  let acknowledged = first - 1
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Number(line)
    if (acknowledged === last) child.kill('SIGKILL')
  }
  assert.deepEqual(await closed, [null, 'SIGKILL'], 'the writer was killed while it wrote')
  return acknowledged
}

test('every acknowledged put is stored after kill -9 at any moment', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-crash-'))
  const path = join(dir, 'inventory.db')
  try {
    let next = 0
    for (let round = 0; round < 4; round++) {
      const acknowledged = await killedWriter(path, next, next + 5 + round * 7)
      const store = await openStore({ path, log: silent })
      const history = await store.history({ limit: 100_000 })
      const whys = new Set(history.map(({ why }) => why))
      for (let i = 0; i <= acknowledged; i++) {
        assert.ok(whys.has(String(i)), `put ${i} of ${acknowledged} is in the history`)
        assert.ok(await store.get('p1', `extra-${i}`), `put ${i} of ${acknowledged} is in the records`)
      }
      // Only the put in progress may be stored without an acknowledgement, and then completely.
      const records = (await store.list()).filter(({ nodeName }) => nodeName.startsWith('extra-'))
      assert.ok(records.length <= acknowledged + 2)
      for (const { nodeName } of records) assert.ok(whys.has(nodeName.slice('extra-'.length)), nodeName)
      await store.close()
      next = acknowledged + 1
    }
  } finally {
    await rm(dir, { recursive: true })
  }
})
