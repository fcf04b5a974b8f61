/** spec.subnets: subnets by ID or by name, each with the number of its interfaces. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type OpenstackConfigSpec, openstackConfigs } from '../contract/openstack-config.ts'

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

test('a port whose number another port has is refused with the port that has it', async () => {
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
