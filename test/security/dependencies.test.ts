/** What we run that others wrote: few, pinned to the byte, without scripts of their own, and written down with a reason. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Locked {
  version?: string
  integrity?: string
  resolved?: string
  license?: string
  dev?: boolean
  devOptional?: boolean
  hasInstallScript?: boolean
}
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string> | undefined>
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> }
const locked = Object.entries(packages).filter(([path]) => path !== '')
const running = locked.filter(([, { dev, devOptional }]) => !dev && !devOptional)

test('every version is exact', () => {
  for (const group of ['dependencies', 'devDependencies', 'optionalDependencies'])
    for (const [name, version] of Object.entries(manifest[group] ?? {})) assert.match(version, /^\d+\.\d+\.\d+$/, name)
})

test('the lock file holds every package to its bytes, and no address', () => {
  for (const [path, { version, integrity, resolved }] of locked) {
    assert.match(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, path)
    assert.match(version ?? '', /^\d+\.\d+\.\d+/, path)
    assert.equal(resolved, undefined, path)
  }
  assert.doesNotMatch(read('package-lock.json'), /https?:\/\/[^"]*\/-\//)
})

test('no package runs a script when it is installed: none of ours has one, and none would be run', () => {
  const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)
  // It only fetches what the lock file brings already.
  assert.deepEqual(scripted, ['node_modules/esbuild'])
  assert.match(read('Makefile'), /npm ci --ignore-scripts/)
  assert.match(read('Dockerfile'), /npm ci --ignore-scripts/)
})

test('all that runs is few, and free to be passed on', () => {
  assert.ok(running.length <= 80, `${running.length} packages`)
  const free = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']
  assert.deepEqual(
    running
      .filter(([, { license }]) => !free.includes(license ?? ''))
      .map(([path, { license }]) => `${path}: ${license}`),
    [],
  )
})

for (const page of ['docs/guides/security.md', 'docs/guides/security.ko.md'])
  test(`${page} names each package that we run, its licence and why`, () => {
    const rows = [...read(page).matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm)]
    const told = rows.map(([, name = '', licence = '', why = '']) => [name, licence.trim(), why.trim().length > 4])
    const wanted = Object.keys(manifest['dependencies'] ?? {}).map(name => [
      name,
      packages[`node_modules/${name}`]?.license,
      true,
    ])
    assert.deepEqual(told.sort(), wanted.sort())
    assert.match(read(page), new RegExp(`\\(.*${running.length}.*\\)`), 'how many there are in all')
  })
