/** Credentials that go missing or break while requests come in. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { startTargetCluster, type TargetCluster } from '../../../test/support/target-cluster.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { aNodeOf, aViola, type Viola } from '../../../test/support/viola.ts'
import { nodeConfigs } from '../../contract/node-config.ts'
import { secrets } from '../../kube/resources.ts'
import { createLog } from '../../telemetry/log.ts'

let dir: string
let biz: TargetCluster
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-doors-'))
  biz = await startTargetCluster()
})
after(async () => {
  await biz.close()
  await rm(dir, { recursive: true })
})

const file = (name: string) => join(dir, name)
const warningsOf = async (viola: Viola) => (await viola.ask('GET', '/readyz')).json.warnings.join('\n')
const isBroken = async (viola: Viola, target: string) =>
  new RegExp(`^viola_target_credentials_broken\\{target="${target}"\\} 1$`, 'm').test(
    (await viola.ask('GET', '/metrics')).body,
  )

/** Viola with this routing, and what it logs. */
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
const ways: Record<string, [lost: string, put: () => void, target: () => object]> = {
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

for (const [name, [lost, put, target]] of Object.entries(ways)) {
  test(`${name} that is lost leaves the one before in force, and that is told until it is back`, async () => {
    put()
    await routed({ targets: [target()] }, async (viola, lines) => {
      assert.equal((await viola.post([aNodeOf('before')])).status, 200)
      rmSync(file(lost))
      for (let i = 0; i < 3; i++) assert.equal((await viola.post([aNodeOf('while-lost', i)])).status, 200)
      assert.match(await warningsOf(viola), /^target p1: .*ENOENT.*; the credentials before stay in force$/m)
      assert.equal(await isBroken(viola, 'p1'), true)
      // Perhaps twice: a look may begin before the loss and end after the next one.
      const said = lines.filter(line => line.includes('credentials cannot be used'))
      assert.ok(said.length === 1 || said.length === 2, said.join(''))
      put()
      await eventually(async () => assert.doesNotMatch(await warningsOf(viola), /target p1/))
      assert.equal(await isBroken(viola, 'p1'), false)
      assert.ok(!lines.join('').includes(biz.api.token))
    })
  })
}

test('what is no certificate is told before it is used', async () => {
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
    assert.match(await warningsOf(viola), /target p1: the certificates of the cluster: .*stay in force/)
  })
})

test('without a way before there is none: the answer and /readyz say what is missing', async () => {
  await routed({ targets: [{ providerId: 'p1', kubeconfig: 'never.kubeconfig' }] }, async viola => {
    const answer = await viola.list()
    assert.equal(answer.status, 502)
    assert.match(answer.json.detail, /never\.kubeconfig: .*ENOENT/)
    assert.match(await warningsOf(viola), /^target p1: .*never\.kubeconfig: .*ENOENT(?!.*in force)/m)
    copyFileSync(biz.api.kubeconfig, file('never.kubeconfig'))
    assert.equal((await viola.list()).status, 200)
  })
})

test('new routing with a file that is not there keeps that target as it was and takes the others', async () => {
  const old = { providerId: 'p1', kubeconfig: biz.api.kubeconfig }
  await routed({ targets: [old] }, async (viola, _lines, path) => {
    assert.equal((await viola.list()).status, 200)
    const added = { providerId: 'p2', kubeconfig: biz.api.kubeconfig }
    writeFileSync(path, stringify({ targets: [{ ...old, kubeconfig: 'not-yet.kubeconfig' }, added] }))
    assert.equal((await viola.post([aNodeOf('rerouted')], { provider: 'p2' })).status, 200)
    assert.equal((await viola.list()).status, 200)
    assert.match(await warningsOf(viola), /target p1: .*not-yet\.kubeconfig: .*stay in force/)
    writeFileSync(path, stringify({ targets: [added] }))
    await eventually(async () => assert.equal((await viola.list()).status, 404))
    assert.doesNotMatch((await viola.ask('GET', '/metrics')).body, /target="p1"/)
  })
})

test('a token that rotates is taken up without the cluster being read anew', async () => {
  writeFileSync(file('rotating.token'), biz.api.token)
  const target = { ...server(), kubeCaPath: biz.api.caFile, kubeTokenFile: 'rotating.token' }
  await routed({ targets: [target] }, async viola => {
    await viola.post([aNodeOf('rotating')])
    const seen = await viola.list()
    writeFileSync(file('rotating.token'), 'revoked')
    // The copy that the watch keeps is still there: reads go on, writes are refused.
    assert.deepEqual((await viola.list()).json, seen.json)
    assert.equal((await viola.post([aNodeOf('rotating', 2)])).status, 502)
    writeFileSync(file('rotating.token'), biz.api.token)
    assert.equal((await viola.post([aNodeOf('rotating', 2)])).status, 200)
  })
})

test('files that a kubeconfig names are followed too', async () => {
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

test('a Secret that is deleted leaves its kubeconfig in force, and that is told', async () => {
  const metadata = { name: 'lost-access', namespace: 'multinic-system' }
  const data = { kubeconfig: readFileSync(biz.api.kubeconfig).toString('base64') }
  await biz.kube.apply(secrets, { metadata, data }, { fieldManager: 'test' })
  const path = file('by-secret.yaml')
  writeFileSync(path, stringify({ targets: [{ providerId: 'p1', kubeconfigSecret: metadata.name }] }))
  const viola = await aViola({ ROUTING_CONFIG: path, KUBECONFIG: biz.api.kubeconfig })
  try {
    assert.equal((await viola.list()).status, 200)
    await biz.kube.delete(secrets, metadata)
    const told = /target p1: Secret multinic-system\/lost-access: there is none; the credentials before stay in force/
    await eventually(async () => assert.match(await warningsOf(viola), told))
    assert.equal((await viola.post([aNodeOf('without-secret')])).status, 200)
    assert.ok(await biz.kube.get(nodeConfigs, { namespace: 'multinic-system', name: 'without-secret' }))
  } finally {
    await viola.close()
  }
})
