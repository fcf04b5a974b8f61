import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildBeside } from './bundles.ts'

test('a build that fails reports its own error and leaves nothing behind, whatever the other builds still write', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'bundles-'))
  try {
    const slow = async (aside: string) => {
      for (let file = 0; file < 200; file++) {
        await mkdir(join(aside, 'web'), { recursive: true })
        await writeFile(join(aside, 'web', `${file}`), '')
      }
    }
    const failing = async () => {
      throw new Error('main.ts:7: unexpected token')
    }
    const built = buildBeside(join(directory, 'bundle'), aside => [slow(aside), failing()])
    await assert.rejects(built, { message: 'main.ts:7: unexpected token' })
    assert.deepEqual(readdirSync(directory), [])
    await buildBeside(join(directory, 'bundle'), aside => [slow(aside)])
    assert.ok(existsSync(join(directory, 'bundle/web/199')))
  } finally {
    rmSync(directory, { recursive: true })
  }
})
