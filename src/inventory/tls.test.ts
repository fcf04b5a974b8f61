/** The inventory over HTTPS: its certificate, the errors of its settings, and each client with and without the CA. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { type Authority, certificateAuthority, type Pair } from '../../test/rigs/kubernetes/certificates.ts'
import { runner } from '../../test/support/cli.ts'
import { eventually } from '../../test/support/eventually.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { servedName } from '../../test/support/served-name.ts'
import { openRemoteInventory } from '../operator/record/inventory-client.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { type RunningInventory, startInventory } from './main.ts'

let dir: string
let authority: Authority
let other: Authority
let files: Pair
let inventory: RunningInventory
const serving = { subjectAltName: 'IP:127.0.0.1', extendedKeyUsage: 'serverAuth' }

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-tls-'))
  const [ours, theirs] = [join(dir, 'ours'), join(dir, 'theirs')]
  await Promise.all([ours, theirs].map(one => mkdir(one)))
  authority = await certificateAuthority(ours)
  other = await certificateAuthority(theirs)
  files = await authority.issue('served', '/CN=first', serving)
  inventory = await start({ INVENTORY_TLS_CERT_FILE: files.cert, INVENTORY_TLS_KEY_FILE: files.key })
})
after(async () => {
  await inventory?.close()
  await rm(dir, { recursive: true })
})

function start(tls: Record<string, string>, log = silent): Promise<RunningInventory> {
  return startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      INVENTORY_ANONYMOUS_ACCESS: 'true',
      ...tls,
    },
    log,
    reloadMs: 20,
  })
}

test('a renewed certificate applies to the next connection, and one without its key is reported', async () => {
  assert.match(inventory.url, /^https:/)
  assert.equal(await servedName(inventory.url, readFileSync(authority.cert)), 'first')
  const renewed = await authority.issue('renewed', '/CN=second', serving)
  copyFileSync(renewed.cert, files.cert)
  const mismatch = /INVENTORY_TLS_KEY_FILE does not belong to the certificate of INVENTORY_TLS_CERT_FILE/
  await eventually(async () => assert.match(await readyz(), mismatch))
  assert.equal(await servedName(inventory.url, readFileSync(authority.cert)), 'first')
  copyFileSync(renewed.key, files.key)
  await eventually(async () => assert.equal(await servedName(inventory.url, readFileSync(authority.cert)), 'second'))
  assert.doesNotMatch(await readyz(), /certificates:/)
})

test('Kubernetes replaces both files at once, which is no error', async () => {
  const volume = join(dir, 'volume')
  const replace = async (name: string) => {
    const { cert, key } = await authority.issue(name, `/CN=${name}`, serving)
    await mkdir(join(volume, name), { recursive: true })
    copyFileSync(cert, join(volume, name, 'tls.crt'))
    copyFileSync(key, join(volume, name, 'tls.key'))
    symlinkSync(name, join(volume, `next-${name}`))
    renameSync(join(volume, `next-${name}`), join(volume, '..data'))
  }
  await replace('a')
  const errors: string[] = []
  const log = createLog({}, { level: 'error', write: line => errors.push(line) })
  const settings = {
    INVENTORY_TLS_CERT_FILE: join(volume, '..data/tls.crt'),
    INVENTORY_TLS_KEY_FILE: join(volume, '..data/tls.key'),
  }
  const mounted = await start(settings, log)
  for (const name of ['b', 'c', 'd', 'e']) {
    await replace(name)
    await eventually(async () => assert.equal(await servedName(mounted.url, readFileSync(authority.cert)), name))
  }
  await mounted.close()
  assert.deepEqual(errors, [])
})

test('the operator uses an inventory with HTTPS, and the error without the CA names the setting', async () => {
  const open = (INVENTORY_CA_FILE?: string) =>
    openRemoteInventory({
      settings: { INVENTORY_URL: inventory.url, INVENTORY_CA_FILE },
      ...{ log: silent, reloadMs: 20 },
    })
  const trusting = await open(authority.cert)
  assert.ok(trusting)
  await inventory.recorder.put([aWrite('w1')])
  assert.deepEqual(
    (await trusting.recorder.list('p1')).map(({ nodeName }) => nodeName),
    ['w1'],
  )
  await trusting.close()
  for (const ca of [undefined, other.cert]) {
    const remote = await open(ca)
    assert.ok(remote)
    await assert.rejects(remote.recorder.list('p1'), /inventory: GET .*; set INVENTORY_CA_FILE to the CA of the server/)
    await remote.close()
  }
  const ca = join(dir, 'ca-of-operator.crt')
  copyFileSync(other.cert, ca)
  const renewed = await open(ca)
  assert.ok(renewed)
  await assert.rejects(renewed.recorder.list('p1'))
  copyFileSync(authority.cert, ca)
  await eventually(async () => assert.equal((await renewed.recorder.list('p1')).length, 1))
  copyFileSync(authority.key, ca)
  await sleep(100)
  assert.equal((await renewed.recorder.list('p1')).length, 1, 'a file without a certificate changes nothing')
  await renewed.close()
  await assert.rejects(open(join(dir, 'none.crt')), /INVENTORY_CA_FILE: .*none\.crt: ENOENT/)
})

test('the CLI reads an inventory with HTTPS, and the error without the CA names the option', async () => {
  await inventory.recorder.put([aWrite('w1')])
  const run = runner({ MULTINIC_INVENTORY_URL: inventory.url })
  for (const args of [[], ['--ca-file', other.cert]]) {
    const { code, error } = await run('find', 'w1', ...args)
    assert.equal(code, 2)
    assert.match(error, /certificate not trusted; set its CA with --ca-file FILE or MULTINIC_CA_FILE/)
  }
  const byOption = await run('find', 'w1', '--ca-file', authority.cert)
  assert.equal(byOption.code, 0, byOption.error)
  const byVariable = await run.with({ env: { MULTINIC_CA_FILE: authority.cert } })('find', 'w1')
  assert.equal(byVariable.code, 0, byVariable.error)
  const noCertificate = await run('find', 'w1', '--ca-file', authority.key)
  assert.match(noCertificate.error, /ca\.key has no certificate in PEM format/)
  const overHttp = await runner({ MULTINIC_INVENTORY_URL: inventory.url.replace('https:', 'http:') })('find', 'w1')
  assert.match(overHttp.error, /if it speaks HTTPS, use https:/)
})

const invalid: Record<string, [tls: () => Promise<Record<string, string>>, error: RegExp]> = {
  'a certificate without its key': [
    async () => ({ INVENTORY_TLS_CERT_FILE: files.cert }),
    /INVENTORY_TLS_CERT_FILE: requires INVENTORY_TLS_KEY_FILE/,
  ],
  'a key without its certificate': [
    async () => ({ INVENTORY_TLS_KEY_FILE: files.key }),
    /INVENTORY_TLS_KEY_FILE: requires INVENTORY_TLS_CERT_FILE/,
  ],
  'a missing file': [
    async () => ({ INVENTORY_TLS_CERT_FILE: files.cert, INVENTORY_TLS_KEY_FILE: join(dir, 'none.key') }),
    /INVENTORY_TLS_KEY_FILE: .*none\.key: ENOENT/,
  ],
  'a file without a certificate': [
    async () => ({ INVENTORY_TLS_CERT_FILE: files.key, INVENTORY_TLS_KEY_FILE: files.key }),
    /INVENTORY_TLS_CERT_FILE cannot be used: /,
  ],
  'the key of another certificate': [
    async () => {
      const { key } = await authority.issue('another', '/CN=another', serving)
      return { INVENTORY_TLS_CERT_FILE: files.cert, INVENTORY_TLS_KEY_FILE: key }
    },
    /INVENTORY_TLS_KEY_FILE does not belong to the certificate of INVENTORY_TLS_CERT_FILE/,
  ],
}
for (const [name, [tls, error]] of Object.entries(invalid))
  test(`${name} is a startup error`, async () => assert.rejects(start(await tls()), error))

async function readyz(): Promise<string> {
  const dispatcher = new Agent({ connect: { ca: readFileSync(authority.cert) } })
  try {
    const { body } = await request(`${inventory.url}/readyz`, { dispatcher })
    return await body.text()
  } finally {
    await dispatcher.close()
  }
}
