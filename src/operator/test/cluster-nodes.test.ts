/** spec.vmSelector.clusterNodes: the servers of the project that are Nodes of the cluster. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, test } from 'node:test'
import { addSubnet, type Server, type Subnet } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { bootWithPort } from '../../../test/operator/boot-with-port.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { startPostOnlyViolaStub, startViolaStub } from '../../../test/operator/viola-stubs.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { violaNodesPath } from '../../contract/viola.ts'
import { events, nodes } from '../../kube/resources.ts'

let environment: OperatorEnvironment
let storage: Subnet

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
})
afterEach(() => environment.close())

const boot = (name: string, more: Partial<Server> = {}) => bootWithPort(environment.cloudState, storage, name, more)

async function join(name: string, systemUUID: string): Promise<void> {
  await environment.kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
  await environment.kube.patchStatus(nodes, { name }, { nodeInfo: { systemUUID } })
}
const leave = (name: string) => environment.kube.delete(nodes, { name })

async function waitForDelivered(expected: string[]): Promise<void> {
  await eventually(async () =>
    assert.deepEqual(
      (await environment.deliveredTexts()).map(text => text.split(':')[0]),
      expected,
    ),
  )
}

const ready = async (name?: string) => {
  const { reason, message } =
    (await environment.config(name)).status?.conditions?.find(({ type }) => type === 'Ready') ?? {}
  return `${reason}: ${message}`
}
/** Only an event, or a person, starts the next sync. */
const rare = { pollFastInterval: '1h', pollSlowInterval: '1h', pollErrorInterval: '1h' }
const vmNames = undefined
const byNodes = { vmNames, vmSelector: { clusterNodes: true } }

async function syncAgain(name = 'main'): Promise<void> {
  const before = (await environment.config(name)).status?.lastSyncedAt
  const annotations = { 'multinic.io/force-reconcile': randomUUID() }
  await environment.kube.patch(openstackConfigs, { namespace, name }, { metadata: { annotations } })
  await eventually(async () => assert.notEqual((await environment.config(name)).status?.lastSyncedAt, before))
}

test('servers that are Nodes are selected, and what is no server or no Node is not', async () => {
  const [first, second] = [boot('worker-1'), boot('worker-2')]
  boot('no-node')
  await join('worker-1', first.id.toUpperCase())
  await join('worker-2', second.id)
  await join('elsewhere', randomUUID())
  await join('bare-metal', 'Not Settable')
  await environment.startOperator()
  await environment.create(byNodes)
  await waitForDelivered(['worker-1', 'worker-2'])
  await eventually(async () => {
    const { status } = await environment.config()
    assert.deepEqual(status?.ports?.first, [
      'bare-metal: NodeNotIdentified, the SystemUUID of Node bare-metal is "Not Settable"',
    ])
  })
  await eventually(async () => {
    const messages = (await environment.kube.list(events, { namespace })).items.map(({ message }) => message)
    assert.ok(
      messages.some(text => text?.endsWith(` of worker-1 (${first.id}): multinic0`)),
      messages.join('\n'),
    )
  })
  const verdicts = environment.verdicts.flatMap(write => write.verdicts)
  assert.deepEqual(
    [...new Set(verdicts.filter(({ reason }) => reason === 'NodeNotSelected').map(({ vm }) => vm))],
    ['elsewhere'],
  )
})

test('all conditions must be met, and a Node alone does not select a server', async () => {
  const servers = [boot('worker-1', { metadata: { pool: 'a' } }), boot('worker-2'), boot('db-1')]
  for (const { name, id } of servers) await join(name, id)
  boot('worker-3', { metadata: { pool: 'a' } })
  await environment.startOperator()
  await environment.create({ vmNames, vmSelector: { clusterNodes: true, metadata: { pool: 'a' } } })
  await waitForDelivered(['worker-1'])
})

test('a server that joins the cluster is found at once, without polling and without a message bus', async () => {
  const first = boot('worker-1')
  await join('worker-1', first.id)
  await environment.startOperator()
  for (const name of ['main', 'second']) await environment.create({ name, ...byNodes, settings: rare })
  await waitForDelivered(['worker-1'])
  const second = boot('worker-2')
  await join('worker-2', second.id)
  await waitForDelivered(['worker-1', 'worker-2'])
})

