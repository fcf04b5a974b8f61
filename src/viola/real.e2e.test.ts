import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { eventually } from '../../test/eventually.ts'
import { type ControlPlane, startControlPlane } from '../../test/rigs/kubernetes/rig.ts'
import { aNodeOf, aViola, type Viola } from '../../test/viola.ts'
import { violaBodies } from '../../test/viola-bodies.ts'
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { loadKubeconfig } from '../kube/config.ts'

const namespace = 'multinic-system'
let cp: ControlPlane
let kube: KubeClient
let viola: Viola

const kubectl = async (args: string[], input?: object) =>
  (await cp.exec('kubectl', args, input ? { input: JSON.stringify(input) } : {})).stdout
const held = (name: string) => kube.get(nodeConfigs, { namespace, name })
const actions = (answer: { json: { results: { action: string }[] } }) => answer.json.results.map(({ action }) => action)

/** A ServiceAccount with exactly the rights that Viola needs in a Biz cluster. */
async function serviceAccount(name: string, verbs: string[]): Promise<string> {
  await kubectl(['create', 'serviceaccount', name, '-n', namespace])
  const rights = [`--verb=${verbs.join(',')}`, '--resource=multinicnodeconfigs.multinic.io', '-n', namespace]
  await kubectl(['create', 'role', name, ...rights])
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

async function violaAs(token: string): Promise<Viola> {
  const file = join(cp.dir, `token-${Math.random()}`)
  await writeFile(file, token)
  return aViola({ KUBE_API_SERVER: cp.server, KUBE_CA_PATH: cp.authority.cert, KUBE_TOKEN_FILE: file })
}

before(async () => {
  cp = await startControlPlane()
  kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  await kubectl(['create', 'namespace', namespace])
  await kubectl(['apply', '-f', join(import.meta.dirname, '../../config/crd/bases')])
  await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
  viola = await violaAs(await serviceAccount('viola', ['get', 'list', 'watch', 'create', 'patch', 'delete']))
})
after(async () => {
  await viola?.close()
  await kube?.close()
  await cp?.close()
})

test('with exactly its rights it creates, leaves, updates, shows and deletes', async () => {
  assert.deepEqual(actions(await viola.post([aNodeOf('real-1', 10), aNodeOf('Real_2')])), ['created', 'created'])
  const { metadata } = (await held('real-1')) ?? assert.fail()
  assert.deepEqual(actions(await viola.post([aNodeOf('real-1', 10), aNodeOf('Real_2')])), ['unchanged', 'unchanged'])
  assert.equal((await held('real-1'))?.metadata.resourceVersion, metadata.resourceVersion)
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

test('without the right to write, the cluster’s refusal is told', async () => {
  const reader = await violaAs(await serviceAccount('reader', ['get', 'list', 'watch']))
  try {
    const answer = await reader.post([aNodeOf('refused')])
    assert.equal(answer.status, 502)
    assert.match(answer.json.results[0].message, /forbidden/)
  } finally {
    await reader.close()
  }
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
    assert.equal((await held(name))?.spec.interfaces[0]?.mtu, 1450)
    const patch = JSON.stringify({ spec: { interfaces: [] } })
    await kubectl(['patch', 'mnnc', name, '-n', namespace, '--type=merge', '-p', patch])
    await eventually(async () => {
      await viola.post([aNodeOf(name)])
      assert.equal((await held(name))?.spec.interfaces.length, 1)
    })
    assert.deepEqual(actions(await viola.post([aNodeOf(name, 1, { instanceId: '' })])), ['updated'])
    assert.equal((await held(name))?.spec.instanceId, '')
  }
})

test('a field of another controller is reported, and taken only when asked to', async () => {
  const spec = { nodeName: 'contested', interfaces: [{ macAddress: '02:00:00:00:09:09', mtu: 9000 }] }
  const object = { metadata: { name: 'contested', namespace }, spec }
  await kube.apply<NodeConfig>(nodeConfigs, object, { fieldManager: 'net-controller' })
  const answer = await viola.post([aNodeOf('contested')])
  assert.equal(answer.status, 409)
  assert.match(answer.json.results[0].message, /\.spec\.interfaces: conflict with "net-controller"/)
})

test('a guarded write holds against a second writer and a moving status', async () => {
  const first = await viola.post([aNodeOf('guarded', 0)])
  const expectedSpecHash = first.json.results[0].specHash
  await kube.patchStatus(nodeConfigs, { namespace, name: 'guarded' }, { state: 'Pending' })
  const answers = await Promise.all([1, 2, 3].map(nics => viola.post([aNodeOf('guarded', nics, { expectedSpecHash })])))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409])
  assert.equal((await viola.post([aNodeOf('guarded', 4, { expectedSpecHash: '' })])).status, 409)
})

test('what we take, a real API server takes', async () => {
  await fc.assert(
    fc.asyncProperty(violaBodies, async body => {
      const headers = { 'content-type': 'application/json' }
      const answer = await viola.ask('POST', '/v1/k8s/multinic/node-configs', { body: JSON.stringify(body), headers })
      assert.ok([200, 400, 409].includes(answer.status), `${answer.status} ${answer.body}`)
    }),
    { numRuns: 10_000 },
  )
})
