/** Credentials that disappear or become invalid while Viola serves requests. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { eventually } from '../../../test/support/eventually.ts'
import { startTargetCluster, type TargetCluster } from '../../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../../test/support/viola.ts'
import { nodeConfigs } from '../../contract/node-config.ts'
import { secrets } from '../../kube/resources.ts'
import { createLog } from '../../telemetry/log.ts'

let dir: string
let biz: TargetCluster
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-target-credentials-'))
  biz = await startTargetCluster()
})
after(async () => {
  await biz.close()
  await rm(dir, { recursive: true })
})

const file = (name: string) => join(dir, name)
const warningsOf = async (viola: Viola) => (await viola.ask('GET', '/readyz')).json.warnings.join('\n')
const isBroken = async (viola: Viola, target: string) =>
  new RegExp(`^multinic_viola_target_credentials_invalid\\{target="${target}"\\} 1$`, 'm').test(
    (await viola.ask('GET', '/metrics')).body,
  )

/** Runs Viola with this routing, and collects its log lines. */
async function routed(routing: object, work: (viola: Viola, lines: string[], path: string) => Promise<void>) {
  const path = file('routing.yaml')
  writeFileSync(path, stringify(routing))
  const lines: string[] = []
  const viola = await aViola({ ROUTING_CONFIG: path }, createLog({}, { write: line => lines.push(line) }))
  try {
    await work(viola, lines, path)
  } finally {
    await viola.close()
  }
}

const server = () => ({ providerId: 'p1', kubeApiServer: biz.api.url })
const sources: Record<string, [lost: string, put: () => void, target: () => object]> = {
  'a kubeconfig': [
    'lost.kubeconfig',
    () => copyFileSync(biz.api.kubeconfig, file('lost.kubeconfig')),
    () => ({ providerId: 'p1', kubeconfig: 'lost.kubeconfig' }),
  ],
  'a CA': [
    'lost.crt',
    () => copyFileSync(biz.api.caFile, file('lost.crt')),
    () => ({ ...server(), kubeCaPath: 'lost.crt', kubeToken: biz.api.token }),
  ],
  'a token': [
    'lost.token',
    () => writeFileSync(file('lost.token'), biz.api.token),
    () => ({ ...server(), kubeCaPath: biz.api.caFile, kubeTokenFile: 'lost.token' }),
  ],
}

for (const [name, [lost, put, target]] of Object.entries(sources)) {
  test(`after the loss of ${name} the previous credentials stay in effect, with a warning until it is back`, async () => {
    put()
    await routed({ targets: [target()] }, async (viola, lines) => {
      assert.equal((await viola.post([aNodeOf('before')])).status, 200)
      rmSync(file(lost))
      for (let i = 0; i < 3; i++) assert.equal((await viola.post([aNodeOf('after-loss', i)])).status, 200)
      assert.match(await warningsOf(viola), /^target p1: .*ENOENT.*; the previous credentials stay in effect$/m)
      assert.equal(await isBroken(viola, 'p1'), true)
      // Twice if a read began before the loss and ended after the next one.
      const errors = lines.filter(line => line.includes('cannot use credentials'))
      assert.ok(errors.length === 1 || errors.length === 2, errors.join(''))
      put()
      await eventually(async () => assert.doesNotMatch(await warningsOf(viola), /target p1/))
      assert.equal(await isBroken(viola, 'p1'), false)
      assert.ok(!lines.join('').includes(biz.api.token))
    })
  })
}

test('an invalid certificate is reported before it is used', async () => {
  copyFileSync(biz.api.kubeconfig, file('good.kubeconfig'))
  await routed({ targets: [{ providerId: 'p1', kubeconfig: 'good.kubeconfig' }] }, async viola => {
    assert.equal((await viola.list()).status, 200)
    const broken = parse(readFileSync(biz.api.kubeconfig, 'utf8'))
    const pem = '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n'
    broken.clusters[0].cluster = {
      server: biz.api.url,
      'certificate-authority-data': Buffer.from(pem).toString('base64'),
    }
    writeFileSync(file('good.kubeconfig'), stringify(broken))
    assert.equal((await viola.list()).status, 200)
    assert.match(await warningsOf(viola), /target p1: certificates of the cluster: .*stay in effect/)
  })
})

