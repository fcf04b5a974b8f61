import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { request } from 'undici'
import { stringify } from 'yaml'
import { type ControlPlane, startControlPlane } from '../../test/rigs/kubernetes/rig.ts'
import { eventually } from '../../test/support/eventually.ts'
import { aNodeOf, aViola, aViolaProgram, type Viola } from '../../test/support/viola.ts'
import { violaBodies } from '../../test/support/viola-bodies.ts'
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import { type ViolaPostAnswer, violaNodesAnswer, violaNodesPath, violaPath } from '../contract/viola.ts'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { loadKubeconfig } from '../kube/config.ts'
import { nodesFrom } from './request.ts'

const namespace = 'multinic-system'
const deployed = join(import.meta.dirname, '../../config/test/viola-test-api.yaml')
const rights = ['get', 'list', 'watch', 'create', 'patch', 'delete']
let cp: ControlPlane
let kube: KubeClient
let viola: Viola

const kubectl = async (args: string[], input?: object, cluster = cp) =>
  (await cluster.exec('kubectl', args, input ? { input: JSON.stringify(input) } : {})).stdout
const existing = (name: string) => kube.get(nodeConfigs, { namespace, name })
const actions = (answer: { json: { results: { action: string }[] } }) => answer.json.results.map(({ action }) => action)

/** Creates a ServiceAccount with exactly these rights. */
async function serviceAccount(name: string, verbs: string[]): Promise<string> {
  await kubectl(['create', 'serviceaccount', name, '-n', namespace])
  const allowed = [`--verb=${verbs.join(',')}`, '--resource=multinicnodeconfigs.multinic.io', '-n', namespace]
  await kubectl(['create', 'role', name, ...allowed])
  await kubectl([
    'create',
    'rolebinding',
    name,
    `--role=${name}`,
    `--serviceaccount=${namespace}:${name}`,
    '-n',
    namespace,
  ])
  return (await kubectl(['create', 'token', name, '-n', namespace])).trim()
}

async function fileWith(text: string): Promise<string> {
  const file = join(cp.dir, `file-${randomUUID()}`)
  await writeFile(file, text)
  return file
}

async function violaAs(token: string, more: Record<string, string> = {}): Promise<Viola> {
  const access = { KUBE_API_SERVER: cp.server, KUBE_CA_PATH: cp.authority.cert, KUBE_TOKEN_FILE: await fileWith(token) }
  return aViola({ ...access, ...more })
}

/** Installs the CRDs and Viola of config/test. Returns a token of its ServiceAccount. */
async function install(cluster: ControlPlane): Promise<string> {
  const run = (...args: string[]) => kubectl(args, undefined, cluster)
  await run('create', 'namespace', namespace)
  await run('apply', '-f', join(import.meta.dirname, '../../config/crd/bases'))
  await run('wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s')
  await run('apply', '--dry-run=server', '-f', deployed)
  await run('apply', '-f', deployed)
  return (await run('create', 'token', 'viola-api', '-n', namespace)).trim()
}

before(async () => {
  cp = await startControlPlane()
  kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  // The tests are about what the API server answers, not about how soon: thousands of writes keep etcd busy.
  viola = await violaAs(await install(cp), { KUBE_TIMEOUT: '60s' })
})
after(async () => {
  await viola?.close()
  await kube?.close()
  await cp?.close()
})

test('with exactly its rights Viola creates, keeps, updates, lists and deletes', async () => {
  assert.deepEqual(actions(await viola.post([aNodeOf('real-1', 10), aNodeOf('Real_2')])), ['created', 'created'])
  const { metadata } = (await existing('real-1')) ?? assert.fail()
  assert.deepEqual(actions(await viola.post([aNodeOf('real-1', 10), aNodeOf('Real_2')])), ['unchanged', 'unchanged'])
  assert.equal((await existing('real-1'))?.metadata.resourceVersion, metadata.resourceVersion)
  assert.deepEqual(actions(await viola.post([aNodeOf('real-1', 9)])), ['updated'])
  assert.equal((await viola.list('?nodeName=real-1')).json.items[0].interfaces.length, 9)
  assert.equal((await viola.remove('Real_2')).status, 204)
  assert.equal((await viola.remove('Real_2')).status, 204)
  assert.deepEqual((await viola.list('?nodeName=Real_2')).json.items, [])
  const fields = await kubectl(['get', 'mnnc', 'real-1', '-n', namespace, '-o', 'json', '--show-managed-fields'])
  const managers = JSON.parse(fields).metadata.managedFields.map((one: { manager: string; operation: string }) => one)
  assert.deepEqual(
    managers.map(({ manager, operation }: { manager: string; operation: string }) => `${manager} ${operation}`),
    ['viola Apply'],
  )
})

