/** Archives, read by tar itself. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { tarOf } from './tar.ts'

const files = {
  'an empty file': ['x/empty', ''],
  'a file of exactly one block': ['x/block', 'a'.repeat(512)],
  'letters of several bytes': ['x/노드.json', '한국어\n'.repeat(300)],
  'a name that fills its field': [`x/${'n'.repeat(98)}`, 'full\n'],
  'a name that is too long for its field': [`x/${'l'.repeat(251)}.log`, 'long\n'],
} as const

for (const [name, [path, text]] of Object.entries(files))
  test(`tar extracts ${name}`, async t => {
    const dir = await mkdtemp(join(tmpdir(), 'multinic-tar-'))
    t.after(() => rm(dir, { recursive: true }))
    const at = new Date('2026-01-31T10:00:00Z')
    await writeFile(
      join(dir, 'archive'),
      tarOf(
        new Map([
          ['x/first', '1\n'],
          [path, text],
          ['x/last', '2\n'],
        ]),
        at,
      ),
    )
    execFileSync('tar', ['-xf', 'archive'], { cwd: dir })
    assert.equal(await readFile(join(dir, path), 'utf8'), text)
    assert.equal(await readFile(join(dir, 'x/last'), 'utf8'), '2\n')
    const { mode, mtime } = await stat(join(dir, path))
    assert.deepEqual([mode & 0o777, mtime], [0o600, at])
  })
