/** The audit over HTTP: who may read and write it, its formats, and the entries of the callers of this API. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { accessOf, grant, rules } from '../../test/support/access.ts'
import { anAuditEntry, aWrite } from '../../test/support/inventory.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { type AuditEntry, auditPath } from '../contract/audit.ts'
import { recordsPath } from '../contract/inventory.ts'
import { createLog } from '../telemetry/log.ts'
import { createInventoryApp } from './app.ts'
import { openStore, type Store } from './store.ts'

let dir: string
let store: Store
let cluster: TargetCluster
let app: ReturnType<typeof createInventoryApp>
let now = new Date('2026-11-01T10:00:00Z')
const lines: string[] = []
const tokens = ['auditor', 'reader', 'writer'].map(user => ({ user, token: `the-token-of-the-${user}` }))
const headersOf = (user: string) => ({ authorization: `Bearer the-token-of-the-${user}` })

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-audit-'))
  const log = createLog({}, { write: line => lines.push(line) })
  store = await openStore({ path: join(dir, 'inventory.db'), log })
  cluster = await startTargetCluster()
  await grant(cluster.kube, 'auditor', [rules.readInventory, rules.readConfigs])
  await grant(cluster.kube, 'reader', [rules.readInventory])
  await grant(cluster.kube, 'writer', [rules.writeProvider('p1')])
  await writeFile(join(dir, 'tokens.yaml'), stringify({ tokens }), { mode: 0o600 })
  const access = await accessOf(cluster.api.kubeconfig, join(dir, 'tokens.yaml'))
  app = createInventoryApp({ store, access, log, now: () => now })
})
after(async () => {
  await app.close()
  await store.close()
  await cluster.close()
  await rm(dir, { recursive: true })
})

function put(payload: object) {
  return app.inject({ method: 'PUT', url: recordsPath, headers: headersOf('writer'), payload })
}

async function read(query = ''): Promise<AuditEntry[]> {
  const answer = await app.inject({ url: `${auditPath}${query}`, headers: headersOf('auditor') })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}

test('a write to the inventory is recorded once an hour, with its authenticated caller', async () => {
  for (const nics of [1, 2]) assert.equal((await put({ records: [aWrite('a', { nics })] })).statusCode, 204)
  now = new Date('2026-11-01T11:00:00Z')
  assert.equal((await put({ records: [aWrite('a', { nics: 3 })] })).statusCode, 204)
  const texts = (await read('?action=records.write')).map(({ at, object, caller, proof }) => [
    at,
    object,
    caller,
    proof,
  ])
  assert.deepEqual(texts, [
    ['2026-11-01T11:00:00.000Z', 'p1', 'writer', 'authenticated'],
    ['2026-11-01T10:00:00.000Z', 'p1', 'writer', 'authenticated'],
  ])
  assert.equal(lines.filter(line => line.includes('"audit"')).length, 2)
})

test('entries of an operator have the caller that sent them, and only of providers that it may write', async () => {
  assert.equal((await put({ records: [], audit: [anAuditEntry({ caller: 'kim' })] })).statusCode, 204)
  const [entry] = await read('?caller=kim')
  assert.deepEqual([entry?.caller, entry?.recordedBy], ['kim', 'writer'])
  assert.equal((await put({ records: [], audit: [anAuditEntry({ providerId: 'p2' })] })).statusCode, 403)
})

test('an entry with another field, a line break or a long name is refused', async () => {
  for (const wrong of [{ action: 'anything' }, { caller: 'a\nb' }, { caller: 'x'.repeat(254) }, { proof: 'sworn' }]) {
    const answer = await put({ records: [], audit: [{ ...anAuditEntry(), ...wrong }] })
    assert.equal(answer.statusCode, 400, JSON.stringify(wrong))
  }
})

test('only a caller who may list OpenstackConfigs reads the audit', async () => {
  const statuses = await Promise.all(
    ['auditor', 'reader', 'writer'].map(user => app.inject({ url: auditPath, headers: headersOf(user) })),
  )
  assert.deepEqual(
    statuses.map(({ statusCode }) => statusCode),
    [200, 403, 403],
  )
})

test('JSON lines and CSV have the same entries, a formula in a name is no formula, and no format has a token', async () => {
  await put({ records: [], audit: [anAuditEntry({ caller: '=1+1' })] })
  const entries = await read()
  const headers = headersOf('auditor')
  const jsonl = await app.inject({ url: `${auditPath}?format=jsonl`, headers })
  assert.equal(jsonl.headers['content-type'], 'application/jsonl; charset=utf-8')
  assert.deepEqual(
    jsonl.body
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
    entries,
  )
  const csv = await app.inject({ url: `${auditPath}?format=csv`, headers })
  assert.equal(csv.body.split('\r\n').length, entries.length + 2)
  assert.match(csv.body, /^id,at,action,object,providerId,caller,proof,source,outcome,recordedBy\r\n.*,'=1\+1,/)
  for (const { token } of tokens) assert.ok(![jsonl.body, csv.body, ...lines].some(text => text.includes(token)))
})
