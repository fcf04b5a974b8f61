/** TLS over real connections: which servers our clients trust, and which versions our server accepts. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  connect,
  createServer,
  getCACertificates,
  type Server,
  setDefaultCACertificates,
  type TlsOptions,
} from 'node:tls'
import { createHttp } from '../../src/http-client/client.ts'
import { connectKube } from '../../src/kube/client.ts'
import { nodes } from '../../src/kube/resources.ts'
import { listen } from '../../src/server/server.ts'
import { firstBusError } from '../openstack/sessions.ts'
import { type Authority, certificateAuthority, type Pair } from '../rigs/kubernetes/certificates.ts'
import { runner } from '../support/cli.ts'
import { startTargetCluster } from '../support/target-cluster.ts'
import { aViola } from '../support/viola.ts'

let dir: string
let ours: Authority
const servers = new Map<string, { port: number; received: () => string; server: Server }>()

const here = { subjectAltName: 'IP:127.0.0.1', extendedKeyUsage: 'serverAuth' }
const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
/** None of these servers receives a byte of a request. */
const untrusted = ['for another host', 'that has expired', 'from an unknown CA', 'that is self-signed', 'over TLS 1.1']

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-tls-'))
  const [own, other] = [join(dir, 'own'), join(dir, 'other')]
  await Promise.all([own, other].map(folder => mkdir(folder)))
  const [authority, theirs] = await Promise.all([certificateAuthority(own), certificateAuthority(other)])
  ours = authority
  const good = await ours.issue('good', '/CN=good', here)
  const pairs: Record<string, [pair: Pair, more?: TlsOptions]> = {
    'that is valid': [good],
    'for another host': [await ours.issue('host', '/CN=host', { ...here, subjectAltName: 'DNS:elsewhere' })],
    'that has expired': [await ours.issue('expired', '/CN=expired', here, -1)],
    'from an unknown CA': [await theirs.issue('theirs', '/CN=theirs', here)],
    'that is self-signed': [theirs],
    'over TLS 1.1': [good, old],
  }
  for (const [name, [{ cert, key }, more]] of Object.entries(pairs)) {
    let received = ''
    const server = createServer({ cert: readFileSync(cert), key: readFileSync(key), ...more }, socket => {
      socket
        .on('error', () => {})
        .on('data', bytes => {
          received += bytes.toString('latin1')
          socket.end(
            'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}',
          )
        })
    })
    server.on('tlsClientError', () => {})
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    servers.set(name, { port: (server.address() as AddressInfo).port, received: () => received, server })
  }
})
after(async () => {
  for (const { server } of servers.values()) server.close()
  await rm(dir, { recursive: true })
})

const secret = 'a-secret-for-one-server'

/** Each sends a request to a server and returns its error, if any. */
const clients: Record<string, (port: number, ca: string) => Promise<string | undefined>> = {
  'the HTTP client for OpenStack, Viola and the inventory': async (port, ca) => {
    const http = createHttp({ service: 'keystone', timeoutMs: 30_000, attempts: 1, tls: { ca } })
    try {
      await http.request({ method: 'GET', url: `https://127.0.0.1:${port}`, headers: { 'x-auth-token': secret } })
      return undefined
    } catch (error) {
      return String(error)
    } finally {
      await http.close()
    }
  },
  'the Kubernetes client': async (port, ca) => {
    const kube = connectKube({ server: `https://127.0.0.1:${port}`, ca, token: () => secret }, { attempts: 1 })
    try {
      await kube.list(nodes)
      return undefined
    } catch (error) {
      return String(error)
    } finally {
      await kube.close()
    }
  },
  'the message bus client': (port, ca) => firstBusError({ port, ca, password: secret }),
  'the CLI with an inventory': async (port, ca) => {
    const usual = getCACertificates('default')
    // Like NODE_EXTRA_CA_CERTS at the start of a process.
    setDefaultCACertificates([...usual, ca])
    try {
      const token = await fileWith('token', secret)
      return await command('check', '--inventory', `https://127.0.0.1:${port}`, '--token-file', token)
    } finally {
      setDefaultCACertificates(usual)
    }
  },
  'the CLI with a cluster': async (port, ca) => {
    const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': base64(ca) }
    const config = {
      clusters: [{ name: 'it', cluster }],
      users: [{ name: 'it', user: { token: secret } }],
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
      'current-context': 'it',
    }
    return command('doctor', '--kubeconfig', await fileWith('kubeconfig', JSON.stringify(config)))
  },
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

async function fileWith(name: string, text: string): Promise<string> {
  const path = join(dir, name)
  await writeFile(path, text)
  return path
}

/** Runs a command of the CLI and returns its output if it fails. */
async function command(...args: string[]): Promise<string | undefined> {
  const { code, out, error } = await runner({})(...args)
  return code === 0 ? undefined : out + error
}

for (const [client, connectTo] of Object.entries(clients)) {
  test(`${client} connects to a server with a valid certificate`, async () => {
    const { port, received } = servers.get('that is valid') ?? assert.fail()
    const before = received().length
    await connectTo(port, readFileSync(ours.cert, 'utf8'))
    assert.ok(received().length > before)
  })

  for (const name of untrusted)
    test(`${client} sends nothing to a server with a certificate ${name}`, async () => {
      const { port, received } = servers.get(name) ?? assert.fail()
      const error = await connectTo(port, readFileSync(ours.cert, 'utf8'))
      assert.match(
        error ?? 'nothing',
        /CERT|SIGN|ALTNAME|altname|expired|does not match|VERSION|version|PROTOCOL|self-signed|issuer|PURPOSE/i,
      )
      assert.ok(!error?.includes(secret))
      assert.equal(received(), '')
    })
}

test('Viola refuses TLS 1.1 and accepts TLS 1.2 and 1.3', async () => {
  const biz = await startTargetCluster()
  const { cert, key } = await ours.issue('viola', '/CN=viola', here)
  const viola = await aViola({ KUBECONFIG: biz.api.kubeconfig, VIOLA_TLS_CERT_FILE: cert, VIOLA_TLS_KEY_FILE: key })
  const port = Number(new URL(await listen(viola.app, '127.0.0.1:0')).port)
  const negotiated = (versions: object) =>
    new Promise<string | null>(resolve => {
      const socket = connect({ host: '127.0.0.1', port, ca: readFileSync(ours.cert), ...versions }, () => {
        resolve(socket.getProtocol())
        socket.destroy()
      })
      socket.once('error', () => resolve(null))
    })
  try {
    assert.equal(await negotiated(old), null)
    assert.equal(await negotiated({ maxVersion: 'TLSv1.2' }), 'TLSv1.2')
    assert.equal(await negotiated({}), 'TLSv1.3')
  } finally {
    await viola.close()
    await biz.close()
  }
})
