import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { linkedTo } from './elf.ts'
import { type Built, buildImage, buildRoot } from './image.ts'
import { billOfMaterials, licenceList, npmComponents } from './sbom.ts'

const root = join(import.meta.dirname, '..')
let dir = ''
let built: Built
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'image-test-'))
  built = await buildImage('agent', join(dir, 'agent.tar'), { compress: false })
})
after(() => rm(dir, { recursive: true }))

const isDebian = existsSync('/var/lib/dpkg/status') || 'not a Debian machine'

test('the libraries of a program are those that ldd prints', () => {
  const { needed, interpreter } = linkedTo(process.execPath)
  const printed = execFileSync('ldd', [process.execPath], { encoding: 'utf8' })
  for (const name of needed) assert.ok(printed.includes(name), name)
  assert.ok(interpreter && printed.includes(interpreter), interpreter)
  const direct = [...printed.matchAll(/^\t(\S+) => /gm)].map(([, name]) => name)
  for (const name of ['libc.so.6', 'libstdc++.so.6']) assert.ok(needed.includes(name) && direct.includes(name), name)
})

test('a file that is not a program gives an error with its path', () => {
  writeFileSync(join(dir, 'text'), 'not a program')
  assert.throws(() => linkedTo(join(dir, 'text')), /text: not a 64-bit little-endian ELF file/)
})

test('the agent image contains only the agent, its programs and libraries, and their licences', async () => {
  await buildRoot('agent', join(dir, 'root'))
  const entries = await readdir(join(dir, 'root'), { recursive: true, withFileTypes: true })
  const files = entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(dir.length + '/root'.length))
  const [libraries, others] = [/^\/lib(64)?\//, /^\/usr\/share\/doc\//].map(where =>
    files.filter(file => where.test(file)),
  )
  const rest = files.filter(file => !libraries?.includes(file) && !others?.includes(file))
  assert.deepEqual(rest.sort(), ['/agent.cjs', '/etc/passwd', '/usr/bin/node', '/usr/sbin/ip', '/usr/sbin/nft'])
  assert.ok(libraries?.some(file => file.endsWith('/libc.so.6')) && libraries.some(file => file.includes('/ld-linux')))
  // Node runs with only the files of the image.
  if (process.getuid?.() === 0)
    assert.match(
      execFileSync('chroot', [join(dir, 'root'), '/usr/bin/node', '--version'], { encoding: 'utf8' }),
      /^v24/,
    )
  if (process.getuid?.() === 0)
    assert.match(
      execFileSync('chroot', [join(dir, 'root'), '/usr/sbin/nft', '--version'], { encoding: 'utf8' }),
      /nftables/,
    )
})

test('building the image again gives the same digest', async () => {
  const again = await buildImage('agent', join(dir, 'again.tar'), { compress: false })
  assert.deepEqual(again.digests, built.digests)
})

test('the bill of materials names Node, every package and its licence', { skip: isDebian !== true && isDebian }, () => {
  const bill = JSON.parse(billOfMaterials(built.subject, built.components))
  assert.deepEqual([bill.bomFormat, bill.specVersion], ['CycloneDX', '1.5'])
  assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(bill.metadata.component.name, 'multinic-agent')
  const names = bill.components.map((one: { name: string }) => one.name)
  for (const name of ['node', 'iproute2', 'nftables', 'libc6', 'libstdc++6', 'libgcc-s1'])
    assert.ok(names.includes(name), name)
  for (const { name, version, purl, licenses } of bill.components) {
    assert.ok(name && version && licenses.length === 1, name)
    assert.match(purl, /^pkg:(generic|deb\/debian|npm)\/[^@]+@[^@]+$/)
  }
})

const packages = readFileSync(join(root, 'deployments/images/multinic.deps.txt'), 'utf8').trimEnd().split('\n')

test('every package of the services has a permissive licence, and the image contains its text', () => {
  const components = npmComponents(root, [...packages, 'preact'])
  const others = components.filter(({ licence }) => !/^(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD)$/.test(licence))
  assert.deepEqual(
    others.map(({ name, licence }) => `${name} ${licence}`),
    [],
  )
  const list = licenceList({ name: 'multinic-services', version: '1', architecture: 'amd64' }, components)
  for (const { name, version } of components) assert.ok(list.includes(`${name} ${version}: `), name)
  const withoutText = components.filter(({ texts }) => texts.length === 0).map(({ name }) => name)
  assert.deepEqual(withoutText, [])
})

const dockerfiles: Record<string, string> = {
  Dockerfile: 'operator',
  'Dockerfile.controller': 'controller',
  'Dockerfile.viola-test-api': 'viola',
}

for (const [path, component] of Object.entries(dockerfiles)) {
  test(`${path} builds the ${component} by default, from scratch and without root`, () => {
    const [build = '', ...stages] = readFileSync(join(root, path), 'utf8')
      .split(/^FROM /m)
      .slice(1)
    assert.match(build, /AS build$/m)
    const last = stages.at(-1) ?? ''
    assert.match(last, /^services AS /)
    assert.match(last, new RegExp(`^CMD \\["${component}"\\]$`, 'm'))
    assert.match(stages.find(stage => stage.startsWith('scratch AS services')) ?? '', /^USER 65532:65532$/m)
  })
}
