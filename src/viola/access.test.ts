/** Who may call Viola: by static token, Kubernetes token and RBAC of the cluster that it runs in. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { stringify } from 'yaml'
import { grant, rules } from '../../test/support/access.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../test/support/viola.ts'
import { violaPath } from '../contract/viola.ts'
import { listen } from '../server/server.ts'
import { createLog } from '../telemetry/log.ts'

let biz: TargetCluster
let viola: Viola
let tokensFile: string
const lines: string[] = []
const [mine, admin, later] = ['a-token-of-provider-p1', 'a-token-for-all-providers', 'a-token-that-comes-later']
const namespace = 'multinic-system'
const operator = `system:serviceaccount:${namespace}:operator`

before(async () => {
  biz = await startTargetCluster()
  tokensFile = join(biz.dir, 'tokens.yaml')
  const sha256 = createHash('sha256').update(admin).digest('hex')
  const tokens = [
    { user: 'team-1', token: mine },
    { user: 'root', groups: ['system:masters'], sha256 },
  ]
  writeFileSync(tokensFile, stringify({ tokens }))
  await grant(biz.kube, 'team-1', [rules.writeProvider('p1')])
  await grant(biz.kube, operator, [rules.writeProvider('p1')])
  await grant(biz.kube, 'later', [rules.writeProvider('p1')])
  for (const name of ['operator', 'somebody'])
    await biz.kube.raw('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name },
    })
  const env = { KUBECONFIG: biz.api.kubeconfig, VIOLA_TOKENS_FILE: tokensFile, VIOLA_ANONYMOUS_ACCESS: 'false' }
  viola = await aViola(env, createLog({}, { write: line => lines.push(line) }))
})
after(async () => {
  await viola.close()
  await biz.close()
})

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

async function tokenOf(account: string, ...audiences: string[]): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences } }
  return ((await biz.kube.raw('POST', path, body)).body as { status: { token: string } }).status.token
}

test('the answer to an unknown provider names the known ones that the caller may read', async () => {
  const routing = join(biz.dir, 'routing.yaml')
  const targets = ['p1', 'p2'].map(providerId => ({ providerId, kubeconfig: biz.api.kubeconfig }))
  writeFileSync(routing, stringify({ strict: true, targets }), { mode: 0o600 })
  await grant(biz.kube, 'team-1', [rules.writeProvider('mistyped')])
  const token = { VIOLA_TOKENS_FILE: tokensFile, VIOLA_ANONYMOUS_ACCESS: 'false' }
  const env = { KUBECONFIG: biz.api.kubeconfig, ROUTING_CONFIG: routing, ...token }
  const routed = await aViola(env)
  const known = async (token: string) => {
    const { status, json } = await routed.list('', { provider: 'mistyped', ...bearer(token) })
    return [status, json.detail, json.knownProviders]
  }
  try {
    const detail = 'no cluster configured for provider mistyped'
    assert.deepEqual(await known(mine), [404, detail, ['p1']])
    assert.deepEqual(await known(admin), [404, detail, ['p1', 'p2']])
  } finally {
    await routed.close()
  }
})

test('no route serves a caller without a known token', async () => {
  const missing = await viola.post([aNodeOf('a')])
  assert.equal(missing.status, 401)
  assert.equal(missing.headers['www-authenticate'], 'Bearer')
  assert.equal((await viola.post([aNodeOf('a')], bearer('an-unknown-token'))).status, 401)
  assert.equal((await viola.list()).status, 401)
  assert.equal((await viola.list('?watch=true')).status, 401)
  assert.equal((await viola.remove('a')).status, 401)
  assert.equal((await viola.ask('GET', '/healthz')).status, 200)
  assert.doesNotMatch((await viola.ask('GET', '/readyz')).json.warnings.join(), /anonymous/)
})

test('a caller may use the providers that RBAC gives it', async () => {
  assert.equal((await viola.post([aNodeOf('a')], bearer(mine))).status, 200)
  for (const refused of [
    await viola.post([aNodeOf('b')], { provider: 'p2', ...bearer(mine) }),
    await viola.remove('b', { provider: 'p2', ...bearer(mine) }),
  ]) {
    assert.equal(refused.status, 403)
    assert.match(refused.json.detail, /^team-1 may not update providers\.multinic\.io p2; bind a ClusterRole/)
  }
  assert.equal((await viola.list('', { provider: 'p2', ...bearer(mine) })).status, 403)
  assert.equal((await viola.post([aNodeOf('b')], { provider: 'p2', ...bearer(admin) })).status, 200)

  // The same VM with another provider ID, from a caller that may act only for that provider.
  const claimed = await viola.post([aNodeOf('b')], bearer(mine))
  assert.equal(claimed.status, 409)
  assert.match(claimed.json.detail, /belongs to provider p2, and the caller may not act for it/)
  assert.equal((await viola.post([aNodeOf('b')], bearer(admin))).status, 200)
  const audit = lines.filter(line => line.includes('node configs created')).map(line => JSON.parse(line))
  assert.deepEqual(
    audit.map(({ caller, provider, nodes }) => [caller, provider, nodes]),
    [
      ['team-1', 'p1', ['a']],
      ['root', 'p2', ['b']],
    ],
  )
})

test('a right to read a provider is no right to write', async () => {
  await grant(biz.kube, 'reader', [{ apiGroups: ['multinic.io'], resources: ['providers'], verbs: ['get'] }])
  const file = join(biz.dir, 'readers.yaml')
  writeFileSync(file, stringify({ tokens: [{ user: 'reader', token: 'a-token-of-the-reader' }] }))
  const other = await aViola({
    KUBECONFIG: biz.api.kubeconfig,
    VIOLA_TOKENS_FILE: file,
    VIOLA_ANONYMOUS_ACCESS: 'false',
  })
  assert.equal((await other.list('', bearer('a-token-of-the-reader'))).status, 200)
  assert.equal((await other.post([aNodeOf('c')], bearer('a-token-of-the-reader'))).status, 403)
  await other.close()
})

test('a caller without the right is refused before its body is read', async () => {
  const { status } = await viola.ask('POST', violaPath, { body: '{"broken', ...bearer('an-unknown-token') })
  assert.equal(status, 401)
  const foreign = await viola.ask('POST', violaPath, { provider: 'p2', body: '{"broken', ...bearer(mine) })
  assert.equal(foreign.status, 403)
})

test('a token of a ServiceAccount needs our audience, and has the rights of its account', async () => {
  assert.equal((await viola.list('', bearer(await tokenOf('operator', 'multinic')))).status, 200)
  assert.equal((await viola.list('', { provider: 'p2', ...bearer(await tokenOf('operator', 'multinic')) })).status, 403)
  assert.equal((await viola.list('', bearer(await tokenOf('somebody', 'multinic')))).status, 403)
  assert.equal((await viola.list('', bearer(await tokenOf('operator')))).status, 401)
  assert.equal((await viola.list('', bearer(await tokenOf('operator', 'another-service')))).status, 401)
  assert.equal((await viola.list('', bearer(biz.api.token))).status, 401)
})

test('a failed review is a 503, and the next request tries again', async () => {
  const token = await tokenOf('operator', 'multinic')
  biz.api.faults.unreachable = true
  try {
    const answer = await viola.list('', bearer(token))
    assert.equal(answer.status, 503)
    assert.match(answer.json.detail, /cannot check the caller with a TokenReview: /)
    assert.doesNotMatch(answer.body, new RegExp(token))
  } finally {
    biz.api.faults.unreachable = false
  }
  assert.equal((await viola.list('', bearer(token))).status, 200)
})

test('a changed token file applies without a restart, and a broken one is reported', async () => {
  writeFileSync(tokensFile, stringify({ tokens: [{ user: 'later', token: later }] }))
  assert.equal((await viola.list('', bearer(later))).status, 200)
  assert.equal((await viola.list('', bearer(mine))).status, 401)
  writeFileSync(tokensFile, 'tokens: [{ user: x, token: short }]')
  assert.equal((await viola.list('', bearer(later))).status, 200)
  assert.match((await viola.ask('GET', '/readyz')).json.warnings[0], /tokens: .*tokens\[0\]\.token: must have/)
  await viola.remove('a', bearer(later))
  const removal = JSON.parse(lines.find(line => line.includes('node config deleted')) ?? '{}')
  assert.deepEqual([removal.caller, removal.provider, removal.node], ['later', 'p1', 'a'])
  assert.ok(!lines.some(line => [mine, admin, later].some(token => line.includes(token))))
})

test('anonymous access is open to everyone, with a warning at startup and in /readyz', async () => {
  const started: string[] = []
  const log = createLog({}, { write: line => started.push(line) })
  const open = await aViola({ KUBECONFIG: biz.api.kubeconfig, VIOLA_ANONYMOUS_ACCESS: 'true' }, log)
  try {
    assert.equal((await open.list()).status, 200)
    assert.equal((await open.list('', bearer('a-token-for-another-service'))).status, 200)
    assert.match(started.join(''), /"level":"warn","message":"anonymous access is on.*VIOLA_ANONYMOUS_ACCESS/)
    assert.match((await open.ask('GET', '/readyz')).json.warnings[0], /anonymous access is on/)
  } finally {
    await open.close()
  }
})

test('without a cluster that knows the callers Viola does not start', async () => {
  const routing = join(biz.dir, 'routing.yaml')
  writeFileSync(routing, stringify({ default: { kubeconfig: biz.api.kubeconfig } }))
  await assert.rejects(
    aViola({ ROUTING_CONFIG: routing, VIOLA_ANONYMOUS_ACCESS: 'false' }),
    /callers are checked by the Kubernetes API, and there is none: .*set KUBECONFIG, or .*VIOLA_ANONYMOUS_ACCESS=true/,
  )
})

test('a stream of changes ends when the token of its caller is taken away', async () => {
  const file = join(biz.dir, 'temporary.yaml')
  const only = (token: string) => writeFileSync(file, stringify({ tokens: [{ user: 'team-1', token }] }))
  only(mine)
  const env = { KUBECONFIG: biz.api.kubeconfig, VIOLA_TOKENS_FILE: file, VIOLA_ANONYMOUS_ACCESS: 'false' }
  const own = await aViola(env)
  const url = await listen(own.app, '127.0.0.1:0')
  const headers = { ...bearer(mine).headers, 'x-provider-id': 'p1' }
  const { statusCode, body } = await request(`${url}${violaPath}?watch=true`, { headers })
  assert.equal(statusCode, 200)
  only('another-token-of-team-1')
  await body.text()
  await own.close()
})