test('the interfaces of a deleted Node stay until a person approves, and a Node that joins again changes nothing', async () => {
  const [first, second] = [boot('worker-1'), boot('worker-2')]
  await join('worker-1', first.id)
  await join('worker-2', second.id)
  await environment.startOperator()
  await environment.create({ ...byNodes, settings: rare })
  await waitForDelivered(['worker-1', 'worker-2'])
  const before = (await environment.nodes()).map(({ metadata }) => [metadata.uid, metadata.generation])
  const onHold = async () => (await environment.config()).status?.heldRemovals ?? []
  await leave('worker-1')
  await eventually(async () => assert.equal((await onHold()).length, 1))
  assert.match((await onHold())[0] ?? '', /^worker-1 multinic0 .*: its VM is no longer a Node of the cluster$/)
  await join('worker-1', first.id)
  await eventually(async () => assert.deepEqual(await onHold(), []))
  assert.deepEqual(
    (await environment.nodes()).map(({ metadata }) => [metadata.uid, metadata.generation]),
    before,
  )
  await leave('worker-2')
  await eventually(async () => assert.equal((await onHold()).length, 1))
  await environment.kube.patch(
    openstackConfigs,
    { namespace, name: 'main' },
    { metadata: { annotations: { 'multinic.io/approve-removals': 'yes' } } },
  )
  await waitForDelivered(['worker-1'])
})

test('a server that is deleted with its Node is removed without approval', async () => {
  const [first, second] = [boot('worker-1'), boot('worker-2')]
  await join('worker-1', first.id)
  await join('worker-2', second.id)
  await environment.startOperator()
  await environment.create(byNodes)
  await waitForDelivered(['worker-1', 'worker-2'])
  const { servers, ports } = environment.cloudState
  servers.delete(second.id)
  for (const [id, port] of ports) if (port.deviceId === second.id) ports.delete(id)
  await leave('worker-2')
  await syncAgain()
  await waitForDelivered(['worker-1'])
})

test('a cluster without Nodes is an error that removes nothing', async () => {
  const first = boot('worker-1')
  await join('worker-1', first.id)
  await environment.startOperator()
  await environment.create(byNodes)
  await waitForDelivered(['worker-1'])
  const [before] = await environment.nodes()
  await leave('worker-1')
  await eventually(async () => assert.equal(await ready(), 'ClusterNodesError: viola: the cluster has no Nodes'))
  assert.deepEqual((await environment.config()).status?.heldRemovals ?? [], [])
  const [after] = await environment.nodes()
  assert.deepEqual(
    [after?.metadata.uid, after?.metadata.generation],
    [before?.metadata.uid, before?.metadata.generation],
  )
})

test('a condition other than clusterNodes that is no longer met follows the removal brake', async () => {
  const servers = ['1', '2', '3', '4', '5', '6'].map(n => boot(`worker-${n}`))
  for (const { name, id } of servers) await join(name, id)
  await environment.startOperator()
  await environment.create({ vmNames, vmSelector: { clusterNodes: true, namePattern: 'worker-*' } })
  await waitForDelivered(servers.map(({ name }) => name))
  Object.assign(servers[0] ?? {}, { name: 'retired-1' })
  await syncAgain()
  await waitForDelivered(['worker-2', 'worker-3', 'worker-4', 'worker-5', 'worker-6'])
})

for (const [kind, start] of Object.entries({
  'that serves only POST': startPostOnlyViolaStub,
  'that does not list Nodes': async () => {
    const viola = await startViolaStub()
    viola.fault = ({ path }) =>
      path.startsWith(violaNodesPath)
        ? { status: 404, body: { detail: `no route for GET ${violaNodesPath}` } }
        : undefined
    return viola
  },
}))
  test(`a Viola ${kind} is an error with a remedy: nothing is removed, and vmNames still work`, async () => {
    const [first, second] = [boot('worker-1'), boot('worker-2')]
    await join('worker-1', first.id)
    await environment.startOperator()
    const viola = await start()
    const sent = () => viola.requests.filter(({ method }) => method !== 'GET').map(({ method, body }) => method + body)
    try {
      await environment.create({ vmNames: [first.id], settings: { violaEndpoint: viola.url } })
      await eventually(() => assert.match(sent().join(), /worker-1/))
      const spec = { vmNames: [second.id], vmSelector: { clusterNodes: true } }
      await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { spec })
      const expected = /^ClusterNodesError: viola: GET \S+\/nodes: HTTP 40[45]: this Viola does not list Nodes/
      await eventually(async () => assert.match(await ready(), expected))
      await eventually(() => assert.match(sent().join(), /worker-2/))
      assert.deepEqual(
        sent().filter(text => /^DELETE|"interfaces":\[\]/.test(text)),
        [],
      )
    } finally {
      await viola[Symbol.asyncDispose]()
    }
  })

test('the API server refuses a selector that is false', async () => {
  const refused = environment.create({ vmNames, vmSelector: { clusterNodes: false } })
  await assert.rejects(refused, /one of namePattern, metadata, tags and clusterNodes is required/)
})