test('without the right to write, the response has the refusal of the cluster', async () => {
  const reader = await violaAs(await serviceAccount('reader', ['get', 'list', 'watch']))
  try {
    const answer = await reader.post([aNodeOf('refused')])
    assert.equal(answer.status, 502)
    assert.match(answer.json.results[0].message, /forbidden/)
  } finally {
    await reader.close()
  }
})

test('each right of Viola is needed', async () => {
  for (const missing of rights) {
    const name = `without-${missing}`
    const token = await serviceAccount(
      name,
      rights.filter(verb => verb !== missing),
    )
    const limited = await violaAs(token)
    try {
      await eventually(
        async () => {
          const responses = [
            await limited.list(),
            await limited.post([aNodeOf(name)]),
            await limited.post([aNodeOf(name, 2, { expectedSpecHash: 'another' })]),
            await limited.post([aNodeOf(`${name}-expected`, 1, { expectedSpecHash: '' })]),
            await limited.remove(`${name}-expected`),
            await limited.ask('GET', '/readyz'),
          ]
          assert.match(responses.map(({ body }) => body).join('\n'), new RegExp(`cannot ${missing} resource`), missing)
        },
        { within: 60_000, every: 500 },
      )
    } finally {
      await limited.close()
    }
  }
})

test('the test deployment has a Service with both ports and no other rights', async () => {
  const object = async (what: string) =>
    JSON.parse(await kubectl(['get', what, 'viola-api', '-n', namespace, '-o', 'json'])).spec
  const [service, deployment] = [await object('service'), await object('deployment')]
  assert.deepEqual(
    service.ports.map(({ port, targetPort }: { port: number; targetPort: string }) => [port, targetPort]),
    [
      [80, 'http'],
      [8080, 'http'],
    ],
  )
  const labels = deployment.template.metadata.labels
  assert.deepEqual({ ...labels, ...service.selector }, labels)
  const allowed = await kubectl(['auth', 'can-i', '--list', '-n', namespace, ...asViola])
  assert.match(allowed, /^multinicnodeconfigs\.multinic\.io\s+\[\]\s+\[\]\s+\[get list watch create patch delete\]$/m)
  assert.match(allowed, /^nodes\s+\[\]\s+\[\]\s+\[list watch\]$/m)
  assert.doesNotMatch(allowed, /secrets|pods|jobs/)
})

test('Viola lists and watches Nodes with its ClusterRole, and without it only this request fails', async () => {
  const join = async (name: string, systemUUID: string) => {
    await kubectl(['create', '--filename', '-'], { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    const status = JSON.stringify({ status: { nodeInfo: { systemUUID } } })
    await kubectl(['patch', 'node', name, '--subresource=status', '--type=merge', `--patch=${status}`])
  }
  const answers = async (from = viola) => {
    const { status, json } = await from.ask('GET', violaNodesPath)
    return status === 200 ? violaNodesAnswer.parse(json).items.map(({ name }) => name) : `${status} ${json.detail}`
  }
  await join('worker-1', randomUUID())
  assert.deepEqual(await answers(), ['worker-1'])
  const url = await viola.app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'x-provider-id': 'p1', accept: 'text/event-stream' }
  const { body } = await request(`${url}${violaNodesPath}`, { headers })
  let received = ''
  const reading = (async () => {
    for await (const piece of body) received += piece
  })().catch(() => {})
  const versions = () => [...received.matchAll(/^event: version$/gm)].length
  await eventually(() => assert.equal(versions(), 1))
  await join('worker-2', randomUUID())
  await eventually(async () => assert.deepEqual(await answers(), ['worker-1', 'worker-2']))
  await eventually(() => assert.ok(versions() > 1))
  body.destroy()
  await reading

  const limited = await violaAs(await serviceAccount('without-nodes', rights))
  try {
    assert.match(String(await answers(limited)), /^502 cluster of provider p1: .*cannot list resource "nodes"/)
    assert.deepEqual(actions(await limited.post([aNodeOf('without-nodes')])), ['created'])
    assert.deepEqual((await limited.ask('GET', '/readyz')).json.targets, [{ name: 'any other provider', up: true }])
  } finally {
    await limited.close()
  }
})

const asViola = [`--as=system:serviceaccount:${namespace}:viola-api`]

test('a ServiceAccount of the cluster is identified by its token, and RBAC decides about its providers', async () => {
  for (const name of ['operator', 'stranger']) await kubectl(['create', 'serviceaccount', name, '-n', namespace])
  const rules = [
    { apiGroups: ['multinic.io'], resources: ['providers'], resourceNames: ['p1'], verbs: ['get', 'update'] },
  ]
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'writer-of-p1' },
    rules,
  }
  await kube.raw('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', role)
  const bind = (role: string, account: string) =>
    kubectl([
      'create',
      'clusterrolebinding',
      account,
      `--clusterrole=${role}`,
      `--serviceaccount=${namespace}:${account}`,
    ])
  await bind('writer-of-p1', 'operator')
  const reviewer = await serviceAccount('reviewing', rights)
  const strict = await violaAs(reviewer, { VIOLA_ANONYMOUS_ACCESS: 'false' })
  const as = async (account: string, ...how: string[]) => {
    const token = (await kubectl(['create', 'token', account, '-n', namespace, ...how])).trim()
    return { headers: { authorization: `Bearer ${token}` } }
  }
  try {
    const operator = await as('operator', '--audience=multinic')
    assert.equal((await strict.list('', operator)).status, 503, 'Viola may not review tokens yet')
    await bind('system:auth-delegator', 'reviewing')
    await eventually(async () => assert.equal((await strict.list('', operator)).status, 200))
    assert.deepEqual(actions(await strict.post([aNodeOf('with-token')], operator)), ['created'])
    const foreign = await strict.post([aNodeOf('with-token')], { provider: 'p2', ...operator })
    assert.equal(foreign.status, 403)
    assert.match(foreign.json.detail, /operator may not update providers\.multinic\.io p2/)
    assert.equal((await strict.list('', await as('stranger', '--audience=multinic'))).status, 403)
    assert.equal((await strict.list('', await as('operator'))).status, 401)
    assert.equal((await strict.list()).status, 401)
  } finally {
    await strict.close()
  }
})

