/**
 * Somebody may write the status of an OpenstackConfig, and nothing else of it. That approves nothing, removes no interface and
 * moves none, and the operator puts it right.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { addPort, addServer, addSubnet, type Subnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import {
  type OpenstackConfigStatus,
  openstackConfigAnnotations,
  openstackConfigs,
} from '../../contract/openstack-config.ts'

let environment: OperatorEnvironment
let storage: Subnet
let before: OpenstackConfigStatus
const at = { namespace, name: 'main' }

/** The removal of the interface is on hold: its subnet has lost its name to another one. An older approval is used up. */
beforeEach(async () => {
  environment = await startOperatorEnvironment()
  const { cloudState, kube } = environment
  storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const server = addServer(cloudState, 'worker-1')
  setPortStatus(cloudState, addPort(cloudState, { server, subnet: storage }).id, 'ACTIVE')
  await environment.startOperator()
  await environment.create({ subnetIDs: [], subnets: [{ name: 'storage' }] })
  await eventually(async () => assert.equal((await status()).nodes?.total, 1))
  const annotations = { [openstackConfigAnnotations.approveRemovals]: 'used' }
  await kube.patch(openstackConfigs, at, { metadata: { annotations } })
  await eventually(async () => assert.equal((await status()).approvedRemovals, 'used'))
  storage.name = 'storage before'
  addSubnet(cloudState, { name: 'storage', cidr: '10.30.0.0/24', mtu: 1500 })
  const forced = { [openstackConfigAnnotations.forceReconcile]: 'fresh' }
  await kube.patch(openstackConfigs, at, { metadata: { annotations: forced } })
  await eventually(async () => assert.equal((await status()).heldRemovals?.length, 1))
  before = await status()
})
afterEach(() => environment.close())

const status = async () => (await environment.config()).status ?? {}

/** What the operator decides by. */
function decisive({ heldRemovals, approvedRemovals, resolvedNames, resolvedSubnets, renumber }: OpenstackConfigStatus) {
  return { heldRemovals, approvedRemovals, resolvedNames, resolvedSubnets, renumber }
}

function moving(portId: string): OpenstackConfigStatus['renumber'] {
  const move = { nodeName: 'worker-1', portId, from: 'multinic0', to: 'multinic5' }
  return {
    ...{ request: 'forged', state: 'InProgress', total: 1, done: 0 },
    current: { ...move, phase: 'Moving' },
  } as OpenstackConfigStatus['renumber']
}

const forgeries: Record<string, (portId: string) => object> = {
  'an approval that is not used up': () => ({ approvedRemovals: null }),
  'no removal on hold, and another approval': () => ({ heldRemovals: null, approvedRemovals: 'other' }),
  'another name of the subnet': () => ({ resolvedSubnets: { storage: null, other: storage.id } }),
  'another server of the name': () => ({ resolvedNames: { 'worker-1': '00000000-0000-4000-8000-000000000001' } }),
  'a move that nobody asked for': portId => ({ renumber: moving(portId) }),
  'another target, conditions and reserved indexes': portId => ({
    deliveredTo: { viola: 'https://viola.example.com', providerId: 'other' },
    reservedIndexes: [{ vmId: 'vm', portId, index: 0, until: '2999-01-01T00:00:00Z' }],
    conditions: [],
  }),
}

for (const [what, forgery] of Object.entries(forgeries))
  test(`a forged status removes and moves nothing, and is put right: ${what}`, async () => {
    const delivered = await environment.deliveredTexts()
    const [node] = await environment.nodes()
    await environment.kube.patchStatus(openstackConfigs, at, forgery(node?.spec.interfaces[0]?.portId ?? ''))
    await sleep(1_000)
    assert.deepEqual(await environment.deliveredTexts(), delivered)
    assert.deepEqual((await environment.nodes())[0]?.metadata.generation, node?.metadata.generation)
    await eventually(async () => assert.deepEqual(decisive(await status()), decisive(before)), { within: 5_000 })
    await eventually(async () => assert.equal((await status()).deliveredTo?.viola, before.deliveredTo?.viola))
  })
