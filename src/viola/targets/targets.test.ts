import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { eventually } from '../../../test/support/eventually.ts'
import { startTargetCluster, type TargetCluster } from '../../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../../test/support/viola.ts'
import { nodeConfigs } from '../../contract/node-config.ts'
import { violaPostAnswer } from '../../contract/viola.ts'
import { secrets } from '../../kube/resources.ts'
import { createLog } from '../../telemetry/log.ts'

let dir: string
let one: TargetCluster
let two: TargetCluster

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-viola-'))
  one = await startTargetCluster()
  two = await startTargetCluster({ namespace: 'second' })
})
after(async () => {
  await one.close()
  await two.close()
  await rm(dir, { recursive: true })
})

let files = 0
function routingFile(content: object | string): string {
  const path = join(dir, `routing-${files++}.yaml`)
  writeFileSync(path, typeof content === 'string' ? content : stringify(content))
  return path
}

async function using(env: Record<string, string>, work: (viola: Viola) => Promise<void>): Promise<void> {
  const viola = await aViola(env)
  try {
    await work(viola)
  } finally {
    await viola.close()
  }
}

const server = (cluster: TargetCluster) => ({ kubeApiServer: cluster.api.url, kubeCaPath: cluster.api.caFile })

test('each provider has its own cluster and namespace', async () => {
  const ROUTING_CONFIG = routingFile({
    strict: true,
    targets: [
      { providerId: 'first', kubeconfig: one.api.kubeconfig },
      { providerId: 'second', namespace: 'second', ...server(two), kubeToken: two.api.token },
    ],
  })
  await using({ ROUTING_CONFIG }, async viola => {
    assert.equal((await viola.post([aNodeOf('here')], { provider: 'first' })).status, 200)
    assert.equal((await viola.post([aNodeOf('there')], { provider: 'second' })).status, 200)
    assert.ok(await one.kube.get(nodeConfigs, { namespace: 'multinic-system', name: 'here' }))
    assert.ok(await two.kube.get(nodeConfigs, { namespace: 'second', name: 'there' }))
    assert.equal(await one.kube.get(nodeConfigs, { namespace: 'multinic-system', name: 'there' }), undefined)

    const unknown = await viola.post([aNodeOf('nowhere')], { provider: 'third' })
    assert.equal(unknown.status, 404)
    assert.match(unknown.json.detail, /no cluster configured for provider third/)
    assert.equal((await viola.list('', { provider: 'third' })).status, 404)
    assert.equal((await viola.remove('x', { provider: 'third' })).status, 404)
  })
})

test('without a routing file the settings name the cluster', async () => {
  const env = { KUBE_API_SERVER: one.api.url, KUBE_CA_PATH: one.api.caFile, KUBE_TOKEN: one.api.token }
  await using(env, async viola => assert.equal((await viola.post([aNodeOf('by-env')])).status, 200))
})

test('a rotated token file applies to the next request', async () => {
  const tokenFile = join(dir, 'rotating.token')
  writeFileSync(tokenFile, 'no longer valid')
  const env = { KUBE_API_SERVER: one.api.url, KUBE_CA_PATH: one.api.caFile, KUBE_TOKEN_FILE: tokenFile }
  await using(env, async viola => {
    assert.equal((await viola.post([aNodeOf('rotated')])).status, 502)
    writeFileSync(tokenFile, `${one.api.token}\n`)
    assert.equal((await viola.post([aNodeOf('rotated')])).status, 200)
  })
})

