import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../test/support/viola.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../contract/node-config.ts'
import { problem } from '../contract/problem.ts'
import { violaListAnswer, violaNodesPath, violaPath, violaPostAnswer } from '../contract/viola.ts'

const namespace = 'multinic-system'
let biz: TargetCluster
let viola: Viola

before(async () => {
  biz = await startTargetCluster()
  viola = await aViola({ KUBECONFIG: biz.api.kubeconfig })
})
after(async () => {
  await viola.close()
  await biz.close()
})

const existing = (name: string) => biz.kube.get(nodeConfigs, { namespace, name })
const actions = (answer: { json: { results: { nodeName: string; action: string }[] } }) =>
  answer.json.results.map(({ nodeName, action }) => `${nodeName} ${action}`)

test('a node config becomes an object with spec and labels, and the next read includes it', async () => {
  const answer = await viola.post([aNodeOf('Made_1', 2)])
  assert.equal(answer.status, 200)
  const { applied, results, output } = violaPostAnswer.parse(answer.json)
  assert.equal(applied, 1)
  assert.equal(output, 'multinicnodeconfig.multinic.io/made-1 created')

  const shown = violaListAnswer.parse((await viola.list('?nodeName=Made_1')).json).items
  assert.equal(shown.length, 1)
  assert.equal(shown[0]?.specHash, results[0]?.specHash)
  assert.deepEqual(
    shown[0]?.interfaces.map(({ name }) => name),
    ['multinic0', 'multinic1'],
  )

  const object = await existing('made-1')
  assert.equal(object?.spec.providerId, 'p1')
  assert.equal(object?.spec.nodeName, 'Made_1')
  assert.equal(object?.spec.specHash, results[0]?.specHash)
  assert.deepEqual(object?.metadata.labels, {
    'multinic.io/node-name': 'made_1',
    'multinic.io/instance-id': 'vm-made_1',
    'multinic.io/provider-id': 'p1',
  })
  assert.equal(object?.metadata.annotations, undefined)
})

test('a repeated body writes nothing', async () => {
  const body = [aNodeOf('twice-1'), aNodeOf('twice-2')]
  await viola.post(body)
  const before = await existing('twice-1')
  const answer = await viola.post(body)
  assert.deepEqual(actions(answer), ['twice-1 unchanged', 'twice-2 unchanged'])
  assert.equal(answer.json.applied, 2)
  assert.equal((await existing('twice-1'))?.metadata.resourceVersion, before?.metadata.resourceVersion)
})

test('a changed body updates the object, and an empty list of interfaces is stored', async () => {
  await viola.post([aNodeOf('changing', 2)])
  assert.deepEqual(actions(await viola.post([aNodeOf('changing', 1)])), ['changing updated'])
  assert.equal((await existing('changing'))?.spec.interfaces.length, 1)
  await viola.post([aNodeOf('changing', 0)])
  assert.deepEqual((await existing('changing'))?.spec.interfaces, [])
})

test('the documented sample is accepted, also without a content type', async () => {
  const sample = readFileSync(join(import.meta.dirname, '../../test/samples/viola-post.json'), 'utf8')
  const answer = await viola.ask('POST', violaPath, { body: sample, headers: { 'content-type': 'text/plain' } })
  assert.equal(answer.status, 200)
  assert.equal((await existing('worker-1'))?.spec.interfaces[0]?.macAddress, '00:1a:2b:3c:4d:5e')
})

test('an invalid body is refused with every invalid field, and nothing is applied', async () => {
  const bad = aNodeOf('bad-1', 2)
  const interfaces = bad['interfaces'] as { mtu: number }[]
  const answer = await viola.post([
    aNodeOf('bad-0'),
    { ...bad, interfaces: [interfaces[0], { ...interfaces[1], mtu: 5 }] },
  ])
  assert.equal(answer.status, 400)
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
  const { errors, detail } = problem.parse(answer.json)
  assert.deepEqual(
    errors?.map(({ path }) => path),
    ['[1].interfaces[1].mtu'],
  )
  assert.match(detail, /^invalid body: node bad-1, (port|interface) \S+: mtu: /)
  assert.equal(await existing('bad-0'), undefined)
})

