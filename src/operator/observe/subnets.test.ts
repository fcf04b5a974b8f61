/** spec.subnets: subnets by ID or by name, each with the index of its interfaces. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { startStubServer } from '../../../test/openstack/stub-server.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { WireInterface } from '../../contract/interfaces.ts'
import { type OpenstackConfigSpec, openstackConfigs } from '../../contract/openstack-config.ts'

let environment: OperatorEnvironment
let storage: Subnet
let backup: Subnet
let workers: Server[]

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  const { cloudState } = environment
  storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  backup = addSubnet(cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1500 })
  workers = ['worker-1', 'worker-2'].map(name => addServer(cloudState, name))
})
afterEach(() => environment.close())

function attach(worker: number, subnet: Subnet, address: string): void {
  const [server, { cloudState }] = [workers[worker], environment]
  if (server) setPortStatus(cloudState, addPort(cloudState, { server, subnet, address }).id, 'ACTIVE')
}

type Subnets = OpenstackConfigSpec['subnets']

const create = (subnets: Subnets) => environment.create({ subnets, subnetIDs: [] })
const edit = (subnets: Subnets) =>
  environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { spec: { subnets } })

async function waitForDelivered(expected: string[]): Promise<void> {
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), expected))
}

async function waitForCondition(type: string, expected: RegExp): Promise<void> {
  await eventually(async () => {
    const { status } = await environment.config()
    const found = status?.conditions?.find(one => one.type === type)
    assert.match(`${found?.status} ${found?.reason}: ${found?.message}`, expected)
  })
}

test('one name means one network on every node, whichever port is attached first', async () => {
  attach(0, backup, '10.20.0.10')
  attach(1, storage, '10.10.0.11')
  await environment.startOperator()
  await create([
    { name: 'storage', index: 0 },
    { id: backup.id, index: 1 },
  ])
  await waitForDelivered(['worker-1: multinic1=10.20.0.10', 'worker-2: multinic0=10.10.0.11'])
  attach(0, storage, '10.10.0.10')
  attach(1, backup, '10.20.0.11')
  await waitForDelivered([
    'worker-1: multinic0=10.10.0.10 multinic1=10.20.0.10',
    'worker-2: multinic0=10.10.0.11 multinic1=10.20.0.11',
  ])
  attach(1, backup, '10.20.0.12')
  await waitForDelivered([
    'worker-1: multinic0=10.10.0.10 multinic1=10.20.0.10',
    'worker-2: multinic0=10.10.0.11 multinic1=10.20.0.11 multinic2=10.20.0.12',
  ])
})

test('a port whose index another port has is refused with the port that has it', async () => {
  attach(0, backup, '10.20.0.10')
  await environment.startOperator()
  await create([{ name: 'backup' }])
  await waitForDelivered(['worker-1: multinic0=10.20.0.10'])
  attach(0, storage, '10.10.0.10')
  await edit([
    { name: 'storage', index: 0 },
    { name: 'backup', index: 1 },
  ])
  await waitForCondition('Degraded', /^True IndexInUse: multinic0 of worker-1 is port [0-9a-f-]+ of another subnet/)
  await waitForDelivered(['worker-1: multinic0=10.20.0.10'])
  await edit([
    { name: 'storage', index: 2 },
    { name: 'backup', index: 1 },
  ])
  await waitForDelivered(['worker-1: multinic0=10.20.0.10 multinic2=10.10.0.10'])
})

test('a subnet that does not exist, is not unique or is named twice is reported with its field', async () => {
  attach(0, storage, '10.10.0.10')
  await environment.startOperator()
  await create([{ name: 'storage' }, { name: 'storag' }, { id: 'nowhere' }, { name: ' ' }])
  await waitForCondition(
    'Ready',
    /^False SubnetNotFound: subnet not found: storag \(spec\.subnets\[1]\.name\), nowhere \(spec\.subnets\[2]\.id\), {2}\(spec\.subnets\[3]\.name\): correct it, or give the account a role that may read the project, such as reader$/,
  )
  await edit([
    { name: 'storage', index: 0 },
    { id: storage.id, index: 1 },
  ])
  await waitForCondition(
    'Ready',
    /^False ConfigError: spec\.subnets\[1]\.id: names the same subnet as spec\.subnets\[0]\.name: remove one of them$/,
  )
  addSubnet(environment.cloudState, { name: 'backup', cidr: '10.30.0.0/24', mtu: 1500 })
  await edit([{ name: 'storage' }, { name: 'backup' }])
  await waitForCondition(
    'Ready',
    /^False SubnetNotUnique: 2 subnets have the name backup .* correct spec\.subnets\[1]\.name$/,
  )
  await edit([{ name: 'storage' }, { id: backup.id }])
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
})

test('the API server refuses subnets that cannot be meant', async () => {
  const either = /either subnets, or one of subnetIDs, subnetID and subnetName is required/
  await assert.rejects(environment.create({ subnets: [{ name: 'storage' }], subnetIDs: [backup.id] }), either)
  await assert.rejects(environment.create({ subnets: [], subnetIDs: [] }), either)
  await assert.rejects(create([{ name: 'storage', id: storage.id }]), /exactly one of id and name is required/)
  await assert.rejects(create([{ index: 1 }]), /exactly one of id and name is required/)
  await assert.rejects(create([{ name: 'storage', index: 10 }]), /subnets\[0]\.index.*9/)
})

test('an index has an alias, which is delivered with the interface', async () => {
  attach(0, storage, '10.10.0.10')
  attach(0, backup, '10.20.0.10')
  await environment.startOperator()
  const shared = addSubnet(environment.cloudState, { name: 'shared', cidr: '10.30.0.0/24', mtu: 1500 })
  attach(1, shared, '10.30.0.10')
  await create([
    { id: shared.id, index: 0 },
    { name: 'storage', index: 0, alias: 'storage-fast' },
    { id: backup.id, index: 3 },
  ])
  await waitForDelivered(['worker-1: multinic0=10.10.0.10 multinic3=10.20.0.10', 'worker-2: multinic0=10.30.0.10'])
  const nodes = await environment.nodes()
  assert.deepEqual(
    nodes.flatMap(({ spec }) => spec.interfaces.map(({ name, alias }) => `${spec.nodeName} ${name} ${alias}`)).sort(),
    ['worker-1 multinic0 storage-fast', 'worker-1 multinic3 multinic3', 'worker-2 multinic0 storage-fast'],
  )
})

test('an alias is a label of DNS, needs an index, and belongs to one index', async () => {
  const [one, two] = [storage.id, backup.id]
  const refused: [Subnets, RegExp][] = [
    [[{ id: one, alias: 'a' }], /index is required with alias/],
    [[{ id: one, index: 0, alias: 'Storage_1' }], /alias/],
    [[{ id: one, index: 0, alias: 'a'.repeat(64) }], /alias/],
    [[{ id: one, index: 0, alias: 'multinic1' }], /must have the digit of its index/],
    [
      [
        { id: one, index: 0, alias: 'a' },
        { id: two, index: 1, alias: 'a' },
      ],
      /an alias belongs to one index/,
    ],
    [
      [
        { id: one, index: 0, alias: 'a' },
        { id: two, index: 0, alias: 'b' },
      ],
      /an index has one alias/,
    ],
  ]
  for (const [subnets, message] of refused) await assert.rejects(create(subnets), message)
  await create([
    { id: one, index: 0, alias: 'a' },
    { id: two, index: 0, alias: 'a' },
  ])
})

const aliasesOf = async () =>
  (await environment.nodes()).map(({ metadata, spec }) => [
    metadata.generation,
    ...spec.interfaces.map(nic => nic.alias),
  ])

test('an index that a fleet gets later reaches its objects as an alias, once and without another request', async () => {
  attach(0, storage, '10.10.0.10')
  await environment.startOperator()
  await create([{ name: 'storage' }])
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  const [{ spec } = assert.fail('no node')] = await environment.nodes()
  assert.deepEqual(await aliasesOf(), [[1, undefined]])
  await edit([{ name: 'storage', index: 0, alias: 'disks' }])
  await eventually(async () => assert.deepEqual(await aliasesOf(), [[2, 'disks']]))
  const [after] = await environment.nodes()
  assert.equal(after?.spec.specHash, spec.specHash)
  await edit([{ name: 'storage', index: 0 }])
  await eventually(async () => assert.deepEqual(await aliasesOf(), [[3, 'multinic0']]))
  await edit([{ name: 'storage' }])
  await eventually(async () => assert.deepEqual(await aliasesOf(), [[4, undefined]]))
})

test('a Viola that does not keep an alias gets it once', async () => {
  const posts: string[] = []
  let item: object | undefined
  let lists = 0
  await using older = await startStubServer(({ method, body }) => {
    if (method !== 'POST') lists++
    if (method !== 'POST')
      return { status: 200, body: { items: item ? [item] : [], resourceVersion: `${posts.length}` } }
    const [node] = JSON.parse(body) as [{ nodeName: string; interfaces: { alias?: string }[] }]
    posts.push(node.interfaces.map(nic => nic.alias).join())
    const interfaces = node.interfaces.map(({ alias: _, ...nic }) => nic)
    item = { ...node, interfaces, specHash: 'h', generation: 1 }
    const results = [{ nodeName: node.nodeName, action: 'unchanged', specHash: 'h' }]
    return { status: 200, body: { applied: 1, output: '', results } }
  })
  attach(0, storage, '10.10.0.10')
  await environment.startOperator({ VIOLA_ENDPOINT: older.url })
  await environment.create({
    ...{ subnets: [{ name: 'storage' }], subnetIDs: [] },
    settings: { pollFastInterval: '1s', pollSlowInterval: '1s' },
  })
  await eventually(() => assert.deepEqual(posts, ['']))
  await edit([{ name: 'storage', index: 0 }])
  await eventually(() => assert.deepEqual(posts, ['', 'multinic0']))
  const before = lists
  await eventually(() => assert.ok(lists >= before + 3, 'three more syncs'))
  assert.deepEqual(posts, ['', 'multinic0'])
  await edit([{ name: 'storage', index: 0, alias: 'disks' }])
  await eventually(() => assert.deepEqual(posts, ['', 'multinic0', 'disks']))
})

test('a Viola that does not keep allowed address pairs gets each list once', async () => {
  const posts: string[] = []
  let item: object | undefined
  let lists = 0
  await using older = await startStubServer(({ method, body }) => {
    if (method !== 'POST') lists++
    if (method !== 'POST')
      return { status: 200, body: { items: item ? [item] : [], resourceVersion: `${posts.length}` } }
    const [node] = JSON.parse(body) as [{ nodeName: string; interfaces: WireInterface[] }]
    posts.push(node.interfaces.map(nic => `${nic.mtu} ${nic.allowedAddressPairs}`).join())
    const interfaces = node.interfaces.map(({ allowedAddressPairs: _, ...nic }) => nic)
    item = { ...node, interfaces, specHash: 'h', generation: 1 }
    const results = [{ nodeName: node.nodeName, action: 'unchanged', specHash: 'h' }]
    return { status: 200, body: { applied: 1, output: '', results } }
  })
  attach(0, storage, '10.10.0.10')
  const [port] = environment.cloudState.ports.values()
  assert.ok(port)
  await environment.startOperator({ VIOLA_ENDPOINT: older.url })
  await environment.create({
    ...{ subnets: [{ name: 'storage' }], subnetIDs: [] },
    settings: { pollFastInterval: '1s', pollSlowInterval: '1s' },
  })
  await eventually(() => assert.deepEqual(posts, ['9000 undefined']))
  port.allowedAddressPairs = ['10.40.0.7', '10.10.0.20']
  await eventually(() => assert.deepEqual(posts.slice(1), ['9000 10.40.0.7/32']))
  const before = lists
  await eventually(() => assert.ok(lists >= before + 3, 'three more syncs'))
  assert.deepEqual(posts.slice(1), ['9000 10.40.0.7/32'])
  port.allowedAddressPairs = ['10.41.0.0/16']
  await eventually(() => assert.deepEqual(posts.slice(2), ['9000 10.41.0.0/16']))
})
