/**
 * Sign-in by an identity provider, as the guide on access describes it: the real oauth2-proxy runs with the configuration of
 * the guide, and a real kube-apiserver decides with the ClusterRole of the guide.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { blocksIn } from '../../test/docs/blocks.ts'
import { type ControlPlane, startControlPlane } from '../../test/rigs/kubernetes/rig.ts'
import {
  type IdentityProvider,
  type OAuth2Proxy,
  startIdentityProvider,
  startOAuth2Proxy,
} from '../../test/rigs/oauth2-proxy/rig.ts'
import { silent } from '../telemetry/log.ts'
import { type RunningInventory, startInventory } from './main.ts'

const url = 'http://127.0.0.1:4180'
/** The address of users in the guide. */
const publicUrl = 'https://multinic.example.com'
const tokenOf = (user: string) => `the-token-of-${user}`
const reads = '/v1/interfaces/providers'

let dir: string
let cluster: ControlPlane
let inventory: RunningInventory
let identities: IdentityProvider
let proxy: OAuth2Proxy

/** The example of the guide that begins with this line, with the addresses and the directory of this test. */
function example(start: string): string {
  const block = blocksIn('docs/guides/access.md').find(({ text }) => text.includes(start))
  const places: Record<string, string> = {
    'https://sso.example.com': identities.url,
    'https://multinic-inventory.multinic-system:18081': inventory.url,
    '/etc/oauth2-proxy': dir,
  }
  return Object.entries(places).reduce(
    (text, [from, to]) => text.replaceAll(from, to),
    block?.text ?? assert.fail(`no example with ${start}`),
  )
}

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-oauth2-proxy-'))
  const file = async (name: string, text: string) => {
    await writeFile(join(dir, name), text, { mode: 0o600 })
    return join(dir, name)
  }
  cluster = await startControlPlane()
  const { cert, key } = await cluster.authority.issue('inventory', '/CN=inventory', {
    subjectAltName: 'IP:127.0.0.1',
    extendedKeyUsage: 'serverAuth',
  })
  const tokens = ['dashboard-proxy', 'stranger'].map(user => ({ user, token: tokenOf(user) }))
  inventory = await startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      INVENTORY_TOKENS_FILE: await file('tokens.yaml', stringify({ tokens })),
      INVENTORY_TLS_CERT_FILE: cert,
      INVENTORY_TLS_KEY_FILE: key,
      KUBECONFIG: cluster.kubeconfig,
    },
    log: silent,
  })
  identities = await startIdentityProvider()
  const kubectl = (args: string, input?: string) => cluster.exec('kubectl', args.split(' '), input ? { input } : {})
  await kubectl('apply -f -', example('name: multinic-dashboard-proxy'))
  const bind = 'create clusterrolebinding'
  await kubectl(`${bind} proxy --clusterrole multinic-dashboard-proxy --user dashboard-proxy`)
  await kubectl('apply -f -', stringify(reader))
  await kubectl(`${bind} network-team --clusterrole multinic-reader --group network-team`)
  await file('multinic', `Bearer ${tokenOf('dashboard-proxy')}`)
  await file('client-secret', 'a-secret-of-the-client')
  await file('cookie-secret', randomBytes(16).toString('hex'))
  proxy = await startOAuth2Proxy({
    url,
    config: await file('oauth2-proxy.cfg', example('# oauth2-proxy.cfg')),
    alphaConfig: await file('alpha.yaml', example('# alpha.yaml')),
    dir,
    ca: cluster.authority.cert,
  })
})
after(async () => {
  await proxy?.close()
  await identities?.close()
  await inventory?.close()
  await cluster?.close()
  await rm(dir, { recursive: true, force: true })
})

const reader = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'multinic-reader' },
  rules: [{ apiGroups: ['multinic.io'], resources: ['multinicnodeconfigs'], verbs: ['get', 'list'] }],
}

/** A client that sends any header. */
async function get(path: string, headers: Record<string, string | string[]> = {}, from = url) {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    (from.startsWith('https:') ? requestTls : request)(
      `${from}${path}`,
      { headers, agent: false, ca: readFileSync(cluster.authority.cert) },
      resolve,
    )
      .on('error', reject)
      .end(),
  )
  return { status: response.statusCode, headers: response.headers, text: await textOf(response) }
}

