/** Files of a real disk that are not what their names promise: each costs itself, not the run. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { kernelHost, tryList } from './host.ts'

const directory = mkdtempSync(join(tmpdir(), 'host-'))
after(() => rmSync(directory, { recursive: true }))
const host = kernelHost()
const path = (name: string) => join(directory, name)

const files: Record<string, [make: (path: string) => void, found: object | undefined]> = {
  missing: [() => {}, undefined],
  text: [path => writeFileSync(path, 'text'), { text: 'text' }],
  'exactly 1 MiB': [path => writeFileSync(path, 'x'.repeat(1 << 20)), { text: 'x'.repeat(1 << 20) }],
  'larger than 1 MiB': [path => writeFileSync(path, 'x'.repeat((1 << 20) + 1)), { text: '', unreadable: true }],
  'larger than the memory': [
    path => {
      writeFileSync(path, '')
      truncateSync(path, 2 ** 40)
    },
    { text: '', unreadable: true },
  ],
  'a loop of links': [path => symlinkSync(path, path), { text: '', special: true, unreadable: true }],
  'a link to nothing': [path => symlinkSync('/nonexistent', path), { text: '', special: true }],
  'a link to too long a name': [
    path => symlinkSync('x'.repeat(300), path),
    { text: '', special: true, unreadable: true },
  ],
  'a directory': [path => mkdirSync(path), { text: '', special: true }],
  'a named pipe': [path => void execFileSync('mkfifo', [path]), { text: '', special: true }],
  'a link to a named pipe': [
    path => {
      execFileSync('mkfifo', [`${path}.pipe`])
      symlinkSync(`${path}.pipe`, path)
    },
    { text: '', special: true },
  ],
}

for (const [what, [make, expected]] of Object.entries(files))
  test(`readFile: ${what}`, () => {
    make(path(what))
    const { mode: _, uid: __, gid: ___, ...found } = host.readFile(path(what)) ?? {}
    assert.deepEqual(found, expected ?? {})
    assert.equal(host.readFile(path(what)) === undefined, expected === undefined)
  })

test('a file with a longer limit is read', () => {
  writeFileSync(path('long'), 'x'.repeat((1 << 20) + 1))
  assert.equal(host.readFile(path('long'), 2 << 20)?.text.length, (1 << 20) + 1)
})

test('a name below a file, or one that is too long, is unreadable', () => {
  writeFileSync(path('file'), '')
  assert.equal(host.readFile(path('x'.repeat(300)))?.unreadable, true)
})

test('a loop of links has a time of its own change', () => {
  symlinkSync(path('changed'), path('changed'))
  assert.ok((host.changedAt(path('changed')) ?? 0) > 0)
  assert.equal(host.changedAt(path('no such file')), undefined)
})

test('a directory that cannot be listed is told from one that does not exist', () => {
  symlinkSync(path('looping'), path('looping'))
  assert.throws(() => host.list(path('looping')), /ELOOP/)
  assert.equal(tryList(host, path('looping')), undefined)
  assert.deepEqual(tryList(host, path('nowhere')), [])
})