const refusals: Record<string, [status: number, detail: RegExp, ask: () => ReturnType<Viola['post']>]> = {
  'a body that is not JSON': [
    400,
    /json/i,
    () => viola.ask('POST', violaPath, { body: '[{', headers: { 'content-type': 'application/json' } }),
  ],
  'no body': [
    400,
    /must be a JSON array/,
    () => viola.ask('POST', violaPath, { headers: { 'content-type': 'application/json' } }),
  ],
  'operator 15e: a node name with NUL': [400, /nodeName: "a\\u0000b" has control/, () => viola.post([aNodeOf('a\0b')])],
  'operator 15e: a node name with a newline': [400, /control or invisible/, () => viola.post([aNodeOf('a\nb')])],
  'operator 15e: a node name that turns around': [
    400,
    /nodeName: "a\\u202eb" has control/,
    () => viola.post([aNodeOf('a\u202eb')]),
  ],
  'operator 15e: a node name that is a path': [400, /relative path/, () => viola.post([aNodeOf('..')])],
  'an empty list': [400, /empty payload/, () => viola.post([])],
  'too many nodes': [413, /2001 node configs; send at most 2000/, () => viola.post(Array(2001).fill({}))],
  'no provider': [400, /x-provider-id/, () => viola.post([aNodeOf('a')], { provider: '' })],
  'no provider in a read': [400, /x-provider-id/, () => viola.list('', { provider: '' })],
  'a body above 4 MiB': [
    413,
    /longer than 4194304 bytes/,
    () => viola.post([{ ...aNodeOf('a'), note: 'x'.repeat(4 * 1024 * 1024) }]),
  ],
  'another method': [405, /method not allowed: use POST or GET/, () => viola.ask('PUT', violaPath, { body: {} })],
  'another path': [404, /no route for GET/, () => viola.ask('GET', '/v2')],
}

for (const [name, [status, detail, ask]] of Object.entries(refusals)) {
  test(`${name} returns ${status}`, async () => {
    const answer = await ask()
    assert.equal(answer.status, status)
    assert.match(problem.parse(answer.json).detail, detail)
  })
}

test('a mismatch of the expected hash is a conflict with the current node; other nodes are applied', async () => {
  const first = await viola.post([aNodeOf('guarded', 1)])
  const { specHash } = first.json.results[0]
  const answer = await viola.post([aNodeOf('guarded', 2, { expectedSpecHash: 'older' }), aNodeOf('beside')])
  assert.equal(answer.status, 409)
  problem.parse(answer.json)
  assert.deepEqual(actions(answer), ['guarded conflict', 'beside created'])
  assert.equal(answer.json.results[0].specHash, specHash)
  assert.equal(answer.json.current[0].nodeName, 'guarded')
  assert.equal(answer.json.current[0].interfaces.length, 1)

  const now = await viola.post([aNodeOf('guarded', 2, { expectedSpecHash: specHash })])
  assert.deepEqual(actions(now), ['guarded updated'])
  assert.equal((await viola.post([aNodeOf('guarded', 1, { expectedSpecHash: '' })])).status, 409)
  assert.equal((await existing('guarded'))?.spec.interfaces.length, 2)
})

test('a write with an expected hash works while the status changes all the time', async () => {
  const first = await viola.post([aNodeOf('moving', 1)])
  const key = { namespace, name: 'moving' }
  let moving = true
  const mover = (async () => {
    for (let i = 0; moving; i++) await biz.kube.patchStatus(nodeConfigs, key, { lastJobName: `job-${i}` })
  })()
  const expectedSpecHash = first.json.results[0].specHash
  const answer = await viola.post([aNodeOf('moving', 2, { expectedSpecHash })])
  moving = false
  await mover
  assert.ok(['moving updated', 'moving conflict'].includes(actions(answer)[0] ?? ''), answer.body)
  // The response matches the object in both cases.
  const updated = actions(answer)[0] === 'moving updated'
  assert.equal((await existing('moving'))?.spec.interfaces.length, updated ? 2 : 1)
})