/** Follows the redirects of a sign-in like a browser. Returns the cookie of the proxy. */
async function signIn(claims: Record<string, unknown>): Promise<{ cookie: string }> {
  identities.claims = { sub: 'user-1', email_verified: true, ...claims }
  const cookies = new Map<string, string>()
  let next = '/oauth2/start?rd=/'
  for (let hops = 0; hops < 5 && next !== '/'; hops++) {
    const [path, from] = next.startsWith(identities.url) ? [next.slice(identities.url.length), identities.url] : [next]
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { headers, status, text } = await get(path, cookie ? { cookie } : {}, from)
    assert.equal(status, 302, `${next}: ${status} ${text.slice(0, 300)}`)
    for (const line of [headers['set-cookie'] ?? []].flat()) {
      assert.match(line, /; HttpOnly; Secure; SameSite=Lax/)
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value) cookies.set(name, value)
      else cookies.delete(name)
    }
    next = String(headers.location).replace(publicUrl, '')
  }
  const [, session] = [...cookies].find(([name]) => name === '_oauth2_proxy') ?? []
  return { cookie: `_oauth2_proxy=${session ?? assert.fail('no session')}` }
}

const jane = { email: 'jane@example.com', groups: ['visitors', 'network-team'] }
const joe = { email: 'joe@example.com', groups: [] }

test('a user signs in and has the rights of its groups in the cluster', async () => {
  const session = await signIn({ ...jane, groups: ['network-team'] })
  assert.deepEqual(await get('/v1/session', session).then(({ text }) => JSON.parse(text)), { user: jane.email })
  assert.equal((await get(reads, session)).status, 200)
  assert.match((await get('/', session)).text, /<title>MultiNIC/)
})

test('a user without rights, or with a group that the proxy may not name, reads nothing', async () => {
  for (const groups of [[], ['visitors'], ['system:masters'], ['network-team', 'system:masters']]) {
    const { status, text } = await get(reads, await signIn({ ...joe, groups }))
    assert.equal(status, 403, `${groups} ${text}`)
  }
})

test('nobody passes the proxy without signing in, whatever the request names', async () => {
  for (const headers of [
    {},
    { authorization: `Bearer ${tokenOf('dashboard-proxy')}` },
    { 'impersonate-user': jane.email, 'impersonate-group': 'network-team' },
    { cookie: '_oauth2_proxy=forged' },
    { 'x-forwarded-user': jane.email, 'x-forwarded-email': jane.email, 'x-forwarded-groups': 'network-team' },
  ])
    assert.notEqual((await get(reads, headers)).status, 200, JSON.stringify(headers))
})

test('headers of a user do not change who it is behind the proxy', async () => {
  const session = await signIn(joe)
  for (const headers of [
    { 'impersonate-user': jane.email, 'impersonate-group': 'network-team' },
    { Impersonate_User: jane.email, Impersonate_Group: 'network-team' },
    { 'impersonate-group': ['network-team', 'visitors'] },
    { authorization: `Bearer ${tokenOf('stranger')}` },
    { cookie: `${session.cookie}; __Host-multinic=${tokenOf('dashboard-proxy')}` },
  ]) {
    const { text } = await get('/v1/session', { ...session, ...headers })
    assert.deepEqual(JSON.parse(text), { user: joe.email }, JSON.stringify(headers))
    assert.equal((await get(reads, { ...session, ...headers })).status, 403, JSON.stringify(headers))
  }
})

/** RFC 9110 lets a sender name headers of this connection only, and a proxy removes them after it has added its own. */
test('a user that makes the proxy drop the name of the user gets no right of the proxy', async () => {
  const session = await signIn(joe)
  for (const names of [
    'impersonate-user, impersonate-group',
    'authorization',
    'impersonate-user',
    'impersonate-group',
  ]) {
    const { status, text } = await get(reads, { ...session, connection: `close, ${names}` })
    assert.ok([400, 401, 403].includes(status ?? 0), `${names}: ${status} ${text}`)
  }
})

test('without the proxy the same headers are refused', async () => {
  const named = { 'impersonate-user': jane.email, 'impersonate-group': 'network-team' }
  assert.equal((await get(reads, named, inventory.url)).status, 401)
  const stranger = { authorization: `Bearer ${tokenOf('stranger')}` }
  assert.equal((await get(reads, { ...stranger, ...named }, inventory.url)).status, 403)
})
