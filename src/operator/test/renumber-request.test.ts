/** A request to renumber, with a real operator and Viola: by annotation, through a restart, a failure and an edit. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, type Port, type Server, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { interfaceHash } from '../../contract/interface-hash.ts'
import { completeInterfaces } from '../../contract/interfaces.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../../contract/openstack-config.ts'

let environment: OperatorEnvironment
let workers: Server[]
let storagePorts: Port[]

const key = { namespace, name: 'main' }
const before = [
  'worker-1: multinic0=10.20.0.10 multinic1=10.10.0.10',
  'worker-2: multinic0=10.20.0.11 multinic1=10.10.0.11',
]

/** Both nodes have backup as multinic0 and storage as multinic1, and then storage gets the index 0. */
beforeEach(async () => {
  environment = await startOperatorEnvironment()
  const { cloudState } = environment
  const storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const backup = addSubnet(cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1500 })
  workers = ['worker-1', 'worker-2'].map(name => addServer(cloudState, name))
  storagePorts = workers.map((server, n) => {
    for (const subnet of [backup, storage]) {
      const address = subnet.cidr.replace('0/24', `1${n}`)
      setPortStatus(cloudState, addPort(cloudState, { server, subnet, address }).id, 'ACTIVE')
    }
    const [port] = [...cloudState.ports.values()].slice(-1)
    return port ?? assert.fail('no port')
  })
  await environment.create({ subnets: [{ name: 'backup' }, { name: 'storage' }], subnetIDs: [] })
})
afterEach(() => environment.close())

async function deliveredAll(): Promise<() => Promise<void>> {
  const stop = await environment.startOperator()
  await waitForDelivered(before)
  for (const { metadata } of await environment.nodes()) await answer(metadata.name)
  await edit({ storage: 0 })
  return stop
}

function edit({ storage }: { storage: number }) {
  return environment.kube.patch(openstackConfigs, key, {
    spec: { subnets: [{ name: 'backup' }, { name: 'storage', index: storage }] },
  })
}

/** An agent configured the node as requested, or failed. */
async function answer(name: string, failure?: string): Promise<void> {
  const node = (await environment.nodes()).find(({ metadata }) => metadata.name === name)
  if (!node) return assert.fail(`no node ${name}`)
  const { interfaces } = completeInterfaces(node.spec.interfaces)
  const state = failure ? 'Failed' : 'Configured'
  await environment.report(name, {
    state,
    observedGeneration: node.metadata.generation ?? 0,
    interfaceStatuses: interfaces.map(nic => ({
      ...{ id: nic.index, name: nic.name, portId: nic.portId ?? '', macAddress: nic.macAddress, status: state },
      specHash: interfaceHash(nic),
      ...(failure && { reason: 'LinkHasUpperDevices', message: failure }),
    })),
  })
}

function ask(requestedAt = 'now', ports = storagePorts) {
  const moves = ports.map((port, n) => ({ nodeName: `worker-${n + 1}`, portId: port.id, to: 'multinic0' }))
  return annotate(JSON.stringify({ requestedAt, moves }))
}

function annotate(value: string | null) {
  return environment.kube.patch(openstackConfigs, key, {
    metadata: { annotations: { [openstackConfigAnnotations.renumber]: value } },
  })
}

async function waitForDelivered(expected: string[]): Promise<void> {
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), expected))
}

async function waitForCondition(expected: RegExp): Promise<void> {
  await eventually(async () => {
    const found = (await environment.config()).status?.conditions?.find(({ type }) => type === 'Renumbering')
    assert.match(`${found?.status} ${found?.reason}: ${found?.message}`, expected)
  })
}

const [first, second] = [
  'worker-1: multinic0=10.10.0.10 multinic1=10.20.0.10',
  'worker-2: multinic0=10.10.0.11 multinic1=10.20.0.11',
]

test('the nodes exchange their indexes one after the other, also across a restart of the operator', async () => {
  const stop = await deliveredAll()
  await ask()
  await waitForDelivered([first, before[1] ?? ''])
  await waitForCondition(/^True RenumberInProgress: 0 of 2 renumbered; worker-1 multinic1 becomes multinic0$/)
  await stop()
  await environment.startOperator()
  await waitForCondition(/^True RenumberInProgress/)
  assert.deepEqual(await environment.deliveredTexts(), [first, before[1]])
  await answer('worker-1')
  await waitForDelivered([first, second])
  await answer('worker-2')
  await waitForCondition(/^False Renumbered: 2 of 2 renumbered$/)
  const aliases = (await environment.nodes()).flatMap(({ spec }) =>
    spec.interfaces.map(({ name, alias }) => `${name} ${alias}`),
  )
  assert.deepEqual(new Set(aliases), new Set(['multinic0 multinic0', 'multinic1 undefined']))
  const { status } = await environment.config()
  assert.deepEqual([status?.renumber?.current, status?.renumber?.done], [undefined, 2])
})

test('a move that an agent refuses is rolled back, and the message names why', async () => {
  await deliveredAll()
  await ask()
  await waitForDelivered([first, before[1] ?? ''])
  await answer('worker-1', 'child0 uses multinic1 as lower device; remove it first')
  await waitForDelivered(before)
  await answer('worker-1')
  await waitForCondition(
    /^False RenumberStopped: worker-1 multinic1 → multinic0: LinkHasUpperDevices: child0 uses multinic1 as lower device; remove it first; the index is multinic1 again$/,
  )
  const { status } = await environment.config()
  assert.equal(status?.conditions?.find(({ type }) => type === 'Degraded')?.reason, 'RenumberStopped')
  await annotate(null)
  await waitForCondition(/^False Healthy/)
  assert.equal((await environment.config()).status?.renumber, undefined)
})

test('an edit of the index during a move ends the request for the others', async () => {
  await deliveredAll()
  await ask()
  await waitForDelivered([first, before[1] ?? ''])
  const { metadata } = await edit({ storage: 5 })
  // The alias of the interface goes with the index: worker-1 is written again.
  await eventually(async () => {
    const { status } = await environment.config()
    assert.equal(status?.observedGeneration, metadata.generation)
  })
  await answer('worker-1')
  await waitForCondition(/^False Renumbered: 1 of 2 renumbered; 1 no longer to be moved$/)
  assert.deepEqual(await environment.deliveredTexts(), [first, before[1]])
})
