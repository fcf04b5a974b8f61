/** The operator and a separate inventory, over real HTTP. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import {
  addPort,
  addServer,
  addSubnet,
  type Port,
  removePort,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../../src/contract/openstack-config.ts'
import { type OperatorVerdict, verdictsAnswer, verdictsPath } from '../../src/contract/operator-api.ts'
import { type RunningInventory, startInventory } from '../../src/inventory/main.ts'
import { events } from '../../src/kube/resources.ts'
import { silent } from '../../src/telemetry/log.ts'
import { startStubServer } from '../openstack/stub-server.ts'
import { grant, rules } from '../support/access.ts'
import { eventually } from '../support/eventually.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from './environment.ts'

const token = 'a-token-of-the-operator'
let dir: string
let environment: OperatorEnvironment
let inventory: RunningInventory
let server: Server
let subnet: Subnet
let first: Port

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-'))
  await writeFile(join(dir, 'token'), `${token}\n`)
  await writeFile(join(dir, 'writer'), 'a-token-for-writes-only')
  await writeFile(
    join(dir, 'tokens.yaml'),
    `tokens:\n  - { user: operator, token: ${token} }\n  - { user: writer, token: a-token-for-writes-only }\n`,
  )
  environment = await startOperatorEnvironment()
  await grant(environment.kube, 'operator', [rules.readInventory, rules.readConfigs, rules.writeProvider()])
  await grant(environment.kube, 'writer', [rules.writeProvider()])
  server = addServer(environment.cloudState, 'worker-1')
  subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  first = attach('10.10.0.10')
  inventory = await openInventory('127.0.0.1:0')
})
afterEach(async () => {
  await environment.close()
  await inventory.close()
  await rm(dir, { recursive: true, force: true })
})

function openInventory(address: string): Promise<RunningInventory> {
  const env = {
    INVENTORY_ADDR: address,
    INVENTORY_DB_PATH: join(dir, 'inventory.db'),
    INVENTORY_TOKENS_FILE: join(dir, 'tokens.yaml'),
    KUBECONFIG: environment.api.kubeconfig,
  }
  return startInventory({ env, log: silent })
}

function attach(address: string): Port {
  const port = addPort(environment.cloudState, { server, subnet, address })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  return port
}

async function recordedNodes(): Promise<{ nodeName: string; instanceName?: string }[]> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${inventory.url}/v1/inventory/node-configs`, { headers })
  assert.equal(answer.status, 200)
  return answer.json() as Promise<{ nodeName: string; instanceName?: string }[]>
}

async function nodeNames(): Promise<string[]> {
  return (await recordedNodes()).map(({ nodeName }) => nodeName)
}

const within = { within: 30_000 }

test('records are written with the token of the file', async () => {
  await environment.startOperator({ INVENTORY_URL: inventory.url, INVENTORY_TOKEN_FILE: join(dir, 'token') })
  await environment.create({})
  await eventually(async () => assert.deepEqual(await nodeNames(), ['worker-1']), within)
})

test('nodes are delivered while the inventory is down, and recorded when it is back', async () => {
  const { url } = inventory
  await inventory.close()
  await environment.startOperator({ INVENTORY_URL: url, INVENTORY_TOKEN_FILE: join(dir, 'token') })
  await environment.create({})
  await eventually(
    async () => assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10']),
    within,
  )
  inventory = await openInventory(new URL(url).host)
  await eventually(async () => assert.deepEqual(await nodeNames(), ['worker-1']), within)
})

test('a renamed VM whose node config was deleted has one node in the inventory', async () => {
  await environment.startOperator({ INVENTORY_URL: inventory.url, INVENTORY_TOKEN_FILE: join(dir, 'token') })
  await environment.create({ vmNames: [server.id] })
  await eventually(async () => assert.deepEqual(await nodeNames(), ['worker-1']), within)
  server.name = 'renamed'
  const annotations = { [openstackConfigAnnotations.forceReconcile]: 'now' }
  await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations } })
  await eventually(async () => assert.equal((await recordedNodes())[0]?.instanceName, 'renamed'), within)
  await environment.kube.delete(nodeConfigs, { namespace, name: 'worker-1' })
  await eventually(async () => assert.deepEqual(await nodeNames(), ['renamed']), within)
})

test('a VM that was renamed while the operator did not run has one node in the inventory', async () => {
  const env = { INVENTORY_URL: inventory.url, INVENTORY_TOKEN_FILE: join(dir, 'token') }
  const stop = await environment.startOperator(env)
  await environment.create({ vmNames: [server.id] })
  await eventually(async () => assert.deepEqual(await nodeNames(), ['worker-1']), within)
  await stop()
  server.name = 'renamed'
  await environment.kube.delete(nodeConfigs, { namespace, name: 'worker-1' })
  await environment.startOperator(env)
  await eventually(async () => assert.deepEqual(await nodeNames(), ['renamed']), within)
})

async function verdictsOf(query = ''): Promise<OperatorVerdict[] | undefined> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${inventory.url}${verdictsPath}${query}`, { headers })
  return answer.status === 204 ? undefined : verdictsAnswer.parse(await answer.json()).verdicts
}

test('a verdict reaches the inventory with its reason and its remedy, and leaves it with its port and its object', async () => {
  const late = addPort(environment.cloudState, { server, subnet, address: '10.10.0.11' })
  setPortStatus(environment.cloudState, late.id, 'BUILD')
  assert.equal(await verdictsOf(), undefined)
  await environment.startOperator({ INVENTORY_URL: inventory.url, INVENTORY_TOKEN_FILE: join(dir, 'token') })
  await environment.create({})
  await eventually(async () => {
    assert.deepEqual(await verdictsOf(`?config=${namespace}/main&port=${late.id}`), [
      {
        config: `${namespace}/main`,
        providerId: clusterId,
        portId: late.id,
        vm: server.id,
        vmName: 'worker-1',
        reason: 'PortStatusNotAllowed',
        message: 'the status of the port is BUILD',
        remedy: 'Wait until the status changes, or extend openstackPortAllowedStatuses.',
      },
    ])
  }, within)
  const selected = (await verdictsOf(`?selected=true&vm=${server.id}`)) ?? []
  assert.deepEqual(
    selected.map(({ name, portSecurity }) => [name, portSecurity]),
    [['multinic0', { enabled: true, allowedAddressPairs: [] }]],
  )
  removePort(environment.cloudState, late.id)
  await eventually(async () => assert.deepEqual(await verdictsOf('?selected=false'), []), within)
  await environment.kube.delete(openstackConfigs, { namespace, name: 'main' })
  await eventually(async () => assert.equal(await verdictsOf(), undefined), within)
})

test('a restarted operator replaces verdicts that are no longer true', async () => {
  const late = addPort(environment.cloudState, { server, subnet, address: '10.10.0.11' })
  setPortStatus(environment.cloudState, late.id, 'BUILD')
  const env = { INVENTORY_URL: inventory.url, INVENTORY_TOKEN_FILE: join(dir, 'token') }
  const stop = await environment.startOperator(env)
  await environment.create({})
  await eventually(async () => assert.equal((await verdictsOf('?selected=false'))?.length, 1), within)
  await stop()
  removePort(environment.cloudState, late.id)
  await environment.startOperator(env)
  await eventually(async () => assert.deepEqual(await verdictsOf('?selected=false'), []), within)
})

test('a deleted object waits for an inventory that is down, so that its verdicts do not stay', async () => {
  const { url } = inventory
  await environment.startOperator({ INVENTORY_URL: url, INVENTORY_TOKEN_FILE: join(dir, 'token') })
  await environment.create({})
  await eventually(async () => assert.equal((await verdictsOf('?selected=true'))?.length, 1), within)
  await inventory.close()
  await environment.kube.delete(openstackConfigs, { namespace, name: 'main' })
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), []), within)
  assert.ok(await environment.config(), 'the object is still there')
  await eventually(async () => {
    const { items } = await environment.kube.list(events, { namespace })
    assert.ok(items.some(({ reason, message }) => reason === 'RemovalPending' && /verdicts/.test(message ?? '')))
  }, within)
  inventory = await openInventory(new URL(url).host)
  await eventually(async () => assert.equal(await verdictsOf(), undefined), within)
})

const configMaps = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true } as const

/** What the operator keeps in its namespace. */
async function loseNamespace(): Promise<void> {
  const { items } = await environment.kube.list(configMaps, { namespace })
  assert.ok(items.length > 0)
  for (const { metadata } of items) await environment.kube.delete(configMaps, { namespace, name: metadata.name })
}