test('of two writers with the same expected hash, one wins', async () => {
  const first = await viola.post([aNodeOf('raced', 0)])
  const other = await aViola({ KUBECONFIG: biz.api.kubeconfig })
  try {
    await other.list()
    const expectedSpecHash = first.json.results[0].specHash
    const answers = await Promise.all([
      viola.post([aNodeOf('raced', 1, { expectedSpecHash })]),
      other.post([aNodeOf('raced', 2, { expectedSpecHash })]),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
  } finally {
    await other.close()
  }
})

test('two node names that map to one object are a conflict', async () => {
  await viola.post([aNodeOf('pair-1')])
  const answer = await viola.post([aNodeOf('pair_1')])
  assert.equal(answer.status, 409)
  assert.match(answer.json.detail, /object pair-1 belongs to node pair-1/)
  assert.equal((await viola.post([aNodeOf('new_1'), aNodeOf('new-1')])).status, 409)
  assert.equal(await existing('new-1'), undefined)
})

test('fields of kubectl are taken over', async () => {
  for (const fieldManager of ['kubectl', 'kubectl-client-side-apply']) {
    const name = `by-${fieldManager}`
    const spec = { nodeName: name, interfaces: [{ macAddress: '02:00:00:00:09:09', mtu: 9000 }] }
    await biz.kube.apply(nodeConfigs, { metadata: { name, namespace }, spec }, { fieldManager })
    assert.deepEqual(actions(await viola.post([aNodeOf(name, 1)])), [`${name} updated`])
    assert.equal((await existing(name))?.spec.interfaces[0]?.mtu, 1450)
  }
})

test('a field of another controller is a conflict, and force takes it over', async () => {
  const spec = { nodeName: 'contested', interfaces: [{ macAddress: '02:00:00:00:09:09', mtu: 9000 }] }
  const object = { metadata: { name: 'contested', namespace }, spec }
  await biz.kube.apply(nodeConfigs, object, { fieldManager: 'net-controller' })
  const answer = await viola.post([aNodeOf('contested', 1)])
  assert.equal(answer.status, 409)
  assert.match(answer.json.results[0].message, /\.spec\.interfaces: conflict with "net-controller"/)
  assert.equal((await existing('contested'))?.spec.interfaces[0]?.mtu, 9000)

  const forced = await viola.ask('POST', `${violaPath}?force=true`, { body: [aNodeOf('contested', 1)] })
  assert.deepEqual(actions(forced), ['contested updated'])
})

/** As a restore does it: the object gets a new owner of all its fields. */
async function restore(name: string, interfaces: NodeConfig['spec']['interfaces']): Promise<void> {
  const { metadata, spec } = (await existing(name)) ?? assert.fail()
  await biz.kube.delete(nodeConfigs, { namespace, name })
  await eventually(async () => assert.equal(await existing(name), undefined))
  const restored = { metadata: { name, namespace, labels: metadata.labels ?? {} }, spec: { ...spec, interfaces } }
  await biz.kube.create(nodeConfigs, restored as NodeConfig)
}

test('operator 9: a restored object is adopted, whatever client restored it', async () => {
  await viola.post([aNodeOf('restored', 1)])
  const { interfaces } = (await existing('restored'))?.spec ?? assert.fail()
  await restore('restored', interfaces)
  assert.deepEqual(actions(await viola.post([aNodeOf('restored', 2)])), ['restored updated'])
  assert.deepEqual(actions(await viola.post([aNodeOf('restored', 1)])), ['restored updated'])
})

test('operator 9: who changes a field of an object that Viola has adopted causes a conflict again', async () => {
  await viola.post([aNodeOf('contended', 1)])
  const { interfaces } = (await existing('contended'))?.spec ?? assert.fail()
  await restore('contended', interfaces)
  await viola.post([aNodeOf('contended', 2)])
  const changed = interfaces.map(nic => ({ ...nic, mtu: 1400 }))
  await biz.kube.patch(nodeConfigs, { namespace, name: 'contended' }, { spec: { interfaces: changed } })
  assert.deepEqual(actions(await viola.post([aNodeOf('contended', 2)])), ['contended conflict'])
})

test('a list names who edited a node config by hand, until it is delivered again', async () => {
  const editor = async () => (await viola.list('?nodeName=edited')).json.items[0].editedBy
  await viola.post([aNodeOf('edited', 1)])
  assert.equal(await editor(), undefined)
  const spec = { interfaces: [{ macAddress: '02:00:00:00:09:09', mtu: 1400 }] }
  await biz.kube.patchStatus(nodeConfigs, { namespace, name: 'edited' }, { state: 'Configured' })
  const edit = { metadata: { name: 'edited', namespace }, spec }
  await biz.kube.apply(nodeConfigs, edit, { fieldManager: 'kubectl-edit', force: true })
  await eventually(async () => assert.equal(await editor(), 'kubectl-edit'))
  await viola.post([aNodeOf('edited', 1)])
  await eventually(async () => assert.equal(await editor(), undefined))
})

test('other labels, annotations and the status are kept', async () => {
  await viola.post([aNodeOf('theirs', 1)])
  const key = { namespace, name: 'theirs' }
  await biz.kube.patch(nodeConfigs, key, { metadata: { labels: { team: 'net' }, annotations: { note: 'x' } } })
  await biz.kube.patchStatus(nodeConfigs, key, { state: 'Configured' })
  await viola.post([aNodeOf('theirs', 2)])
  const object = await existing('theirs')
  assert.equal(object?.metadata.labels?.['team'], 'net')
  assert.equal(object?.metadata.annotations?.['note'], 'x')
  assert.equal(object?.status?.state, 'Configured')
})

test('a read returns the status, and 304 until something changes', async () => {
  await viola.post([aNodeOf('watched')])
  const first = await viola.list('?nodeName=watched')
  const { resourceVersion } = first.json
  assert.equal((await viola.list(`?nodeName=watched&since=${resourceVersion}`)).status, 304)
  const headers = { 'if-none-match': String(first.headers['etag']) }
  assert.equal((await viola.list('?nodeName=watched', { headers })).status, 304)

  await biz.kube.patchStatus(nodeConfigs, { namespace, name: 'watched' }, { state: 'Configured', nics: '1/1' })
  await eventually(async () => {
    const now = await viola.list(`?nodeName=watched&since=${resourceVersion}`)
    assert.equal(now.status, 200)
    assert.equal(now.json.items[0].status.state, 'Configured')
  })
})

test('a list has pages, by the names of the nodes', async () => {
  const provider = 'paged'
  await viola.post(
    ['c', 'a', 'b'].map(name => aNodeOf(`paged-${name}`)),
    { provider },
  )
  const pages: string[][] = []
  let next: string | undefined = '?limit=2'
  while (next !== undefined) {
    const { json, headers } = await viola.list(next, { provider })
    pages.push(json.items.map(({ nodeName }: { nodeName: string }) => nodeName))
    next = /(\?[^>]*)>; rel="next"/.exec(String(headers['link']))?.[1]
  }
  assert.deepEqual(pages, [['paged-a', 'paged-b'], ['paged-c']])
  assert.equal((await viola.list('?limit=0', { provider })).status, 400)
})

test('providers in one cluster read and delete only their own nodes', async () => {
  await viola.post([aNodeOf('of-a')], { provider: 'a' })
  await viola.post([aNodeOf('of-b')], { provider: 'b' })
  const names = async (provider: string) =>
    (await viola.list('', { provider })).json.items.map((node: { nodeName: string }) => node.nodeName)
  assert.ok((await names('a')).includes('of-a'))
  assert.ok(!(await names('a')).includes('of-b'))
  assert.equal((await viola.remove('of-b', { provider: 'a' })).status, 204)
  assert.ok(await existing('of-b'))
})

test('a deletion is idempotent, and the next read includes it', async () => {
  await viola.post([aNodeOf('Leaving')])
  assert.equal((await viola.remove('Leaving', { headers: { 'content-type': 'application/json' } })).status, 204)
  assert.deepEqual((await viola.list('?nodeName=Leaving')).json.items, [])
  assert.equal(await existing('leaving'), undefined)
  assert.equal((await viola.remove('Leaving')).status, 204)
  assert.deepEqual(actions(await viola.post([aNodeOf('Leaving')])), ['Leaving created'])
})

test('a deletion may have an expected hash', async () => {
  const answer = await viola.post([aNodeOf('kept')])
  const path = `${violaPath}/kept?expectedSpecHash=`
  assert.equal((await viola.ask('DELETE', `${path}older`)).status, 409)
  assert.ok(await existing('kept'))
  assert.equal((await viola.ask('DELETE', `${path}${answer.json.results[0].specHash}`)).status, 204)
})

test('a config with a finalizer is still listed during its deletion, and accepts no update', async () => {
  await viola.post([aNodeOf('cleaning')])
  const key = { namespace, name: 'cleaning' }
  await biz.kube.patch(nodeConfigs, key, { metadata: { finalizers: ['multinic.io/node-cleanup'] } })
  assert.equal((await viola.remove('cleaning')).status, 204)
  // The controller holds many deletions that nobody approved.
  const approved = (await existing('cleaning'))?.metadata.annotations?.[nodeConfigAnnotations.approveDeletions]
  assert.ok(Math.abs(Number(approved) * 1_000 - Date.now()) < 60_000, approved)
  assert.equal((await viola.list('?nodeName=cleaning')).json.items.length, 1)
  const answer = await viola.post([aNodeOf('cleaning', 2)])
  assert.equal(answer.status, 409)
  assert.match(answer.json.detail, /being deleted/)
  await biz.kube.patch<NodeConfig>(nodeConfigs, key, { metadata: { finalizers: null } })
  await eventually(async () => assert.equal((await viola.post([aNodeOf('cleaning', 2)])).status, 200))
})

test('the OpenAPI document, the API documentation and the metrics are served', async () => {
  const document = (await viola.ask('GET', '/openapi.json')).json
  assert.equal(document.openapi, '3.1.0')
  assert.deepEqual(Object.keys(document.paths), [violaPath, `${violaPath}/{nodeName}`, violaNodesPath])
  assert.match((await viola.ask('GET', '/openapi.yaml')).body, /^openapi: 3\.1\.0/)
  const page = (await viola.ask('GET', '/docs')).body
  assert.match(page, /Viola API/)
  assert.doesNotMatch(page, /<script|(src|href)="(https?:)?\/\//, 'the page loads nothing from other hosts')
  assert.match(
    (await viola.ask('GET', '/metrics')).body,
    /multinic_viola_node_configs_total\{provider="p1",action="created"\}/,
  )
  assert.equal((await viola.ask('GET', '/healthz')).status, 200)
})