test('two clusters with their own ServiceAccounts: providers are separate, and a dead cluster does not delay the other', async () => {
  const second = await startControlPlane({ firstCluster: cp })
  const there = connectKube(await loadKubeconfig(second.kubeconfig))
  const target = async (providerId: string, cluster: ControlPlane, token: string) => ({
    providerId,
    kubeApiServer: cluster.server,
    kubeCaPath: await fileWith(await readFile(cluster.authority.cert, 'utf8')),
    kubeTokenFile: await fileWith(token),
  })
  try {
    const [mine, theirs] = [
      (await kubectl(['create', 'token', 'viola-api', '-n', namespace])).trim(),
      await install(second),
    ]
    const targets = [
      await target('first', cp, mine),
      await target('second', second, theirs),
      await target('mistaken', second, mine),
    ]
    const ROUTING_CONFIG = await fileWith(stringify({ strict: true, targets }))
    const both = await aViola({ ROUTING_CONFIG, KUBE_TIMEOUT: '3s' })
    try {
      const posted = await Promise.all(
        ['first', 'second'].map(provider => both.post([aNodeOf(`of-${provider}`, 10)], { provider })),
      )
      assert.deepEqual(posted.map(actions), [['created'], ['created']])
      assert.equal(await existing('of-second'), undefined)
      assert.equal(await there.get(nodeConfigs, { namespace, name: 'of-first' }), undefined)
      assert.ok(await there.get(nodeConfigs, { namespace, name: 'of-second' }))
      assert.equal((await both.post([aNodeOf('lost')], { provider: 'mistaken' })).status, 502)
      assert.equal((await both.post([aNodeOf('lost')], { provider: 'unknown' })).status, 404)

      await second.close()
      const slow = both.post([aNodeOf('of-second', 9)], { provider: 'second' })
      assert.equal((await both.post([aNodeOf('of-first', 9)], { provider: 'first' })).status, 200)
      assert.equal((await slow).status, 504)
      assert.match((await both.ask('GET', '/readyz')).json.warnings.join('\n'), /target second: /)
    } finally {
      await both.close()
    }
  } finally {
    await there.close()
    await second.close()
  }
})