test('operator 15a: after the loss of its namespace the operator takes the indexes from the inventory', async () => {
  const posts: { nodeName: string; interfaces: { name: string; address: string }[] }[] = []
  await using postOnly = await startStubServer(({ method, body }) => {
    if (method !== 'POST') return { status: 405, body: 'method not allowed' }
    posts.push(...JSON.parse(body))
    return { status: 200, body: { applied: 1, output: '' } }
  })
  const waitForPost = (expected: string, after = 0) =>
    eventually(() => {
      const last = posts.slice(after).at(-1)
      assert.equal(
        [last?.nodeName, ...(last?.interfaces ?? []).map(nic => `${nic.name}=${nic.address}`)].join(' '),
        expected,
      )
    }, within)
  const env = {
    INVENTORY_URL: inventory.url,
    INVENTORY_TOKEN_FILE: join(dir, 'writer'),
    VIOLA_ENDPOINT: postOnly.url,
  }
  const stop = await environment.startOperator(env)
  await environment.create({})
  await waitForPost('worker-1 multinic0=10.10.0.10')
  attach('10.10.0.11')
  await waitForPost('worker-1 multinic0=10.10.0.10 multinic1=10.10.0.11')
  removePort(environment.cloudState, first.id)
  await waitForPost('worker-1 multinic1=10.10.0.11')
  const recorded = async () => (await inventory.recorder.list('biz-1')).flatMap(one => one.config.interfaces)
  await eventually(
    async () =>
      assert.deepEqual(
        (await recorded()).map(({ name }) => name),
        ['multinic1'],
      ),
    within,
  )
  await stop()

  // Nothing says which indexes the node has: they are not guessed.
  const { url } = inventory
  await inventory.close()
  await loseNamespace()
  const sent = posts.length
  const next = await environment.startOperator(env)
  await eventually(async () => {
    const ready = (await environment.config()).status?.conditions?.find(({ type }) => type === 'Ready')
    assert.match(ready?.message ?? '', /ports would get new indexes/)
  }, within)
  inventory = await openInventory(new URL(url).host)
  await waitForPost('worker-1 multinic1=10.10.0.11', sent)
  await next()

  // From then on the inventory is not needed.
  await inventory.close()
  await environment.startOperator(env)
  attach('10.10.0.12')
  await waitForPost('worker-1 multinic1=10.10.0.11 multinic2=10.10.0.12')
  inventory = await openInventory(new URL(url).host)
})
