/** The stages of ports as the inventory stores them, over restarts of the operator, with the sandbox's API and cloud. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { interfaceHash } from '../../contract/interface-hash.ts'
import { fromWireInterfaces } from '../../contract/interfaces.ts'
import type { InventoryRecord } from '../../contract/inventory.ts'
import { planWrite } from '../../inventory/plan.ts'

let environment: OperatorEnvironment
let storage: Subnet
let worker: Server

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(environment.cloudState, 'worker-1')
})
afterEach(() => environment.close())

function attach(address: string): string {
  const { id } = addPort(environment.cloudState, { server: worker, subnet: storage, address })
  setPortStatus(environment.cloudState, id, 'ACTIVE')
  return id
}

/** What the inventory has after all writes. */
function recorded(portId: string) {
  const record = environment.records.reduce<InventoryRecord | undefined>(
    (before, write) => planWrite(before, write, new Date().toISOString())?.after ?? before,
    undefined,
  )
  return record?.interfaces?.find(nic => nic.portId === portId)
}

/** As the controller does it after an agent Job: every interface is checked, and the first stays as it was. */
async function configure(lastConfigured: string[]): Promise<void> {
  const [node] = await environment.nodes()
  assert.ok(node)
  const lastChecked = new Date().toISOString()
  await environment.report(node.metadata.name, {
    observedGeneration: node.metadata.generation ?? 1,
    state: 'Configured',
    lastJobName: 'job',
    checkIntervalSeconds: 7_200,
    interfaceStatuses: node.spec.interfaces.map(({ id, portId, macAddress, name }, index) => ({
      ...{ id, portId, macAddress, name },
      status: 'Configured' as const,
      lastConfigured: lastConfigured[index] ?? lastChecked,
      lastChecked,
    })),
  })
}

test('experience H4, H5: a restart and a new port change neither the state nor the stages of the other ports', async () => {
  const stop = await environment.startOperator()
  await environment.create({})
  const first = attach('10.10.0.10')
  await eventually(() => assert.ok(recorded(first)?.stages?.cr))
  const applied = new Date().toISOString()
  await configure([applied])
  await eventually(() => assert.ok(recorded(first)?.stages?.verified))
  assert.equal(recorded(first)?.checkIntervalSeconds, 7_200)
  const before = recorded(first)?.stages
  assert.deepEqual(Object.keys(before ?? {}), ['seen', 'delivered', 'cr', 'job', 'applied', 'verified'])
  await stop()

  await environment.startOperator()
  const second = attach('10.10.0.11')
  await eventually(() => assert.ok(recorded(second)?.stages?.cr))
  assert.equal(recorded(second)?.status, 'Pending')
  assert.deepEqual(recorded(first)?.stages, before)
  await configure([applied])
  await eventually(() => assert.ok(recorded(second)?.stages?.verified))
  assert.deepEqual(recorded(first)?.stages, before)
  assert.equal(recorded(second)?.clamped, undefined)
})

test('experience H4: a new port does not turn the other NICs of its node Pending', async () => {
  await environment.startOperator()
  await environment.create({})
  const first = attach('10.10.0.10')
  await eventually(() => assert.ok(recorded(first)?.stages?.cr))

  const [node] = await environment.nodes()
  const [nic] = fromWireInterfaces(node?.spec.interfaces ?? [])
  assert.ok(node && nic)
  const { portId, macAddress, name } = nic
  await environment.report(node.metadata.name, {
    observedGeneration: 1,
    state: 'Configured',
    interfaceStatuses: [{ id: 0, portId, macAddress, name, status: 'Configured', specHash: interfaceHash(nic) }],
  })
  await eventually(() => assert.equal(recorded(first)?.status, 'Configured'))
  const writes = environment.records.length
  const second = attach('10.10.0.11')
  await eventually(() => assert.equal(recorded(second)?.status, 'Pending'))
  const states = environment.records
    .slice(writes)
    .map(({ interfaces }) => interfaces?.find(one => one.portId === first)?.status)
  assert.deepEqual([...new Set(states)], ['Configured'])
})
