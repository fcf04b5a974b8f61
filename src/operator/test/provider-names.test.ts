/** The name of a provider on its way from the routing of Viola to the inventory. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'

let environment: OperatorEnvironment
let storage: Subnet
let backup: Subnet
let worker: Server

before(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  backup = addSubnet(environment.cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1450 })
  worker = addServer(environment.cloudState, 'worker-1')
  await environment.nameProvider('Seoul 1')
})
after(() => environment.close())

function attach(server: Server, subnet: Subnet): void {
  setPortStatus(environment.cloudState, addPort(environment.cloudState, { server, subnet }).id, 'ACTIVE')
}

const recordsOf = (nodeName: string) =>
  environment.records.filter(record => record.nodeName === nodeName && !record.removed)
const nameOf = (nodeName: string) => recordsOf(nodeName).at(-1)?.providerName
const hasName = (nodeName: string, name: string | undefined) =>
  eventually(() => assert.equal(nameOf(nodeName), name, `${nodeName} ${name}`))

test('the inventory gets the name of the provider, and a new name with the next sync, while nothing is delivered', async () => {
  const other = addServer(environment.cloudState, 'worker-2')
  attach(worker, storage)
  attach(worker, backup)
  await environment.startOperator()
  await environment.create({ subnetIDs: [storage.id], vmNames: ['worker-1', 'worker-2'] })
  await hasName('worker-1', 'Seoul 1')
  const [delivered] = await environment.nodes()
  assert.equal(delivered?.spec.providerName, 'Seoul 1')

  await environment.nameProvider('Seoul 2')
  await hasName('worker-1', 'Seoul 2')
  assert.equal((await environment.nodes())[0]?.metadata.resourceVersion, delivered?.metadata.resourceVersion)

  attach(other, storage)
  await hasName('worker-2', 'Seoul 2')
  assert.equal(recordsOf('worker-2')[0]?.providerName, 'Seoul 2', 'the first record of a node has it already')

  await environment.create({ name: 'second', subnetIDs: [backup.id], vmNames: ['worker-1'] })
  await eventually(() => assert.equal(recordsOf('worker-1').at(-1)?.config.interfaces.length, 2))
  const known = recordsOf('worker-1').length
  const { name, namespace = '' } = (await environment.config('second')).metadata
  await environment.kube.delete(openstackConfigs, { name, namespace })
  await eventually(() => assert.equal(recordsOf('worker-1').at(-1)?.config.interfaces.length, 1))
  const names = recordsOf('worker-1').slice(known - 1)
  assert.deepEqual(new Set(names.map(({ providerName }) => providerName)), new Set(['Seoul 2']))

  await environment.nameProvider()
  await hasName('worker-1', undefined)
})