test('a new routing file applies to the next request; an invalid one is reported, and the previous one stays in effect', async () => {
  const lines: string[] = []
  const log = createLog({}, { write: line => lines.push(line) })
  const ROUTING_CONFIG = routingFile({ targets: [{ providerId: 'first', kubeconfig: one.api.kubeconfig }] })
  const viola = await aViola({ ROUTING_CONFIG }, log)
  try {
    assert.equal((await viola.list('', { provider: 'second' })).status, 404)
    const targets = [
      { providerId: 'first', kubeconfig: one.api.kubeconfig },
      { providerId: 'second', kubeconfig: two.api.kubeconfig, namespace: 'second' },
    ]
    writeFileSync(ROUTING_CONFIG, stringify({ targets }))
    assert.equal((await viola.list('', { provider: 'second' })).status, 200)

    writeFileSync(ROUTING_CONFIG, 'targets: [{ providerId: second, kubeToken: s3cret, kubeApiServer: nonsense }]')
    assert.equal((await viola.list('', { provider: 'first' })).status, 200)
    const ready = await viola.ask('GET', '/readyz')
    assert.equal(ready.status, 200)
    assert.match(ready.json.warnings.join('\n'), /routing: .*targets\[0\]\.kubeApiServer.*stays in effect/)
    assert.match((await viola.ask('GET', '/metrics')).body, /^multinic_viola_routing_invalid 1$/m)
    const errors = lines.filter(line => line.includes('cannot use file'))
    // Twice if the file was read while it was written and still empty.
    assert.ok(errors.length === 1 || errors.length === 2, errors.join(''))
    assert.doesNotMatch(lines.join(''), /s3cret/)

    writeFileSync(ROUTING_CONFIG, '')
    assert.equal((await viola.list('', { provider: 'first' })).status, 200)
    assert.match((await viola.ask('GET', '/readyz')).json.warnings.join('\n'), /routing: .*is empty/)

    writeFileSync(ROUTING_CONFIG, stringify({ targets: targets.slice(1) }))
    await eventually(async () => assert.equal((await viola.list('', { provider: 'first' })).status, 404))
    assert.doesNotMatch((await viola.ask('GET', '/readyz')).body, /routing:/)
  } finally {
    await viola.close()
  }
})

test('a request in progress finishes in its cluster even if the routing changes', async () => {
  const ROUTING_CONFIG = routingFile({ targets: [{ providerId: 'p1', kubeconfig: one.api.kubeconfig }] })
  await using({ ROUTING_CONFIG, VIOLA_PARALLEL: '2' }, async viola => {
    const nodes = Array.from({ length: 100 }, (_, i) => aNodeOf(`in-progress-${i}`, 2))
    const posted = viola.post(nodes)
    const there = async () =>
      (await one.kube.list(nodeConfigs)).items.filter(({ spec }) => spec.nodeName.startsWith('in-progress'))
    await eventually(async () => assert.ok((await there()).length > 0), { every: 1 })
    writeFileSync(ROUTING_CONFIG, stringify({ targets: [{ providerId: 'p2', kubeconfig: one.api.kubeconfig }] }))
    await eventually(async () => assert.equal((await viola.list()).status, 404))
    const answer = await posted
    assert.equal(answer.status, 200)
    assert.equal(answer.json.applied, 100)
    assert.equal((await there()).length, 100)
  })
})

test('an invalid routing file is a startup error', async () => {
  await assert.rejects(aViola({ ROUTING_CONFIG: routingFile('strict: maybe') }), /routing-.*\.yaml: strict: /)
})

test('a replaced kubeconfig is read again', async () => {
  const kubeconfig = join(dir, 'exchanged.kubeconfig')
  copyFileSync(one.api.kubeconfig, kubeconfig)
  const ROUTING_CONFIG = routingFile({ default: { kubeconfig, namespace: 'second' } })
  await using({ ROUTING_CONFIG }, async viola => {
    assert.equal((await viola.list()).status, 200)
    copyFileSync(two.api.kubeconfig, kubeconfig)
    assert.equal((await viola.post([aNodeOf('exchanged')])).status, 200)
    assert.ok(await two.kube.get(nodeConfigs, { namespace: 'second', name: 'exchanged' }))
  })
})

test('a changed kubeconfig Secret is read again, and a missing one is reported', async () => {
  const targets = [{ providerId: 'p1', namespace: 'second', kubeconfigSecret: 'biz-access', context: 'biz' }]
  const env = { ROUTING_CONFIG: routingFile({ targets }), KUBECONFIG: one.api.kubeconfig }
  const metadata = { name: 'biz-access', namespace: 'multinic-system' }
  const put = (data: Record<string, string>) => one.kube.apply(secrets, { metadata, data }, { fieldManager: 'test' })
  const kubeconfigOf = (cluster: TargetCluster) => readFileSync(cluster.api.kubeconfig).toString('base64')
  await using(env, async viola => {
    const missing = await viola.post([aNodeOf('by-secret')])
    assert.equal(missing.status, 502)
    assert.match(missing.json.detail, /Secret multinic-system\/biz-access: not found/)
    assert.match((await viola.ask('GET', '/readyz')).json.warnings.join('\n'), /target p1: Secret multinic-system/)

    await put({ other: '' })
    assert.match((await viola.list()).json.detail, /biz-access: has no key kubeconfig or value/)
    await put({ value: kubeconfigOf(one) })
    await eventually(async () => assert.equal((await viola.list()).status, 200))
    await put({ value: kubeconfigOf(two) })
    await eventually(async () => {
      assert.equal((await viola.post([aNodeOf('by-secret')])).status, 200)
      assert.ok(await two.kube.get(nodeConfigs, { namespace: 'second', name: 'by-secret' }))
    })
  })
})