test('without previous credentials the response and /readyz say what is missing', async () => {
  await routed({ targets: [{ providerId: 'p1', kubeconfig: 'never.kubeconfig' }] }, async viola => {
    const answer = await viola.list()
    assert.equal(answer.status, 502)
    assert.match(answer.json.detail, /never\.kubeconfig: .*ENOENT/)
    assert.match(await warningsOf(viola), /^target p1: .*never\.kubeconfig: .*ENOENT(?!.*in effect)/m)
    copyFileSync(biz.api.kubeconfig, file('never.kubeconfig'))
    assert.equal((await viola.list()).status, 200)
  })
})

test('a new routing with a missing file keeps the credentials of that target and applies the others', async () => {
  const old = { providerId: 'p1', kubeconfig: biz.api.kubeconfig }
  await routed({ targets: [old] }, async (viola, _lines, path) => {
    assert.equal((await viola.list()).status, 200)
    const added = { providerId: 'p2', kubeconfig: biz.api.kubeconfig }
    writeFileSync(path, stringify({ targets: [{ ...old, kubeconfig: 'not-yet.kubeconfig' }, added] }))
    assert.equal((await viola.post([aNodeOf('rerouted')], { provider: 'p2' })).status, 200)
    assert.equal((await viola.list()).status, 200)
    assert.match(await warningsOf(viola), /target p1: .*not-yet\.kubeconfig: .*stay in effect/)
    writeFileSync(path, stringify({ targets: [added] }))
    await eventually(async () => assert.equal((await viola.list()).status, 404))
    assert.doesNotMatch((await viola.ask('GET', '/metrics')).body, /target="p1"/)
  })
})

test('a rotated token applies without a new connection to the cluster', async () => {
  writeFileSync(file('rotating.token'), biz.api.token)
  const target = { ...server(), kubeCaPath: biz.api.caFile, kubeTokenFile: 'rotating.token' }
  await routed({ targets: [target] }, async viola => {
    await viola.post([aNodeOf('rotating')])
    const seen = await viola.list()
    writeFileSync(file('rotating.token'), 'revoked')
    // The cache of the watch still serves reads; writes are refused.
    assert.deepEqual((await viola.list()).json, seen.json)
    assert.equal((await viola.post([aNodeOf('rotating', 2)])).status, 502)
    writeFileSync(file('rotating.token'), biz.api.token)
    assert.equal((await viola.post([aNodeOf('rotating', 2)])).status, 200)
  })
})

test('files that a kubeconfig refers to are read again too', async () => {
  const [kubeconfig, tokenFile] = [file('named.kubeconfig'), file('named.token')]
  const text = parse(readFileSync(biz.api.kubeconfig, 'utf8'))
  text.users[0].user = { tokenFile }
  text.clusters[0].cluster = { server: biz.api.url, 'certificate-authority': file('named.crt') }
  writeFileSync(kubeconfig, stringify(text))
  writeFileSync(tokenFile, biz.api.token)
  copyFileSync(biz.api.caFile, file('named.crt'))
  await routed({ targets: [{ providerId: 'p1', kubeconfig }] }, async viola => {
    assert.equal((await viola.list()).status, 200)
    rmSync(file('named.crt'))
    await eventually(async () => assert.match(await warningsOf(viola), /target p1: .*certificate-authority.*ENOENT/))
    assert.equal((await viola.list()).status, 200)
  })
})

test('after the deletion of its Secret the previous kubeconfig stays in effect, with a warning', async () => {
  const metadata = { name: 'lost-access', namespace: 'multinic-system' }
  const data = { kubeconfig: readFileSync(biz.api.kubeconfig).toString('base64') }
  await biz.kube.apply(secrets, { metadata, data }, { fieldManager: 'test' })
  const path = file('by-secret.yaml')
  writeFileSync(path, stringify({ targets: [{ providerId: 'p1', kubeconfigSecret: metadata.name }] }))
  const viola = await aViola({ ROUTING_CONFIG: path, KUBECONFIG: biz.api.kubeconfig })
  try {
    assert.equal((await viola.list()).status, 200)
    await biz.kube.delete(secrets, metadata)
    const warning = /target p1: Secret multinic-system\/lost-access: not found; the previous credentials stay in effect/
    await eventually(async () => assert.match(await warningsOf(viola), warning))
    assert.equal((await viola.post([aNodeOf('without-secret')])).status, 200)
    assert.ok(await biz.kube.get(nodeConfigs, { namespace: 'multinic-system', name: 'without-secret' }))
  } finally {
    await viola.close()
  }
})
