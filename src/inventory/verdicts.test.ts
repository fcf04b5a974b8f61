/** Verdicts over the API: who may write and read them, and their pages. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { stringify } from 'yaml'
import { accessOf, grant, rules } from '../../test/support/access.ts'
import { aWrite, someVerdicts } from '../../test/support/inventory.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { recordsPath } from '../contract/inventory.ts'
import { maxVerdictsPerWrite, type VerdictWrite, verdictsAnswer, verdictsPath } from '../contract/operator-api.ts'
import { silent } from '../telemetry/log.ts'
import { createInventoryApp } from './app.ts'
import { openStore, type Store } from './store.ts'

let dir: string
let store: Store
let cluster: TargetCluster
let app: FastifyInstance
const tokenOf = (user: string) => `a-token-of-${user}`

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-verdicts-'))
  cluster = await startTargetCluster()
  await grant(cluster.kube, 'reader', [rules.readConfigs])
  await grant(cluster.kube, 'writer-of-p1', [rules.writeProvider('p1')])
  const tokens = ['reader', 'writer-of-p1'].map(user => ({ user, token: tokenOf(user) }))
  const file = join(dir, 'tokens.yaml')
  await writeFile(file, stringify({ tokens }))
  store = await openStore({ path: ':memory:', log: silent })
  app = createInventoryApp({ store, access: await accessOf(cluster.api.kubeconfig, file), log: silent })
})
after(async () => {
  await app.close()
  await store.close()
  await cluster.close()
  await rm(dir, { recursive: true })
})

const put = (payload: object) =>
  app.inject({
    method: 'PUT',
    url: recordsPath,
    payload,
    headers: { authorization: `Bearer ${tokenOf('writer-of-p1')}` },
  })
const get = (url: string, user = 'reader', etag = '') =>
  app.inject({ url, headers: { authorization: `Bearer ${tokenOf(user)}`, ...(etag && { 'if-none-match': etag }) } })
const on = (vm: string, port: string) => ({ vm, portId: port, reason: 'PortStatusNotAllowed', message: 'm' })

test('only who may update a provider writes its verdicts, and the answer confirms them', async () => {
  const verdicts = [someVerdicts([on('vm-w1', 'port-1')])]
  const written = await put({ records: [aWrite('w1')], verdicts })
  assert.deepEqual([written.statusCode, written.json()], [200, { verdicts: 1 }])
  assert.equal((await put({ records: [aWrite('w1')] })).statusCode, 204, 'as for an operator of an older version')
  const foreign = [someVerdicts([], { providerId: 'p2' })]
  assert.equal((await put({ records: [aWrite('w1')], verdicts: foreign })).statusCode, 403)
  assert.equal((await get(verdictsPath, 'writer-of-p1')).statusCode, 403)
  const read = await get(verdictsPath)
  assert.equal(verdictsAnswer.parse(read.json()).verdicts.length, 1)
  assert.equal((await get(verdictsPath, 'reader', String(read.headers['etag']))).statusCode, 304)
})

const invalid: Record<string, [verdicts: unknown, path: RegExp]> = {
  'no list': [{}, /^records$/],
  'too many': [Array(201).fill(someVerdicts([])), /^records$/],
  'a VM with NUL': [[someVerdicts([on('\0', 'p')])], /^verdicts\[0\]\.verdicts\[0\]\.vm$/],
  'an endless range': [[someVerdicts(Array(maxVerdictsPerWrite + 1).fill(on('a', 'p')))], /^verdicts\[0\]\.verdicts$/],
  'no object': [[{ ...someVerdicts([]), config: undefined } as unknown as VerdictWrite], /^verdicts\[0\]\.config$/],
}
for (const [name, [verdicts, path]] of Object.entries(invalid))
  test(`verdicts with ${name} are refused with their path, and the records are not stored`, async () => {
    const answer = await put({ records: [aWrite('refused')], verdicts })
    assert.equal(answer.statusCode, 400)
    assert.match(answer.json().errors[0].path, path)
    assert.equal(await store.get('p1', 'refused'), undefined)
  })

test('operator 15g: pages of verdicts have no gaps and no duplicates while others write', async () => {
  const vms = Array.from({ length: 10 }, (_, n) => `vm-${n}`)
  const config = 'ns/pages'
  await store.put(
    [],
    [
      someVerdicts(
        vms.map(vm => on(vm, `port-${vm}`)),
        { config },
      ),
    ],
  )
  const seen: string[] = []
  for (let next: string | undefined = `${verdictsPath}?config=${config}&selected=false&limit=3`; next; ) {
    const answer = await get(next)
    seen.push(...verdictsAnswer.parse(answer.json()).verdicts.map(({ vm }) => vm))
    await store.put([], [someVerdicts([on('vm-0', 'another')], { config, upTo: 'vm-0' })])
    next = /<(\/[^<>]*)>; rel="next"/.exec(String(answer.headers['link']))?.[1]
  }
  assert.deepEqual(seen, vms)
})

test('an invalid limit, kind or cursor is refused', async () => {
  for (const query of ['limit=0', 'limit=5001', 'limit=many', 'selected=maybe', 'cursor=nonsense', 'cursor=WyJhIl0'])
    assert.equal((await get(`${verdictsPath}?${query}`)).statusCode, 400, query)
})
