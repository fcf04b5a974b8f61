/** Server and client certificates against a real TLS server. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type HttpStub, json, serve } from '../../test/support/http-stub.ts'
import { connectKube } from './client.ts'
import { type ClusterAccess, loadKubeconfig } from './config.ts'
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
    assert.equal(await seen(), 'stranger')
    await write({ 'files.crt': cert, 'files.key': key })
    assert.equal(await seen(), 'known')
  } finally {
    await kube.close()
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