test('a POST of 500 nodes that is repeated after kill -9 reaches the same state', async () => {
  const nodes = Array.from({ length: 500 }, (_, i) => aNodeOf(`killed-${i}`, 10))
  const env = { KUBECONFIG: cp.kubeconfig, LISTEN_ADDR: '127.0.0.1:0' }
  const started = () => aViolaProgram(env)
  const post = (url: string) => {
    const headers = { 'x-provider-id': 'p1', 'content-type': 'application/json' }
    return request(`${url}${violaPath}`, { method: 'POST', headers, body: JSON.stringify(nodes) })
  }
  const there = async () =>
    (await kube.list(nodeConfigs, { namespace })).items.filter(({ metadata }) => metadata.name.startsWith('killed-'))
  const first = await started()
  const interrupted = post(first.url).catch(() => {})
  await eventually(async () => assert.ok((await there()).length > 20), { within: 60_000, every: 20 })
  first.child.kill('SIGKILL')
  await interrupted
  // Requests in flight at the kill may still be stored after this list.
  const midway = (await there()).map(({ spec }) => spec.nodeName)
  assert.ok(midway.length < 500, `${midway.length}`)

  const again = await started()
  const answer = (await (await post(again.url)).body.json()) as ViolaPostAnswer
  again.child.kill('SIGKILL')
  const failed = answer.results.filter(({ action }) => action === 'failed' || action === 'conflict')
  assert.deepEqual([answer.applied, failed.slice(0, 3)], [500, []])
  const unchanged = new Set(answer.results.flatMap(each => (each.action === 'unchanged' ? [each.nodeName] : [])))
  assert.deepEqual(
    midway.filter(name => !unchanged.has(name)),
    [],
  )
  const specs = new Map((await there()).map(({ spec }) => [spec.nodeName, spec.interfaces.length]))
  assert.deepEqual(specs, new Map(nodes.map(({ nodeName }) => [nodeName, 10])))
})

test('fields of kubectl apply, edit and patch are taken over', async () => {
  for (const [name, ways] of Object.entries({ 'by-apply': ['--server-side=false'], 'by-ssa': ['--server-side'] })) {
    const spec = { nodeName: name, instanceId: 'old', interfaces: [{ macAddress: '02:00:00:00:09:09', mtu: 9000 }] }
    const object = {
      apiVersion: 'multinic.io/v1alpha1',
      kind: 'MultiNicNodeConfig',
      metadata: { name, namespace },
      spec,
    }
    await kubectl(['apply', ...ways, '-f', '-'], object)
    await eventually(async () => assert.deepEqual(actions(await viola.post([aNodeOf(name)])), ['updated']))
    assert.equal((await existing(name))?.spec.interfaces[0]?.mtu, 1450)
    const patch = JSON.stringify({ spec: { interfaces: [] } })
    await kubectl(['patch', 'mnnc', name, '-n', namespace, '--type=merge', '-p', patch])
    await eventually(async () => {
      await viola.post([aNodeOf(name)])
      assert.equal((await existing(name))?.spec.interfaces.length, 1)
    })
    assert.deepEqual(actions(await viola.post([aNodeOf(name, 1, { instanceId: '' })])), ['updated'])
    assert.equal((await existing(name))?.spec.instanceId, '')
  }
})

test('a field of another controller is a conflict', async () => {
  const spec = { nodeName: 'contested', interfaces: [{ macAddress: '02:00:00:00:09:09', mtu: 9000 }] }
  const object = { metadata: { name: 'contested', namespace }, spec }
  await kube.apply<NodeConfig>(nodeConfigs, object, { fieldManager: 'net-controller' })
  const answer = await viola.post([aNodeOf('contested')])
  assert.equal(answer.status, 409)
  assert.match(answer.json.results[0].message, /\.spec\.interfaces: conflict with "net-controller"/)
})

test('an expected hash protects against concurrent writers and allows status changes', async () => {
  const first = await viola.post([aNodeOf('guarded', 0)])
  const expectedSpecHash = first.json.results[0].specHash
  await kube.patchStatus(nodeConfigs, { namespace, name: 'guarded' }, { state: 'Pending' })
  const answers = await Promise.all([1, 2, 3].map(nics => viola.post([aNodeOf('guarded', nics, { expectedSpecHash })])))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409])
  assert.equal((await viola.post([aNodeOf('guarded', 4, { expectedSpecHash: '' })])).status, 409)
})

test('a real API server accepts every body that Viola accepts, of 10,000 bodies', { timeout: 600_000 }, async () => {
  const bodies = fc.sample(violaBodies, 10_000).map(body => JSON.stringify(body))
  const isValid = (body: string) => nodesFrom(JSON.parse(body), 'p1').nodes.length > 0
  const { valid = [], invalid = [] } = Object.groupBy(bodies, body => (isValid(body) ? 'valid' : 'invalid'))
  assert.ok(valid.length > 1_000, `only ${valid.length} of 10,000 bodies are valid`)
  // Each of these costs some writes: a thousand are enough.
  const sent = [
    ...valid.slice(0, 1_000).map(body => ({ body, may: [200, 409] })),
    ...invalid.map(body => ({ body, may: [400] })),
  ]
  const headers = { 'content-type': 'application/json' }
  async function worker(): Promise<void> {
    for (let next = sent.pop(); next !== undefined; next = sent.pop()) {
      const { body, may } = next
      const answer = await viola.ask('POST', violaPath, { body, headers })
      assert.ok(may.includes(answer.status), `${answer.status} ${answer.body} to ${body}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
})