test('a target with mode ssh is refused with an alternative', async () => {
  const ROUTING_CONFIG = routingFile({ targets: [{ providerId: 'old', mode: 'ssh', sshHost: 'h' }] })
  await using({ ROUTING_CONFIG }, async viola => {
    const answer = await viola.post([aNodeOf('a')], { provider: 'old' })
    assert.equal(answer.status, 502)
    assert.match(answer.json.detail, /mode ssh is not supported: set kubeconfig/)
    assert.match((await viola.ask('GET', '/readyz')).json.warnings.join('\n'), /target old: mode ssh/)
  })
})

test('a refusal of the cluster is a 502 with its message', async () => {
  const env = { KUBE_API_SERVER: one.api.url, KUBE_CA_PATH: one.api.caFile, KUBE_TOKEN: 'wrong-token' }
  await using(env, async viola => {
    const answer = await viola.post([aNodeOf('a')])
    assert.equal(answer.status, 502)
    assert.match(answer.json.detail, /Unauthorized/)
    assert.doesNotMatch(answer.body, /wrong-token/)
  })
})

test('a cluster that is unreachable or does not respond is a 504 and delays no other', async () => {
  const silent = createServer(() => {})
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  const port = (silent.address() as { port: number }).port
  const targets = [
    { providerId: 'away', kubeApiServer: 'https://127.0.0.1:1', kubeToken: 'none-at-all' },
    { providerId: 'silent', kubeApiServer: `https://127.0.0.1:${port}`, kubeToken: 'none-at-all' },
    { providerId: 'alive', kubeconfig: one.api.kubeconfig },
  ]
  try {
    await using({ ROUTING_CONFIG: routingFile({ targets }), KUBE_TIMEOUT: '400ms' }, async viola => {
      const slow = Promise.all([
        viola.post([aNodeOf('a')], { provider: 'away' }),
        viola.list('', { provider: 'silent' }),
      ])
      let slowDone = false
      slow.then(() => {
        slowDone = true
      })
      assert.equal((await viola.post([aNodeOf('meanwhile')], { provider: 'alive' })).status, 200)
      assert.equal(slowDone, false)
      assert.deepEqual(
        (await slow).map(({ status }) => status),
        [504, 504],
      )
      const { warnings, targets: states } = (await viola.ask('GET', '/readyz')).json
      assert.deepEqual(
        states.map(({ name, up }: { name: string; up: boolean }) => `${name} ${up}`),
        ['away false', 'silent false', 'alive true'],
      )
      assert.match(warnings.join('\n'), /target away: .*ECONNREFUSED[\s\S]*target silent: .*no response within 400 ms/)
      const metrics = (await viola.ask('GET', '/metrics')).body
      assert.match(
        metrics,
        /multinic_viola_target_up\{target="away"\} 0[\s\S]*multinic_viola_target_up\{target="alive"\} 1/,
      )
    })
  } finally {
    silent.close()
  }
})

test('if a cluster becomes unreachable during a POST, the response lists the applied nodes, and a retry applies the rest', async () => {
  const cluster = await startTargetCluster()
  const { port } = new URL(cluster.api.url)
  const nodes = Array.from({ length: 150 }, (_, i) => aNodeOf(`middle-${i}`, 3))
  await using({ KUBECONFIG: cluster.api.kubeconfig, VIOLA_PARALLEL: '2', KUBE_TIMEOUT: '2s' }, async viola => {
    await viola.list()
    const posted = viola.post(nodes)
    await eventually(async () => assert.ok((await cluster.kube.list(nodeConfigs)).items.length > 2), { every: 1 })
    await cluster.api.close()
    const answer = await posted
    assert.equal(answer.status, 504)
    const { applied, results } = violaPostAnswer.parse(answer.json)
    assert.ok(applied > 2 && applied < 150, `${applied}`)
    assert.equal(results.filter(({ action }) => action === 'created').length, applied)
    assert.equal(results.length, 150)
    assert.equal((await viola.list()).status, 504)

    const again = await startTargetCluster({ port: Number(port) })
    try {
      // Another cluster at the same address, as after a restore: the cache must not be used.
      copyFileSync(again.api.kubeconfig, cluster.api.kubeconfig)
      await eventually(async () => assert.equal((await viola.post(nodes)).json.applied, 150))
      assert.equal((await again.kube.list(nodeConfigs)).items.length, 150)
    } finally {
      await again.close()
    }
  })
  await cluster.kube.close()
  await rm(cluster.dir, { recursive: true })
})
