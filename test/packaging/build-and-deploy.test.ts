/** scripts/build-and-deploy.sh: --dry-run prints the commands, and a wrong option changes nothing. */
import assert from 'node:assert/strict'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { run } from '../rigs/process.ts'

const script = join(import.meta.dirname, '../../scripts/build-and-deploy.sh')
const deploy = (...args: string[]) => run(script, args, { check: false })

for (const type of ['dev', 'staging', 'production', 'mgmt', 'single'])
  test(`a dry run of ${type} names its values file and runs nothing`, async () => {
    const { code, stdout } = await deploy(
      '--type',
      type,
      '--dry-run',
      '--tag',
      '9.9.9',
      '--registry',
      'registry.local/net/',
    )
    assert.equal(code, 0)
    assert.match(stdout, /\$ make .* images IMAGE_TAG=9\.9\.9/)
    assert.equal(stdout.match(/\$ skopeo copy oci-archive:\S+:9\.9\.9 docker:\/\/registry\.local\/net\//g)?.length, 4)
    assert.match(stdout, new RegExp(`\\$ helm upgrade --install multinic-agent .*/values-${type}\\.yaml`))
    assert.match(stdout, /controller\.image\.tag=9\.9\.9 .*global\.imageRegistry=registry\.local\/net /)
  })

test('without --registry and --nodes, the images go to the container runtime of this machine and the kubelet pulls none', async () => {
  const { stdout } = await deploy('--type', 'dev', '--dry-run')
  assert.match(stdout, /\$ make .* images .*\$ \S+\/scripts\/images-load\.sh\n.*\$ helm /s)
  for (const component of ['controller', 'agent'])
    assert.match(stdout, new RegExp(`--set ${component}\\.image\\.pullPolicy=IfNotPresent`))
  const pushed = await deploy('--type', 'dev', '--dry-run', '--registry', 'registry.local')
  assert.doesNotMatch(pushed.stdout, /images-load|pullPolicy/)
})

const mistakes: Record<string, [args: string[], message: RegExp]> = {
  'no type': [['--dry-run'], /--type is missing: dev, staging, production, mgmt or single/],
  'a type that does not exist': [['--type', 'prod'], /--type prod: must be dev/],
  'an option that does not exist': [['--type', 'dev', '--password', 'x'], /unknown option --password/],
  'an option without its value': [['--type'], /--type needs a value/],
  'an architecture without images': [['--type', 'dev', '--arch', 'riscv64'], /no images for architecture riscv64/],
}
for (const [name, [args, message]] of Object.entries(mistakes))
  test(`${name} gives an error, and no command runs`, async () => {
    const { code, stdout, stderr } = await deploy(...args)
    assert.equal(code, 2)
    assert.match(stderr, message)
    assert.equal(stdout, '')
  })

test('--help shows every option', async () => {
  const { stdout } = await deploy('--help')
  for (const option of [
    '--type',
    '--registry',
    '--nodes',
    '--arch',
    '--tag',
    '--namespace',
    '--values',
    '--skip-build',
    '--dry-run',
  ])
    assert.ok(stdout.includes(`  ${option} `), option)
})

/** A checkout with archives, and stubs of helm, kubectl, skopeo and ssh that record their calls. */
async function checkout(t: TestContext, failing?: string, architectures = ['amd64', 'arm64']) {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-deploy-'))
  t.after(() => rm(dir, { recursive: true }))
  for (const folder of ['scripts', 'dist/images', 'bin']) await mkdir(join(dir, folder), { recursive: true })
  await copyFile(script, join(dir, 'scripts/build-and-deploy.sh'))
  await writeFile(join(dir, 'package.json'), '{\n  "name": "multinic",\n  "version": "1.2.3",\n}\n')
  for (const image of ['services', 'agent'])
    for (const arch of architectures)
      await writeFile(join(dir, `dist/images/multinic-${image}-1.2.3-${arch}.tar`), `${image} for ${arch}\n`)
  const calls = join(dir, 'calls')
  for (const name of ['helm', 'kubectl', 'skopeo', 'ssh']) {
    // The second node has another architecture.
    const input =
      name === 'ssh'
        ? '[ "$2" = uname ] && { case $1 in *n2) echo aarch64 ;; *) echo x86_64 ;; esac; exit 0; }; sed "s/^/  < /" >> "$CALLS"'
        : ''
    const end = name === failing ? 'exit 3' : 'exit 0'
    const text = `#!/bin/sh\necho "${name} $*" >> "$CALLS"\n${input}\n${end}\n`
    await writeFile(join(dir, 'bin', name), text, { mode: 0o755 })
  }
  return async (...args: string[]) => {
    const env = { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, CALLS: calls }
    const result = await run(join(dir, 'scripts/build-and-deploy.sh'), ['--skip-build', ...args], { check: false, env })
    const called = await readFile(calls, 'utf8').catch(() => '')
    return { ...result, called: called.replaceAll(dir, 'TREE').trim().split('\n') }
  }
}

test('with --nodes, every node gets the archives of its architecture before the chart is installed', async t => {
  const { code, called } = await (await checkout(t))('--type', 'production', '--nodes', 'root@n1 root@n2')
  assert.equal(code, 0)
  const loaded = (node: string, content: string) => [`ssh ${node} ctr --namespace k8s.io images import -`, content]
  assert.deepEqual(called.slice(0, 10), [
    'ssh root@n1 uname -m',
    ...loaded('root@n1', '  < services for amd64'),
    ...loaded('root@n1', '  < agent for amd64'),
    'ssh root@n2 uname -m',
    ...loaded('root@n2', '  < services for arm64'),
    ...loaded('root@n2', '  < agent for arm64'),
  ])
  assert.match(called[10] ?? '', /^helm upgrade --install multinic-agent .*values-production\.yaml .*tag=1\.2\.3/)
  assert.match(called[10] ?? '', /agent\.image\.pullPolicy=IfNotPresent/)
  assert.match(called[11] ?? '', /^kubectl label namespace multinic-system pod-security/)
})

test('with --registry, every image is pushed, and the chart pulls from that registry', async t => {
  const { code, called } = await (await checkout(t))(
    '--type',
    'staging',
    '--registry',
    'registry.local/net',
    '--arch',
    'arm64',
  )
  assert.equal(code, 0)
  assert.deepEqual(
    called
      .filter(line => line.startsWith('skopeo'))
      .map(line => line.replace(/.*-(arm64|amd64)\.tar:.* docker:/, '$1 ')),
    ['operator', 'controller', 'viola', 'agent'].map(name => `arm64 //registry.local/net/multinic-${name}:1.2.3`),
  )
  assert.match(called.find(line => line.startsWith('helm')) ?? '', /global\.imageRegistry=registry\.local\/net/)
})

for (const [failing, after] of Object.entries({ ssh: 'helm', skopeo: 'helm', helm: 'kubectl' }))
  test(`the script stops if ${failing} fails`, async t => {
    const place = failing === 'skopeo' ? ['--registry', 'registry.local'] : ['--nodes', 'n1']
    const { code, called } = await (await checkout(t, failing))('--type', 'dev', ...place)
    assert.notEqual(code, 0)
    assert.ok(called.some(line => line.startsWith(failing)))
    assert.ok(!called.some(line => line.startsWith(after)))
  })

for (const [name, place] of Object.entries({
  registry: ['--registry', 'registry.local'],
  node: ['--nodes', 'root@n2'],
}))
  test(`the chart is not installed if the archives for the ${name} are missing`, async t => {
    const { code, stderr, called } = await (await checkout(t, undefined, ['amd64']))(
      '--type',
      'dev',
      '--arch',
      'arm64',
      ...place,
    )
    assert.equal(code, 2)
    assert.match(
      stderr,
      /multinic-services-1\.2\.3-arm64\.tar does not exist: run make images ARCH=arm64 IMAGE_TAG=1\.2\.3/,
    )
    assert.ok(!called.some(line => /^(helm|skopeo)|import/.test(line)), called.join('\n'))
  })
