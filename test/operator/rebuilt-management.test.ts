/** A management cluster without etcd and inventory is built again beside a Biz cluster that kept its node configs. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import {
  type OpenstackConfig,
  openstackConfigAnnotations,
  openstackConfigs,
} from '../../src/contract/openstack-config.ts'
import { eventually } from '../support/eventually.ts'
import { startHttpServer } from './benchmark-stubs.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from './environment.ts'
import { fileOf, type RebuiltManagement, rebuildManagement, writtenTo } from './rebuilt.ts'

let environment: OperatorEnvironment
let rebuilt: RebuiltManagement
let stop: () => Promise<void>
let storage: Subnet
let backup: Subnet
let workers: Server[]

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/16', mtu: 9000 })
  backup = addSubnet(environment.cloudState, { name: 'backup', cidr: '10.20.0.0/16', mtu: 1500 })
  rebuilt = await rebuildManagement(environment)
})
afterEach(async () => {
  await rebuilt[Symbol.asyncDispose]()
  await environment.close()
})

/** The youngest subnet first, so that a new order would give other numbers. */
async function addNodes(count: number): Promise<void> {
  workers = Array.from({ length: count }, (_, n) => addServer(environment.cloudState, `worker-${n + 1}`))
  for (const [n, server] of workers.entries()) for (const subnet of [backup, storage]) attach(server, subnet, n)
}

function attach(server: Server, subnet: Subnet, n: number): void {
  const address = subnet.cidr.replace('0.0/16', `${(n + 10) >> 8}.${(n + 10) & 255}`)
  setPortStatus(environment.cloudState, addPort(environment.cloudState, { server, subnet, address }).id, 'ACTIVE')
}

/** Both objects deliver, one after the other. The management cluster is then lost. */
async function loseManagement({
  nodes = 2,
  vmSelector = false,
} = {}): Promise<Record<'first' | 'second', OpenstackConfig>> {
  await addNodes(nodes)
  stop = await environment.startOperator()
  const selection = vmSelector ? { vmNames: undefined as never, vmSelector: { namePattern: 'worker-*' } } : {}
  for (const [name, subnet] of [
    ['second', backup],
    ['first', storage],
  ] as const) {
    await environment.create({ name, subnetIDs: [subnet.id], ...selection })
    await eventually(async () => assert.equal((await environment.config(name)).status?.nodes?.total, nodes), {
      within: 110_000,
    })
  }
  await stop()
  const [first, second] = [await environment.config('first'), await environment.config('second')]
  return { first: fileOf(first), second: fileOf(second) }
}

async function adopted(name: string, nodes: number): Promise<void> {
  await eventually(
    async () => {
      const { status } = await rebuilt.config(name)
      assert.deepEqual([status?.nodes?.total, status?.lastError], [nodes, undefined])
    },
    { within: 110_000 },
  )
}

async function holds(name: string): Promise<string[]> {
  return (await rebuilt.config(name)).status?.heldRemovals ?? []
}

test('1000 nodes: everything is adopted without a write', async t => {
  const nodes = 1000
  const { first, second } = await loseManagement({ nodes })
  const before = await writtenTo(environment)
  assert.equal(Object.keys(before).length, nodes)
  const started = performance.now()
  await rebuilt.apply(first, second)
  await rebuilt.startOperator(await rebuilt.startViola())
  for (const name of ['first', 'second']) await adopted(name, nodes)
  await eventually(async () => assert.equal((await rebuilt.recordedNodes()).length, nodes), { within: 110_000 })
  t.diagnostic(`${nodes} nodes adopted in ${((performance.now() - started) / 1_000).toFixed(1)} s`)
  assert.deepEqual(await writtenTo(environment), before)
})

for (const vmSelector of [false, true])
  test(`one of two objects is late, ${vmSelector ? 'with vmSelector' : 'with vmNames'}: nobody writes its interfaces`, async () => {
    const { first, second } = await loseManagement({ vmSelector })
    const before = await writtenTo(environment)
    await rebuilt.apply(second)
    await rebuilt.startOperator(await rebuilt.startViola())
    await adopted('second', 2)
    assert.deepEqual(await writtenTo(environment), before)
    await rebuilt.apply(first)
    await adopted('first', 2)
    assert.deepEqual(await writtenTo(environment), before)
  })

