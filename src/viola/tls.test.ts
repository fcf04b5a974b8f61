/** Server and client certificates over real connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { Agent, request } from 'undici'
import { stringify } from 'yaml'
import { type Authority, certificateAuthority, type Pair } from '../../test/rigs/kubernetes/certificates.ts'
import { grant, rules } from '../../test/support/access.ts'
import { eventually } from '../../test/support/eventually.ts'
import { servedName } from '../../test/support/served-name.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../test/support/viola.ts'
import { violaPath } from '../contract/viola.ts'
import { certificateOf } from '../server/client-certificate.ts'
import { listen } from '../server/server.ts'
import { createLog } from '../telemetry/log.ts'

let biz: TargetCluster
let authority: Authority
let viola: Viola
let url: string
let files: Pair
let env: Record<string, string>
const lines: string[] = []
const token = 'a-token-of-provider-p1'
const serving = { subjectAltName: 'IP:127.0.0.1', extendedKeyUsage: 'serverAuth' }
const client = { extendedKeyUsage: 'clientAuth' }

before(async () => {
  biz = await startTargetCluster()
  const [ours, theirs] = [join(biz.dir, 'ours'), join(biz.dir, 'theirs')]
  await Promise.all([ours, theirs].map(dir => mkdir(dir)))
  authority = await certificateAuthority(ours)
  files = await authority.issue('served', '/CN=viola-api', serving)
  const tokens = [{ user: 'with-token', groups: ['network-team'], token }]
  await grant(biz.kube, 'team-1', [rules.writeProvider('p1')])
  await grant(biz.kube, 'network-team', [rules.writeProvider()], undefined, 'Group')
  const tokensFile = join(biz.dir, 'tokens.yaml')
  writeFileSync(tokensFile, stringify({ tokens }))
  env = {
    KUBECONFIG: biz.api.kubeconfig,
    VIOLA_TLS_CERT_FILE: files.cert,
    VIOLA_TLS_KEY_FILE: files.key,
    VIOLA_CLIENT_CA_FILE: authority.cert,
    VIOLA_TOKENS_FILE: tokensFile,
    VIOLA_ANONYMOUS_ACCESS: 'false',
  }
  viola = await aViola(env, createLog({}, { write: line => lines.push(line) }))
  url = await listen(viola.app, '127.0.0.1:0')
})
after(async () => {
  await viola?.close()
  await biz.close()
})

interface RequestOptions {
  as?: Pair
  provider?: string
  headers?: Record<string, string>
  path?: string
}

async function ask({ as, provider = 'p1', headers = {}, path = violaPath }: RequestOptions, nodes?: object[]) {
  const shown = as && { cert: readFileSync(as.cert), key: readFileSync(as.key) }
  const dispatcher = new Agent({ connect: { ca: readFileSync(authority.cert), ...shown } })
  try {
    const answer = await request(`${url}${path}`, {
      method: nodes ? 'POST' : 'GET',
      headers: { 'x-provider-id': provider, ...headers },
      ...(nodes && { body: JSON.stringify(nodes) }),
      dispatcher,
    })
    return { status: answer.statusCode, body: await answer.body.text() }
  } finally {
    await dispatcher.close()
  }
}

test('the common name of a client certificate is the user, and its organizations are the groups', async () => {
  assert.match(url, /^https:/)
  const team = await authority.issue('team-1', '/O=biz/CN=team-1', client)
  assert.equal((await ask({ as: team }, [aNodeOf('by-certificate')])).status, 200)
  const foreign = await ask({ as: team, provider: 'p2' }, [aNodeOf('foreign')])
  assert.equal(foreign.status, 403)
  assert.match(foreign.body, /team-1 may not update providers\.multinic\.io p2/)

  const member = await authority.issue('member', '/O=biz/O=network-team/CN=member', client)
  assert.equal((await ask({ as: member, provider: 'p2' }, [aNodeOf('by-group')])).status, 200)
  const audit = lines.filter(line => line.includes('node configs created')).map(line => JSON.parse(line))
  assert.deepEqual(
    audit.map(({ caller, provider, nodes }) => [caller, provider, nodes]),
    [
      ['team-1', 'p1', ['by-certificate']],
      ['member', 'p2', ['by-group']],
    ],
  )
})

test('a certificate of a user without rights has no access', async () => {
  const stranger = await authority.issue('stranger', '/CN=stranger', client)
  const answer = await ask({ as: stranger })
  assert.equal(answer.status, 403)
  assert.match(answer.body, /stranger may not get providers\.multinic\.io p1/)
})

test('no other name of a certificate counts, and neither do several common names', async () => {
  const named = await authority.issue('named', '/CN=named', { ...client, subjectAltName: 'DNS:team-1' })
  assert.equal((await ask({ as: named })).status, 403)
  const comma = await authority.issue('comma', '/CN=x, O=network-team', client)
  assert.equal((await ask({ as: comma })).status, 403)
  for (const [file, subject] of Object.entries({ several: '/CN=team-1/CN=other', none: '/O=network-team' })) {
    const answer = await ask({ as: await authority.issue(file, subject, client) })
    assert.equal(answer.status, 401)
    assert.match(answer.body, /it needs exactly one common name/)
  }
})

test('a certificate of another CA is refused even with a known name', async () => {
  const other = await certificateAuthority(join(biz.dir, 'theirs'))
  const answer = await ask({ as: await other.issue('team-1', '/CN=team-1', client) })
  assert.equal(answer.status, 401)
  assert.match(answer.body, /client certificate not trusted/)
  const forServers = await authority.issue('not-for-clients', '/CN=team-1', serving)
  assert.equal((await ask({ as: forServers })).status, 401)
})

test('without a certificate a token is required, and probes need neither', async () => {
  const nothing = await ask({})
  assert.equal(nothing.status, 401)
  assert.match(nothing.body, /a bearer token or a client certificate is required/)
  assert.equal((await ask({ headers: { authorization: `Bearer ${token}` } })).status, 200)
  assert.equal((await ask({ path: '/healthz' })).status, 200)
  assert.equal((await ask({ path: '/readyz' })).status, 200)
})

test('a renewed certificate applies to the next connection; a certificate without its key is reported, and the old one stays in effect', async () => {
  const renewed = await authority.issue('renewed', '/CN=viola-api-renewed', serving)
  copyFileSync(renewed.cert, files.cert)
  await eventually(async () => {
    assert.match((await ask({ path: '/readyz' })).body, /certificates: .*the previous ones stay in effect/)
  })
  assert.equal(await servedName(url, readFileSync(authority.cert)), 'viola-api')
  copyFileSync(renewed.key, files.key)
  await eventually(async () => assert.equal(await servedName(url, readFileSync(authority.cert)), 'viola-api-renewed'))
  assert.doesNotMatch((await ask({ path: '/readyz' })).body, /certificates:/)
})

test('a client CA that is taken away also ends the connections and the sessions that it admitted', async () => {
  const ca = join(biz.dir, 'client-ca.crt')
  copyFileSync(authority.cert, ca)
  const own = await aViola({ ...env, VIOLA_CLIENT_CA_FILE: ca })
  const { port } = new URL(await listen(own.app, '127.0.0.1:0'))
  const team = await authority.issue('team-before', '/CN=team-1', client)
  const shown = { ca: readFileSync(authority.cert), cert: readFileSync(team.cert), key: readFileSync(team.key) }
  const open = async (session?: Buffer) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), ...shown, ...(session && { session }) })
    await once(socket, 'secureConnect')
    return socket.setEncoding('utf8')
  }
  const statusOn = async (socket: TLSSocket): Promise<string> => {
    if (socket.closed) return 'closed'
    socket.write(`GET ${violaPath} HTTP/1.1\r\nhost: x\r\nx-provider-id: p1\r\n\r\n`)
    const [text] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => ['closed'])])
    return String(text).split('\r\n', 1)[0] ?? ''
  }
  const before = await open()
  const [[session]] = await Promise.all([once(before, 'session'), statusOn(before)])
  assert.equal(await statusOn(before), 'HTTP/1.1 200 OK')
  const theirs = await certificateAuthority(join(biz.dir, 'theirs'))
  copyFileSync(theirs.cert, ca)
  await eventually(async () => assert.match(await statusOn(await open()), / 401 /))
  assert.equal(await statusOn(before).catch(() => 'closed'), 'closed')
  assert.match(await statusOn(await open(session)), / 401 /)
  await own.close()
})

test('a client certificate that expires during a connection is refused from then on', async () => {
  const team = await authority.issue('team-later', '/CN=team-1', client, 1)
  const server = createServer({
    cert: readFileSync(files.cert),
    key: readFileSync(files.key),
    ca: readFileSync(authority.cert),
    requestCert: true,
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const shown = { ca: readFileSync(authority.cert), cert: readFileSync(team.cert), key: readFileSync(team.key) }
  const socket = connect({ host: '127.0.0.1', port, ...shown })
  const [seen] = (await once(server, 'secureConnection')) as [TLSSocket]
  assert.equal(certificateOf(seen)?.trusted, true)
  const tomorrow = Date.now() + 25 * 3_600_000
  assert.deepEqual(certificateOf(seen, tomorrow), { trusted: false, why: 'it has expired' })
  socket.destroy()
  server.close()
})

const invalid: Record<string, [env: Record<string, string>, error: RegExp]> = {
  'a certificate without its key': [{ VIOLA_TLS_CERT_FILE: 'a' }, /VIOLA_TLS_CERT_FILE: requires VIOLA_TLS_KEY_FILE/],
  'a missing certificate': [
    { VIOLA_TLS_CERT_FILE: 'none.crt', VIOLA_TLS_KEY_FILE: 'none.key' },
    /VIOLA_TLS_CERT_FILE: none\.crt: /,
  ],
}
for (const [name, [env, error]] of Object.entries(invalid))
  test(`${name} is a startup error`, () => assert.rejects(aViola({ KUBECONFIG: biz.api.kubeconfig, ...env }), error))
