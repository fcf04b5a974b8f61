/** A release: one version everywhere, reproducible files, and a CLI that runs outside the source tree. */
import assert from 'node:assert/strict'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import { changesOf, writeLightArtefacts, writeSums } from '../../scripts/release.ts'
import { environment } from '../../src/runtime/env.ts'
import { version } from '../../src/runtime/version.ts'
import { certificateAuthority } from '../rigs/kubernetes/certificates.ts'
import { type RunResult, run } from '../rigs/process.ts'
import { startClusterInventory } from '../support/cluster-inventory.ts'
import { type ControllerCluster, startControllerCluster } from '../support/controller-cluster.ts'
import { startProxy } from '../support/http-proxy.ts'
import { json, serve } from '../support/http-stub.ts'

const root = join(import.meta.dirname, '../..')
const text = (path: string) => readFile(join(root, path), 'utf8')
let dir: string
let out: string
let cli: string
let cluster: ControllerCluster

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-release-test-'))
  out = join(dir, 'first')
  await writeLightArtefacts(out)
  await writeSums(out)
  await run('tar', ['--extract', '--gzip', '--directory', dir, '--file', join(out, `multinic-cli-${version}.tgz`)])
  cli = join(dir, `multinic-cli-${version}`)
  cluster = await startControllerCluster()
})
after(async () => {
  await cluster?.close()
  await rm(dir, { recursive: true, force: true })
})

test('all files and programs have the same version', async () => {
  const chart = parse(await text('deployments/helm/Chart.yaml')) as { version: string; appVersion: string }
  const lock = JSON.parse(await text('package-lock.json')) as { version: string; packages: { '': { version: string } } }
  const printed = await run(join(root, 'bin/multinic'), ['--version'])
  const all = {
    'package.json': (JSON.parse(await text('package.json')) as { version: string }).version,
    'package-lock.json': lock.version,
    'package-lock.json, itself': lock.packages[''].version,
    'version of the chart': chart.version,
    'appVersion of the chart': chart.appVersion,
    'multinic --version': printed.stdout.trim().replace('multinic ', ''),
  }
  assert.deepEqual(all, Object.fromEntries(Object.keys(all).map(name => [name, version])))
})

test('the documents name no other version', async () => {
  const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).filter(page => page !== 'CHANGELOG.md')
  const named = await Promise.all(
    pages.map(async page =>
      [...(await text(page)).matchAll(/\bmultinic[a-z-]*[-:](\d+\.\d+\.\d+)/g)].map(([, found]) => `${page}: ${found}`),
    ),
  )
  assert.deepEqual(
    named.flat().filter(mention => !mention.endsWith(`: ${version}`)),
    [],
  )
  assert.ok(named.flat().length > 5)
})

test('the changelog begins with this version, and a version without a chapter is refused', async () => {
  assert.match(await changesOf(version), new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b[^]*\n- `))
  await assert.rejects(changesOf('9.9.9'), /write a chapter "## 9\.9\.9"/)
})

test('the same input gives the same bytes, and the checksums match', async () => {
  const again = join(dir, 'second')
  await writeLightArtefacts(again)
  await writeSums(again)
  const names = await readdir(out)
  assert.deepEqual(await readdir(again), names)
  for (const name of names)
    assert.ok((await readFile(join(out, name))).equals(await readFile(join(again, name))), `${name} differs`)
  const { stdout } = await run('sh', ['-c', 'cd "$1" && sha256sum --check SHA256SUMS', 'sh', out])
  assert.equal(stdout.match(/: OK$/gm)?.length, names.length - 1)
})

test('with the pinned Node, the CLI uses the proxy of the environment', async () => {
  await using proxy = await startProxy()
  const inventory = await serve(({ path }, response) =>
    json(response, 200, path.endsWith('/providers') ? { providers: [] } : []),
  )
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, NO_PROXY: '', MULTINIC_INVENTORY_URL: inventory.url }
  try {
    await run(process.execPath, [join(cli, 'multinic'), 'check'], { env })
    assert.deepEqual([...new Set(proxy.requests)], [new URL(inventory.url).host])
  } finally {
    await inventory.close()
  }
})

/** Node from the PATH of the machine, not the one that the project pins. */
function systemNode(): string | undefined {
  const places = (environment()['PATH'] ?? '').split(delimiter).filter(place => !place.includes('node_modules'))
  return places.map(place => join(place, 'node')).find(path => existsSync(path))
}

const nodes = new Map([['the pinned Node', process.execPath]])
const other = systemNode()
if (other) nodes.set(`Node ${(await run(other, ['--version'])).stdout.trim()} of this machine`, other)

for (const [name, node] of nodes) {
  const multinic = (...args: string[]): Promise<RunResult> =>
    run(node, [join(cli, 'multinic'), ...args], { check: false, env: { KUBECONFIG: cluster.api.kubeconfig } })

  test(`the CLI runs outside the source tree with ${name}`, async () => {
    assert.equal((await multinic('version')).stdout, `multinic ${version}\n`)
    for (const shell of ['bash', 'zsh', 'fish'])
      assert.equal(
        (await multinic('completion', shell)).stdout,
        await readFile(join(cli, 'completion', `multinic.${shell}`), 'utf8'),
      )
    const withoutInventory = await multinic('status')
    assert.equal(withoutInventory.code, 2)
    assert.match(withoutInventory.stderr, /no running inventory in the cluster .*set the URL with --inventory URL/s)
  })

  test(`the CLI connects to a cluster with ${name}`, async () => {
    const { code, stdout, stderr } = await multinic('doctor')
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /CRD multinicnodeconfigs\.multinic\.io serves v1, v1alpha1/)
  })

  test(`the CLI verifies an inventory with HTTPS with ${name}, at its URL and through the API server`, async () => {
    const authority = await certificateAuthority(dir)
    const namespace = `multinic-${[...nodes.keys()].indexOf(name)}`
    const { cert, key } = await authority.issue('inventory', '/CN=inventory', {
      subjectAltName: `IP:127.0.0.1,DNS:multinic-inventory.${namespace}`,
      extendedKeyUsage: 'serverAuth',
    })
    const inventory = await startClusterInventory({
      ...{ ...cluster, namespace, file: join(dir, `${namespace}.db`) },
      tls: { INVENTORY_TLS_CERT_FILE: cert, INVENTORY_TLS_KEY_FILE: key, INVENTORY_ANONYMOUS_ACCESS: 'true' },
    })
    const ways = { MULTINIC_INVENTORY_URL: inventory.url, MULTINIC_NAMESPACE: namespace }
    try {
      for (const [variable, value] of Object.entries(ways)) {
        const find = (...args: string[]) =>
          run(node, [join(cli, 'multinic'), 'find', 'w1', ...args], {
            ...{ check: false, env: { KUBECONFIG: cluster.api.kubeconfig, [variable]: value } },
          })
        const { code, stdout, stderr } = await find('--ca-file', authority.cert)
        assert.equal(code, 0, stderr)
        assert.match(stdout, /w1/)
        assert.match((await find()).stderr, /certificate not trusted; set its CA with --ca-file FILE/)
      }
    } finally {
      await inventory.close()
    }
  })
}
