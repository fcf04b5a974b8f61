/** spec.vmSelector: VMs join and leave the selection without an edit of the object. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addSubnet, type Server, type Subnet } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { bootWithPort } from '../../../test/operator/boot-with-port.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { removeValidationRules } from '../../../test/operator/validation-rules.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { keyOf } from '../../kube/keys.ts'

let environment: OperatorEnvironment
let storage: Subnet

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
})
afterEach(() => environment.close())

const boot = (name: string, more: Partial<Server> = {}) => bootWithPort(environment.cloudState, storage, name, more)

/** Reads of the cloud are kept for a minute: a person, or an event of the cloud, asks for a new one. */
async function refresh(): Promise<void> {
  const { metadata } = await environment.config()
  const annotations = { 'multinic.io/force-reconcile': String(performance.now()) }
  await environment.kube.patch(
    openstackConfigs,
    { namespace: metadata.namespace ?? '', name: metadata.name },
    { metadata: { annotations } },
  )
}

async function waitForDelivered(expected: string[]): Promise<void> {
  await eventually(async () => assert.deepEqual((await environment.deliveredTexts()).map(nodeOf), expected))
}

const nodeOf = (text: string) => text.split(':')[0]
const vmNames = undefined

test('a VM is selected by its name, metadata or tags, beside those of vmNames', async () => {
  const listed = boot('db-1')
  boot('worker-1', { metadata: { cluster: 'a' } })
  boot('worker-2', { tags: ['multinic'] })
  boot('other-1')
  await environment.startOperator()
  await environment.create({ vmNames: [listed.id], vmSelector: { namePattern: 'worker-*' } })
  await waitForDelivered(['db-1', 'worker-1', 'worker-2'])
  await environment.create({ name: 'more', vmNames, vmSelector: { metadata: { cluster: 'a' } } })
  await environment.create({ name: 'tagged', vmNames, vmSelector: { tags: ['multinic'] } })
  for (const name of ['more', 'tagged'])
    await eventually(async () => {
      const ready = (await environment.config(name)).status?.conditions?.find(({ type }) => type === 'Ready')
      assert.match(ready?.message ?? '', /^no port is selected; other OpenstackConfigs have 1 port of these VMs/)
    })
})

test('a new VM is found without an edit, and one that leaves loses its interfaces', async () => {
  const [first] = [boot('worker-1'), boot('worker-2'), boot('worker-3'), boot('worker-4'), boot('worker-5')]
  await environment.startOperator()
  await environment.create({ vmNames, vmSelector: { namePattern: 'worker-*' } })
  await waitForDelivered(['worker-1', 'worker-2', 'worker-3', 'worker-4', 'worker-5'])
  boot('worker-6')
  await refresh()
  await waitForDelivered(['worker-1', 'worker-2', 'worker-3', 'worker-4', 'worker-5', 'worker-6'])
  first.name = 'retired-1'
  await refresh()
  await waitForDelivered(['worker-2', 'worker-3', 'worker-4', 'worker-5', 'worker-6'])
})

test('VMs that leave together are held, and come back without a removal', async () => {
  const servers = ['worker-1', 'worker-2', 'worker-3'].map(name => boot(name, { metadata: { cluster: 'a' } }))
  await environment.startOperator()
  await environment.create({ vmNames, vmSelector: { metadata: { cluster: 'a' } } })
  await waitForDelivered(['worker-1', 'worker-2', 'worker-3'])
  for (const server of servers) server.metadata = {}
  await refresh()
  await eventually(async () => assert.equal((await environment.config()).status?.heldRemovals?.length, 3))
  for (const server of servers) server.metadata = { cluster: 'a' }
  await refresh()
  await eventually(async () => assert.deepEqual((await environment.config()).status?.heldRemovals ?? [], []))
  await waitForDelivered(['worker-1', 'worker-2', 'worker-3'])
})

test('an empty list, a Nova that fails and an account without its role remove nothing', async () => {
  boot('worker-1')
  await environment.startOperator()
  await environment.create({ vmNames, vmSelector: { namePattern: 'worker-*' } })
  await waitForDelivered(['worker-1'])
  const [before] = await environment.nodes()
  const { servers, faults } = environment.cloudState
  const kept = [...servers]
  const lastSync = async () => (await environment.config()).status?.lastSyncedAt
  const syncs = async () => {
    const before = await lastSync()
    await refresh()
    await eventually(async () => assert.notEqual(await lastSync(), before))
  }
  servers.clear()
  await syncs()
  for (const [id, server] of kept) servers.set(id, server)
  faults.failing = ['nova']
  await refresh()
  await eventually(async () => {
    const ready = (await environment.config()).status?.conditions?.find(({ type }) => type === 'Ready')
    assert.equal(ready?.reason, 'NovaError')
  })
  faults.failing = []
  await syncs()
  const [after] = await environment.nodes()
  assert.deepEqual(
    [after?.metadata.uid, after?.metadata.generation],
    [before?.metadata.uid, before?.metadata.generation],
  )
})

test('an interface is handed over to an object whose selector has its VM', async () => {
  boot('worker-1')
  await environment.startOperator()
  await environment.create({ name: 'one', vmNames: [...environment.cloudState.servers.keys()] })
  await waitForDelivered(['worker-1'])
  const two = await environment.create({ name: 'two', vmNames, vmSelector: { namePattern: 'worker-*' } })
  await eventually(async () => assert.ok((await environment.config('two')).status?.lastSyncedAt))
  const [before] = await environment.nodes()
  await environment.kube.delete(openstackConfigs, { namespace: two.metadata.namespace ?? '', name: 'one' })
  await eventually(async () => {
    const [node] = await environment.nodes()
    assert.deepEqual(
      node?.spec.interfaces.map(({ source }) => source),
      [keyOf(two)],
    )
    assert.equal(node?.metadata.uid, before?.metadata.uid)
  })
})

test('an API server without validation rules: an object that selects no VM, or every VM, is refused and removes nothing', async () => {
  boot('worker-1')
  await environment.startOperator()
  await environment.create({ vmNames, vmSelector: { namePattern: 'worker-*' } })
  await waitForDelivered(['worker-1'])
  const [before] = await environment.nodes()
  await removeValidationRules(environment.kube)
  const edit = (vmSelector: object | null) => {
    const patched = { spec: { vmSelector } }
    return environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, patched)
  }
  await eventually(() => edit({ namePattern: null }))
  await waitForReady(/^ConfigError: spec\.vmSelector: one of namePattern, metadata, tags and clusterNodes is required/)
  await edit(null)
  await waitForReady(/^ConfigError: spec: one of vmNames and vmSelector is required/)
  const [after] = await environment.nodes()
  assert.deepEqual(
    [after?.metadata.uid, after?.metadata.generation],
    [before?.metadata.uid, before?.metadata.generation],
  )
})

async function waitForReady(expected: RegExp): Promise<void> {
  await eventually(async () => {
    const ready = (await environment.config()).status?.conditions?.find(({ type }) => type === 'Ready')
    assert.match(`${ready?.reason}: ${ready?.message}`, expected)
  })
}

test('the API server refuses a selection that selects nothing or cannot be meant', async () => {
  await assert.rejects(environment.create({ vmNames }), /one of vmNames and vmSelector is required/)
  await assert.rejects(
    environment.create({ vmNames, vmSelector: {} }),
    /one of namePattern, metadata, tags and clusterNodes is required/,
  )
  await assert.rejects(environment.create({ vmNames, vmSelector: { tags: ['a,b'] } }), /vmSelector\.tags\[0]/)
})
