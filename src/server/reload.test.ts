import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { silent } from '../telemetry/log.ts'
import { reload } from './reload.ts'

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-reload-'))
})
after(() => rm(dir, { recursive: true }))

function parse(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error('is no number')
  return Number(text)
}

test('refresh returns the current content to every concurrent caller', async () => {
  const path = join(dir, 'asked')
  writeFileSync(path, '10')
  const file = await reload({ path, parse, log: silent, everyMs: 1 })
  for (let i = 11; i < 60; i++) {
    writeFileSync(path, String(i))
    await Promise.all([file.refresh(), file.refresh(), file.refresh()])
    assert.equal(file.value, i)
  }
  file.close()
})

test('a broken, empty or missing file keeps the value and is reported until fixed', async () => {
  const path = join(dir, 'broken')
  writeFileSync(path, '1')
  const file = await reload({ path, parse, log: silent, everyMs: 60_000 })
  for (const [text, problem] of [
    ['nonsense', /is no number; the previous content stays in effect/],
    [' \n', /is empty/],
  ] as const) {
    writeFileSync(path, text)
    await file.refresh()
    assert.equal(file.value, 1)
    assert.match(file.problem ?? '', problem)
  }
  await rm(path)
  await file.refresh()
  assert.match(file.problem ?? '', /ENOENT/)
  writeFileSync(path, '2')
  await file.refresh()
  assert.equal(file.value, 2)
  assert.equal(file.problem, undefined)
  file.close()
})

test('a replaced symlink, as Kubernetes does it, is followed without a refresh', async () => {
  writeFileSync(join(dir, 'first'), '1')
  writeFileSync(join(dir, 'second'), '2')
  await symlink('first', join(dir, 'link'))
  const heard: number[] = []
  const onChange = (value: number) => heard.push(value)
  const file = await reload({ path: join(dir, 'link'), parse, log: silent, everyMs: 5, onChange })
  await symlink('second', join(dir, 'next'))
  await rename(join(dir, 'next'), join(dir, 'link'))
  await eventually(() => assert.deepEqual(heard, [2]))
  file.close()
})

test('invalid initial content is an error', async () => {
  writeFileSync(join(dir, 'bad'), 'x')
  await assert.rejects(reload({ path: join(dir, 'bad'), parse, log: silent }), /bad: is no number/)
  await assert.rejects(reload({ path: join(dir, 'none'), parse, log: silent }), /ENOENT/)
})
