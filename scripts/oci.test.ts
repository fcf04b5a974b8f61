import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Archive, writeArchive, writeRoot } from './oci.ts'

let dir = ''
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'oci-test-'))
  await writeFile(join(dir, 'program'), '#!/bin/sh\necho hello\n')
  await chmod(join(dir, 'program'), 0o755)
})
after(() => rm(dir, { recursive: true }))

const archive = (out: string): Archive => ({
  images: [
    { names: ['greeter:dev', 'greeter:latest'], entrypoint: ['/usr/bin/greet'] },
    { names: ['polite:dev'], entrypoint: ['/usr/bin/greet'], cmd: ['--please'], user: '65532:65532' },
  ],
  files: { '/usr/bin/greet': { copy: join(dir, 'program') }, '/etc/passwd': { text: 'root:x:0:0::/:/none\n' } },
  compress: true,
  out: join(dir, out),
})
const inArchive = (out: string, name: string) => execFileSync('tar', ['-xOf', join(dir, out), name])
const blob = (digest: string) => `blobs/${digest.replace(':', '/')}`

test('the same input gives the same bytes', async () => {
  assert.deepEqual(await writeArchive(archive('one.tar')), await writeArchive(archive('two.tar')))
  assert.deepEqual(await readFile(join(dir, 'one.tar')), await readFile(join(dir, 'two.tar')))
})

test('the archive has the full name, architecture, entrypoint and every file with its mode', async () => {
  const [digest = ''] = await writeArchive(archive('image.tar'))
  const [listed] = JSON.parse(inArchive('image.tar', 'index.json').toString()).manifests
  assert.equal(listed.digest, digest)
  assert.equal(listed.annotations['io.containerd.image.name'], 'docker.io/library/greeter:dev')

  const manifest = JSON.parse(inArchive('image.tar', blob(digest)).toString())
  const config = JSON.parse(inArchive('image.tar', blob(manifest.config.digest)).toString())
  assert.equal(config.architecture, process.arch === 'x64' ? 'amd64' : process.arch)
  assert.deepEqual(config.config.Entrypoint, ['/usr/bin/greet'])

  const layer = inArchive('image.tar', blob(manifest.layers[0].digest))
  const listing = execFileSync('tar', ['-tvz', '--numeric-owner', '--utc'], { input: layer }).toString()
  const lines = listing.split('\n').map(line => line.replace(/ +/g, ' '))
  assert.deepEqual(lines, [
    'drwxr-xr-x 0/0 0 1970-01-01 00:00 etc/',
    '-rw-r--r-- 0/0 20 1970-01-01 00:00 etc/passwd',
    'drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/',
    'drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/bin/',
    '-rwxr-xr-x 0/0 21 1970-01-01 00:00 usr/bin/greet',
    '',
  ])
})

test('images of one archive share the layer, and each has its own command and user', async () => {
  const digests = await writeArchive(archive('shared.tar'))
  const { manifests } = JSON.parse(inArchive('shared.tar', 'index.json').toString())
  assert.deepEqual(
    manifests.map((one: { digest: string; annotations: Record<string, string> }) => [
      one.annotations['org.opencontainers.image.ref.name'],
      one.digest,
    ]),
    [
      ['greeter:dev', digests[0]],
      ['greeter:latest', digests[0]],
      ['polite:dev', digests[1]],
    ],
  )
  const dockerManifest = JSON.parse(inArchive('shared.tar', 'manifest.json').toString())
  assert.deepEqual(
    dockerManifest.map(({ RepoTags }: { RepoTags: string[] }) => RepoTags),
    [['greeter:dev', 'greeter:latest'], ['polite:dev']],
  )
  const [plain, polite] = digests.map(digest => JSON.parse(inArchive('shared.tar', blob(digest)).toString()))
  assert.deepEqual(plain.layers, polite.layers)
  const { config } = JSON.parse(inArchive('shared.tar', blob(polite.config.digest)).toString())
  assert.deepEqual([config.Cmd, config.User], [['--please'], '65532:65532'])
})

test('writeRoot writes the same files with the same modes', async () => {
  await writeRoot(archive('').files, join(dir, 'root'))
  const listing = execFileSync('find', [join(dir, 'root'), '-type', 'f', '-printf', '%P %m\n']).toString()
  assert.deepEqual(listing.trim().split('\n').sort(), ['etc/passwd 644', 'usr/bin/greet 755'])
})
