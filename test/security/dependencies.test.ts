/** Third-party packages: few, pinned by hash, without install scripts, and listed with their purpose. */
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

test('package.json pins exact versions', () => {
  for (const group of ['dependencies', 'devDependencies', 'optionalDependencies'])
    for (const [name, version] of Object.entries(manifest[group] ?? {})) assert.match(version, /^\d+\.\d+\.\d+$/, name)
})

test('the lock file pins every package by hash and names no registry', () => {
  for (const [path, { version, integrity, resolved }] of locked) {
    assert.match(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, path)
    assert.match(version ?? '', /^\d+\.\d+\.\d+/, path)
    assert.equal(resolved, undefined, path)
  }
  assert.doesNotMatch(read('package-lock.json'), /https?:\/\/[^"]*\/-\//)
})

test('no package runs an install script', () => {
  const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)
  // Its script only fetches a package that the lock file already contains.
  assert.deepEqual(scripted, ['node_modules/esbuild'])
  assert.match(read('Makefile'), /npm ci --ignore-scripts/)
  assert.match(read('Dockerfile'), /npm ci --ignore-scripts/)
})

test('at most 80 packages run in production, all with permissive licences', () => {
  assert.ok(running.length <= 80, `${running.length} packages`)
  const permissive = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']
  assert.deepEqual(
    running
      .filter(([, { license }]) => !permissive.includes(license ?? ''))
      .map(([path, { license }]) => `${path}: ${license}`),
    [],
  )
})

for (const page of ['docs/guides/security.md', 'docs/guides/security.ko.md'])
  test(`${page} lists each production package with licence and purpose`, () => {
    const rows = [...read(page).matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm)]
    const listed = rows.map(([, name = '', licence = '', purpose = '']) => [
      name,
      licence.trim(),
      purpose.trim().length > 4,
    ])
    const expected = Object.keys(manifest['dependencies'] ?? {}).map(name => [
      name,
      packages[`node_modules/${name}`]?.license,
      true,
    ])
    assert.deepEqual(listed.sort(), expected.sort())
    assert.match(read(page), new RegExp(`\\(.*${running.length}.*\\)`), 'total number of packages')
  })
