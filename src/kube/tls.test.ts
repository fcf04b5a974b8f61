/** Server and client certificates against a real TLS server. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { makeCertificates } from '../../sandbox/kube/access/certificates.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type HttpStub, json, serve } from '../../test/support/http-stub.ts'
import { connectKube } from './client.ts'
import { type ClusterAccess, inClusterAccess, loadKubeconfig } from './config.ts'
import { isRetryable } from './errors.ts'
import { nodes } from './resources.ts'

const run = promisify(execFile)
let folder = ''
let server: HttpStub
let ca = ''
let cert = ''
let key = ''

async function issue(name: string, extension: string): Promise<{ cert: string; key: string }> {
  const at = (end: string) => join(folder, `${name}.${end}`)
  await writeFile(at('ext'), extension)
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  await run('openssl', ['req', ...curve, '-subj', `/CN=${name}`, '-keyout', at('key'), '-out', at('csr')])
  const signer = ['-CA', join(folder, 'ca.crt'), '-CAkey', join(folder, 'ca.key'), '-CAcreateserial']
  await run('openssl', [
    'x509',
    '-req',
    '-in',
    at('csr'),
    ...signer,
    '-days',
    '2',
    '-extfile',
    at('ext'),
    '-out',
    at('crt'),
  ])
  return { cert: await readFile(at('crt'), 'utf8'), key: await readFile(at('key'), 'utf8') }
}

async function selfSigned(name: string): Promise<{ cert: string; key: string }> {
  const at = (end: string) => join(folder, `${name}.${end}`)
  const self = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  await run('openssl', [...self, '-subj', `/CN=${name}`, '-keyout', at('key'), '-out', at('crt')])
  return { cert: await readFile(at('crt'), 'utf8'), key: await readFile(at('key'), 'utf8') }
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multinic-tls-'))
  ca = (await selfSigned('ca')).cert
  const served = await issue('server', 'subjectAltName=DNS:kubernetes\nextendedKeyUsage=serverAuth\n')
  const client = await issue('client', 'extendedKeyUsage=clientAuth\n')
  cert = client.cert
  key = client.key
  const tls = { ...served, ca, requestCert: true, rejectUnauthorized: false }
  server = await serve(({ socket }, response) => {
    const known = 'authorized' in socket && socket.authorized === true
    json(response, 200, { metadata: { resourceVersion: known ? 'known' : 'stranger' }, items: [] })
  }, tls)
})
after(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

async function seenAs(access: Partial<ClusterAccess>): Promise<string> {
  const kube = connectKube({ server: server.url, ...access }, { attempts: 1 })
  try {
    return (await kube.list(nodes)).resourceVersion
  } finally {
    await kube.close()
  }
}

test('the CA and the name in the certificate are verified', async () => {
  assert.equal(await seenAs({ ca, servername: 'kubernetes' }), 'stranger')
})

test('a client certificate is presented', async () => {
  assert.equal(await seenAs({ ca, servername: 'kubernetes', cert, key }), 'known')
})

test('a changed client certificate is presented from the next request on', async () => {
  const bare = connectKube({ server: server.url, ca, servername: 'kubernetes', identity: async () => shown })
  let shown: { cert: string; key: string } | undefined
  try {
    assert.equal((await bare.list(nodes)).resourceVersion, 'stranger')
    shown = { cert, key }
    assert.equal((await bare.list(nodes)).resourceVersion, 'known')
  } finally {
    await bare.close()
  }
})

test('certificates in files are read again when the files change', async () => {
  const at = (name: string) => join(folder, name)
  const write = (files: Record<string, string>) =>
    Promise.all(Object.entries(files).map(([name, text]) => writeFile(at(name), text)))
  const stranger = await selfSigned('other')
  await write({ 'files.ca': stranger.cert, 'files.crt': stranger.cert, 'files.key': stranger.key })
  const cluster = { server: server.url, 'certificate-authority': 'files.ca', 'tls-server-name': 'kubernetes' }
  await write({
    kubeconfig: JSON.stringify({
      'current-context': 'x',
      clusters: [{ name: 'x', cluster }],
      users: [{ name: 'x', user: { 'client-certificate': 'files.crt', 'client-key': 'files.key' } }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    }),
  })
  const kube = connectKube(await loadKubeconfig(at('kubeconfig')), { attempts: 1 })
  const seen = async () => (await kube.list(nodes)).resourceVersion
  try {
    await assert.rejects(seen(), /certificate/)
    await write({ 'files.ca': ca })
    await eventually(async () => assert.equal(await seen(), 'stranger'))
    await write({ 'files.crt': cert })
    await sleep(1_100)
    assert.equal(await seen(), 'stranger', 'the old pair, while only one of the two files is new')
    await write({ 'files.key': key })
    await eventually(async () => assert.equal(await seen(), 'known'))
    await Promise.all(['files.ca', 'files.crt', 'files.key'].map(name => rm(at(name))))
    await sleep(1_100)
    assert.equal(await seen(), 'known', 'the old files, while somebody replaces them')
  } finally {
    await kube.close()
  }
})

test('a Pod trusts a new CA of its cluster without a restart, and its watches go on', async () => {
  const dir = join(folder, 'serviceaccount')
  const write = async (name: string, text: string) => {
    await writeFile(join(dir, `${name}.new`), text)
    await rename(join(dir, `${name}.new`), join(dir, name))
  }
  const [first, second] = [makeCertificates(['127.0.0.1']), makeCertificates(['127.0.0.1'])]
  await mkdir(dir)
  await write('ca.crt', first.ca)
  await write('token', 'x')
  const watches: ServerResponse[] = []
  const rotating = createServer(first, ({ url = '' }, response) => {
    if (url.includes('watch=')) watches.push(response.writeHead(200))
    // A connection that ends with its response: the next request needs a new one.
    else json(response, 200, { metadata: { resourceVersion: '1' }, items: [] }, { connection: 'close' })
  })
  await new Promise<void>(resolve => rotating.listen(0, '127.0.0.1', resolve))
  const { port } = rotating.address() as AddressInfo
  const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) }
  const kube = connectKube(inClusterAccess(env, dir), { attempts: 1 })
  const list = async () => (await kube.list(nodes)).resourceVersion
  try {
    assert.equal(await list(), '1')
    const watch = kube.watch(nodes, { resourceVersion: '1' })[Symbol.asyncIterator]()
    const event = watch.next()
    await eventually(() => assert.equal(watches.length, 1))
    rotating.setSecureContext(second)
    await assert.rejects(list(), /certificate/)
    await write('ca.crt', second.ca)
    await eventually(async () => assert.equal(await list(), '1'))
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1', resourceVersion: '2' } }
    watches[0]?.write(`${JSON.stringify({ type: 'ADDED', object })}\n`)
    assert.equal((await event).value?.object.metadata.name, 'w1')
    await watch.return?.()
  } finally {
    await kube.close()
    rotating.closeAllConnections()
    await new Promise(resolve => rotating.close(resolve))
  }
})

test('an unknown CA is an error that is not retryable', async () => {
  await assert.rejects(seenAs({ servername: 'kubernetes' }), error => !isRetryable(error))
})

test('a name that is not in the certificate is an error', async () => {
  await assert.rejects(seenAs({ ca }), /does not match certificate/)
})

test('verification can be switched off', async () => {
  assert.equal(await seenAs({ insecure: true }), 'stranger')
})
