import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { silent } from '../telemetry/log.ts'
import { openStore } from './store.ts'

/** Writes for ever and says each number after its put was acknowledged. */
const writer = `
  const { openStore } = await import(process.argv[1])
  const { silent } = await import(process.argv[2])
  const { aWrite } = await import(process.argv[3])
  const store = await openStore({ path: process.argv[4], log: silent })
  for (let i = Number(process.argv[5]); ; i++) {
    await store.put([aWrite('node-' + (i % 7), { nics: 3, lastConfigHash: String(i), why: String(i) }), aWrite('extra-' + i)])
    process.stdout.write(i + '\\n')
  }`

test('what was acknowledged is there after kill -9 at any moment', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-crash-'))
  const path = join(dir, 'inventory.db')
  const modules = ['./store.ts', '../log.ts', '../../test/inventory.ts'].map(file => import.meta.resolve(file))
  try {
    let next = 0
    for (let round = 0; round < 4; round++) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', writer, '--', ...modules, path, String(next)])
      let acknowledged = next - 1
      const killAfter = next + 5 + round * 7
      const ended = new Promise(resolve => child.once('close', resolve))
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged = Number(line)
        if (acknowledged === killAfter) child.kill('SIGKILL')
      }
      await ended

      const store = await openStore({ path, log: silent })
      const history = await store.history({ limit: 100_000 })
      const whys = new Set(history.map(({ why }) => why))
      for (let i = 0; i <= acknowledged; i++) {
        assert.ok(whys.has(String(i)), `put ${i} of ${acknowledged} is in the history`)
        assert.ok(await store.get('p1', `extra-${i}`), `put ${i} of ${acknowledged} is in the records`)
      }
      // At most the one that was under way came in beside, and then all of it.
      const records = (await store.list()).filter(({ nodeName }) => nodeName.startsWith('extra-'))
      assert.ok(records.length <= acknowledged + 2)
      for (const { nodeName } of records) assert.ok(whys.has(nodeName.slice('extra-'.length)), nodeName)
      await store.close()
      next = acknowledged + 1
    }
    assert.ok(next > 40)
  } finally {
    await rm(dir, { recursive: true })
  }
})
