/**
 * Deletions while Viola fails, over real HTTP: an object that never delivered anything goes at once, and one that may have
 * waits, whatever was lost in between.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { startViolaStub, type ViolaStub } from '../../../test/operator/viola-stubs.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { events, secrets } from '../../kube/resources.ts'

let environment: OperatorEnvironment
let viola: ViolaStub
let subnet: Subnet
let server: Server
const within = { within: 20_000 }

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  viola = await startViolaStub()
  subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  server = addServer(environment.cloudState, 'worker-1')
  const { id } = addPort(environment.cloudState, { server, subnet })
  setPortStatus(environment.cloudState, id, 'ACTIVE')
})
afterEach(async () => {
  await environment.close()
  await viola[Symbol.asyncDispose]()
})

const settings = () => ({ violaEndpoint: viola.url, violaTimeout: '500ms' })

async function ready(name = 'main'): Promise<string> {
  const found = (await environment.config(name)).status?.conditions?.find(({ type }) => type === 'Ready')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

const deleteConfig = (name = 'main') => environment.kube.delete(openstackConfigs, { namespace, name })

async function waitUntilGone(name = 'main', ms = 3_000): Promise<void> {
  const at = { namespace, name }
  await eventually(async () => assert.equal(await environment.kube.get(openstackConfigs, at), undefined), {
    within: ms,
  })
}

async function waitForPending(name = 'main'): Promise<void> {
  await eventually(async () => assert.match(await ready(name), /^False RemovalPending: /), within)
}

const refuseAll = { status: 503, body: { title: 'no', status: 503, detail: 'maintenance' } }

test('an object with a mistyped cluster says so, and goes at once when it is deleted', async () => {
  const { provider, project } = environment.cloudState
  await environment.startOperator()
  await environment.create({
    credentials: { openstackProviderID: provider.id, k8sProviderID: 'biz-l', projectID: project.id },
  })
  await eventually(
    async () =>
      assert.equal(
        await ready(),
        'False ProviderUnknown: spec.credentials.k8sProviderID: Viola knows no cluster biz-l; known clusters: biz-1, biz-2',
      ),
    within,
  )
  await deleteConfig()
  await waitUntilGone()
  const { items } = await environment.kube.list(events, { namespace })
  assert.deepEqual(
    items.filter(({ reason }) => reason === 'RemovalPending'),
    [],
  )
})

test('an object that never delivered anything goes at once without its Secret and its Viola', async () => {
  await environment.startOperator()
  await environment.create({
    settings: { violaEndpoint: 'http://127.0.0.1:9' },
    secrets: { violaTokenSecretRef: { name: 'nowhere', key: 'token' } },
  })
  await eventually(async () => assert.match(await ready(), /^False ConfigError/), within)
  await environment.kube.delete(secrets, { namespace, name: 'contrabass-encrypt-key' })
  await deleteConfig()
  await waitUntilGone()
})

test('the cluster is in the status before the first POST', async () => {
  let posts = 0
  viola.fault = request => {
    if (request.method !== 'POST') return undefined
    posts++
    return { status: 200, hang: true }
  }
  const stop = await environment.startOperator()
  await environment.create({ settings: { ...settings(), violaTimeout: '60s' } })
  await eventually(() => assert.equal(posts, 1), within)
  assert.deepEqual((await environment.config()).status?.deliveredTo, { viola: viola.url, providerId: 'biz-1' })
  await stop()
})

test('an operator that is killed after its first POST leaves an object that waits for its Viola', async () => {
  const stop = await environment.startOperator()
  viola.fault = () => refuseAll
  await environment.create({ settings: { ...settings(), violaTimeout: '60s' } })
  await eventually(async () => assert.match(await ready(), /^False ViolaError/), within)
  let isPosted = false
  viola.fault = request => {
    isPosted ||= request.method === 'POST'
    return request.method === 'POST' ? { status: 200, hang: true } : undefined
  }
  await eventually(() => assert.ok(isPosted), within)
  await stop()
  await deleteConfig()
  viola.fault = () => refuseAll
  await environment.startOperator()
  await waitForPending()
})

test('an object whose first POST got no answer waits for its Viola, and its interfaces are removed', async () => {
  await environment.startOperator()
  viola.losesAnswers = true
  let posts = 0
  viola.fault = request => {
    if (request.method === 'POST') posts++
    return posts > 0 && request.method === 'GET' ? refuseAll : undefined
  }
  await environment.create({ settings: settings() })
  await eventually(async () => assert.match(await ready(), /^False ViolaError/), within)
  assert.equal(viola.delivered().length, 1)
  await deleteConfig()
  await waitForPending()
  viola.fault = () => undefined
  await waitUntilGone('main', 20_000)
  assert.deepEqual(viola.delivered(), [])
})

test('an object that gets interfaces of a deleted one is marked before it has them', async () => {
  const stop = await environment.startOperator()
  await environment.create({ settings: settings() })
  await eventually(() => assert.equal(viola.delivered().length, 1), within)
  await eventually(async () => assert.match(await ready(), /^True /), within)
  // It selects the same port, and its own Viola never answers.
  await environment.create({ name: 'heir', settings: { violaEndpoint: 'http://127.0.0.1:9' } })
  await eventually(async () => assert.match(await ready('heir'), /^False ViolaError/), within)
  await deleteConfig()
  await waitUntilGone('main', 20_000)
  assert.ok((await environment.config('heir')).status?.deliveredTo)
  assert.equal(viola.delivered().length, 1)
  await deleteConfig('heir')
  await waitForPending('heir')
  await stop()
})