test('an object that is late and selects the same ports: they keep their names, and stay when the others are deleted', async () => {
  const { first, second } = await loseManagement()
  const before = await environment.deliveredTexts()
  await rebuilt.apply({ ...second, spec: { ...second.spec, subnetIDs: [storage.id, backup.id] } })
  await rebuilt.startOperator(await rebuilt.startViola())
  await adopted('second', 2)
  await rebuilt.apply(first)
  await eventually(async () => assert.ok((await rebuilt.config('first')).status?.ports))
  assert.deepEqual(await environment.deliveredTexts(), before)
  await rebuilt.kube.delete(openstackConfigs, { namespace: 'multinic-system', name: 'second' })
  await adopted('first', 2)
  const sources = async () =>
    (await environment.nodes()).map(({ spec }) => spec.interfaces.map(({ name, source }) => `${name} ${source}`))
  await eventually(async () =>
    assert.deepEqual(await sources(), [['multinic1 multinic-system/first'], ['multinic1 multinic-system/first']]),
  )
})

test('objects are applied while Viola does not answer, or a proxy answers for it', async () => {
  const { first, second } = await loseManagement()
  const before = await writtenTo(environment)
  const viola = await rebuilt.startViola()
  let hidden: 'all' | 'reads' | 'nothing' = 'all'
  let posts = 0
  const proxy = await startHttpServer(async ({ method = '', url = '', headers }, response, body) => {
    if (hidden === 'all' || (hidden === 'reads' && method === 'GET')) {
      response.writeHead(hidden === 'all' ? 503 : 404, { 'content-type': 'text/plain' }).end('default backend')
      return
    }
    if (method === 'POST') posts++
    // The stream of changes is not served: it would keep the proxy open.
    if (headers.accept?.includes('text/event-stream')) return void response.writeHead(404).end()
    const { authorization = '', 'content-type': type = '', 'x-provider-id': provider = '' } = headers
    const sent = { authorization, 'x-provider-id': String(provider), ...(body && { 'content-type': type }) }
    const answer = await fetch(viola + url, { method, headers: sent, ...(body && { body }) })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  try {
    await rebuilt.apply(first, second)
    await rebuilt.startOperator(proxy.url)
    await eventually(async () => assert.match((await rebuilt.config('first')).status?.lastError ?? '', /^ViolaError/))
    hidden = 'reads'
    await eventually(() => assert.ok(posts > 0))
    await eventually(async () =>
      assert.match((await rebuilt.config('first')).status?.lastError ?? '', /already has a config, expected none/),
    )
    hidden = 'nothing'
    for (const name of ['first', 'second']) await adopted(name, 2)
    assert.deepEqual(await writtenTo(environment), before)
  } finally {
    await proxy.close()
  }
})

test('an older file with fewer VMs and subnets, and an old approval: nothing is removed until a new approval', async () => {
  const { first, second } = await loseManagement()
  const before = await writtenTo(environment)
  const other = addSubnet(environment.cloudState, { name: 'other', cidr: '10.30.0.0/24', mtu: 1500 })
  const approved = { [openstackConfigAnnotations.approveRemovals]: 'of the lost object' }
  await rebuilt.apply(
    {
      ...first,
      metadata: { ...first.metadata, annotations: approved },
      spec: { ...first.spec, vmNames: ['worker-1'] },
    },
    { ...second, spec: { ...second.spec, subnetIDs: [other.id] } },
  )
  await rebuilt.startOperator(await rebuilt.startViola())
  await eventually(async () => assert.equal((await holds('first')).length, 1))
  await eventually(async () => assert.equal((await holds('second')).length, 2))
  const syncs = async () => (await rebuilt.config('first')).status?.nextSyncAt
  const at = await syncs()
  await eventually(async () => assert.notEqual(await syncs(), at))
  assert.match((await holds('first')).join(), /^worker-2 multinic1 \(port .*\): its VM is no longer in vmNames$/)
  assert.match((await holds('second')).join(), /^worker-1 multinic0 .*: its subnet is no longer selected,/)
  assert.deepEqual(await writtenTo(environment), before)
  const annotations = { [openstackConfigAnnotations.approveRemovals]: 'today' }
  await rebuilt.kube.patch(
    openstackConfigs,
    { namespace: 'multinic-system', name: 'first' },
    { metadata: { annotations } },
  )
  await eventually(async () =>
    assert.deepEqual(
      (await environment.deliveredTexts()).map(text => text.split('=')[0]),
      ['worker-1: multinic0', 'worker-2: multinic0'],
    ),
  )
  await eventually(async () => assert.deepEqual(await holds('first'), []))
})

test('a name that means another subnet, or a VM that vmSelector does not find: its interfaces stay', async () => {
  await addNodes(1)
  stop = await environment.startOperator()
  await environment.create({ name: 'named', subnetIDs: [], subnets: [{ name: 'storage' }] })
  await environment.create({
    ...{ name: 'selected', subnetIDs: [backup.id], vmSelector: { namePattern: 'worker-*' } },
    vmNames: undefined as never,
  })
  for (const name of ['named', 'selected'])
    await eventually(async () => assert.equal((await environment.config(name)).status?.nodes?.total, 1))
  await stop()
  const before = await writtenTo(environment)
  storage.name = 'storage before'
  addSubnet(environment.cloudState, { name: 'storage', cidr: '10.30.0.0/24', mtu: 1500 })
  const selected = fileOf(await environment.config('selected'))
  await rebuilt.apply(fileOf(await environment.config('named')), {
    ...selected,
    spec: { ...selected.spec, vmSelector: { namePattern: 'other-*' } },
  })
  await rebuilt.startOperator(await rebuilt.startViola())
  for (const name of ['named', 'selected']) await eventually(async () => assert.equal((await holds(name)).length, 1))
  assert.deepEqual(await writtenTo(environment), before)
})

test('a port that was attached in the meantime is older than the object, unless the file names an earlier time', async () => {
  const { first, second } = await loseManagement()
  const before = await environment.deliveredTexts()
  const [worker] = workers as [Server]
  const hourAgo = new Date(Date.now() - 3_600_000)
  attach(worker, storage, 500)
  for (const port of environment.cloudState.ports.values()) port.createdAt = hourAgo
  const settings = { ...first.spec.settings, openstackPortBaseline: 'creationTime' }
  const late = { ...first, spec: { ...first.spec, settings } }
  await rebuilt.apply(late, second)
  await rebuilt.startOperator(await rebuilt.startViola())
  await adopted('first', 2)
  assert.deepEqual((await rebuilt.config('first')).status?.ports?.skipped, { PortTooOld: 1 })
  assert.deepEqual(await environment.deliveredTexts(), before)
  const openstackPortBaseline = new Date(Date.now() - 7_200_000).toISOString()
  await rebuilt.apply({ ...late, spec: { ...late.spec, settings: { ...settings, openstackPortBaseline } } })
  await eventually(async () =>
    assert.deepEqual(await environment.deliveredTexts(), [`${before[0]} multinic2=10.10.1.254`, before[1]]),
  )
})

test('a request to renumber in the file moves nothing', async () => {
  const { first, second } = await loseManagement()
  const moves = [...environment.cloudState.ports.values()]
    .filter(({ fixedIps }) => fixedIps[0]?.subnetId === storage.id)
    .map((port, n) => ({ nodeName: `worker-${n + 1}`, portId: port.id, to: 'multinic5' }))
  for (const { metadata, spec } of await environment.nodes())
    await environment.report(metadata.name, {
      ...{ state: 'Configured', observedGeneration: metadata.generation ?? 0 },
      interfaceStatuses: spec.interfaces.map(({ id, name, portId, macAddress }) => ({
        ...{ id, name, portId, macAddress, status: 'Configured' as const },
      })),
    })
  const reported = await writtenTo(environment)
  const annotations = { [openstackConfigAnnotations.renumber]: JSON.stringify({ requestedAt: 'then', moves }) }
  const { subnetIDs: _, ...spec } = first.spec
  await rebuilt.apply(
    {
      ...first,
      metadata: { ...first.metadata, annotations },
      spec: { ...spec, subnets: [{ id: storage.id, index: 5 }] },
    },
    second,
  )
  await rebuilt.startOperator(await rebuilt.startViola())
  await eventually(async () => assert.equal((await rebuilt.config('first')).status?.renumber?.state, 'Stopped'))
  assert.match((await rebuilt.config('first')).status?.renumber?.message ?? '', /^the request came with the object/)
  assert.deepEqual(await writtenTo(environment), reported)
})
