/** Backups of removed files, the order of files, and messages about files that cannot be written. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { filesOfIndex } from '../backends/owned.ts'
import { kernelHost } from '../host/host.ts'
import { pathsUnder } from '../paths.ts'
import type { Change } from '../state/change.ts'
import { recordPath } from '../state/ownership.ts'
import type { Unit } from '../state/unit.ts'
import { macOf } from '../test/agent.fixture.ts'
import { commitFiles, stageFiles } from './files.ts'

const attributes = { mode: 0o644, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

/** A NIC to remove, with a file at each of these paths. */
function removalOf(files: readonly string[]): Unit {
  const changes = files.map((path): Change => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, path, { mode: attributes.mode })
    return { kind: 'file', path, from: { text: path, ...attributes } }
  })
  return { purpose: 'remove', index: 0, name: 'multinic0', macAddress: macOf(0), group: 'remove multinic0', changes }
}

test('a removed file is kept in the backup directory of its kind, at most 500 per directory', t => {
  const root = mkdtempSync(join(tmpdir(), 'multinic-files-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const paths = pathsUnder(root)
  const backups = join(root, 'etc/netplan/backup')
  mkdirSync(backups, { recursive: true })
  const old = Array.from({ length: 505 }, (_, day) =>
    new Date(Date.UTC(2020, 0, 1 + day)).toISOString().slice(0, 10).replaceAll('-', ''),
  )
  for (const day of old) writeFileSync(join(backups, `93-multinic3.yaml.${day}T000000Z`), '')
  writeFileSync(join(backups, 'unrelated file'), '')

  const files = filesOfIndex(paths, 0)
  commitFiles(kernelHost(), paths, removalOf([...files, recordPath(paths, macOf(0))]))

  const copiesIn = (directory: string) =>
    readdirSync(directory)
      .filter(name => /multinic0\b.*\.\d{8}T\d{6}Z$/.test(name))
      .map(name => name.replace(/\.\d{8}T\d{6}Z$/, ''))
  const inNetplan = [
    ...['05-multinic0.link', '05-multinic0.network', '05-multinic0.rules'],
    ...['90-multinic0.conf', '90-multinic0.link'],
  ]
  assert.deepEqual(copiesIn(backups), [...inNetplan, '90-multinic0.yaml'])
  assert.deepEqual(copiesIn(join(root, 'etc/sysconfig/network-scripts/backup')), [
    'ifcfg-multinic0',
    'route-multinic0',
    'route6-multinic0',
    'rule-multinic0',
    'rule6-multinic0',
  ])
  assert.deepEqual(copiesIn(join(root, 'var/lib/multinic/backup')), [
    '90-multinic0.nmconnection',
    'multinic0.nmconnection',
  ])
  for (const path of files) assert.equal(statSync(path, { throwIfNoEntry: false }), undefined, path)
  const copy = readdirSync(backups).find(name => name.startsWith('90-multinic0.yaml')) ?? ''
  assert.equal(readFileSync(join(backups, copy), 'utf8'), `${paths.netplan}/90-multinic0.yaml`)
  assert.equal(statSync(join(backups, copy)).mode & 0o7777, 0o600)

  const kept = readdirSync(backups).filter(name => name.startsWith('93-'))
  assert.equal(kept.length, 500 - inNetplan.length - 1)
  assert.equal(kept[0], `93-multinic3.yaml.${old[11]}T000000Z`)
  assert.ok(readdirSync(backups).includes('unrelated file'))
})

test('the udev rule is the last file of a NIC that is written and the first that is removed, except the Netplan file', t => {
  const root = mkdtempSync(join(tmpdir(), 'multinic-files-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const paths = pathsUnder(root)
  const files = [...filesOfIndex(paths, 0), recordPath(paths, macOf(0))]
  const order: string[] = []
  const host = kernelHost()
  const recorder = {
    ...host,
    rename(from: string, to: string) {
      order.push(to)
      host.rename(from, to)
    },
    removeFile(path: string) {
      order.push(path)
      host.removeFile(path)
    },
  }
  const unit = removalOf([])
  const writes = files.map((path): Change => ({ kind: 'file', path, to: { text: path, ...attributes } }))
  stageFiles(host, { ...unit, changes: writes })
  commitFiles(recorder, paths, { ...unit, purpose: 'apply', changes: writes })
  const written = order.splice(0)
  assert.deepEqual(written.slice(-2), [`${paths.udevRules}/05-multinic0.rules`, `${paths.netplan}/90-multinic0.yaml`])
  assert.deepEqual(written.toSorted(), files.toSorted())
  commitFiles(recorder, paths, removalOf(files))
  assert.deepEqual(order.slice(0, 2), written.slice(-2).reverse())
})

test('an error names the file, not the staged copy', t => {
  const root = mkdtempSync(join(tmpdir(), 'multinic-files-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  writeFileSync(join(root, 'netplan'), 'not a directory')
  const path = join(root, 'netplan/92-multinic2.yaml')
  const unit = removalOf([])
  const change: Change = { kind: 'file', path, to: { text: '', ...attributes } }
  const message = `cannot write ${path}: file already exists`
  assert.throws(() => stageFiles(kernelHost(), { ...unit, changes: [change] }), { message })
})
