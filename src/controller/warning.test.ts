/** The condition Warning: a cloud provider lists the addresses of our NICs as InternalIP of the Node (F2). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { bizConfigs } from '../contract/legacy/biz-config.ts'
import { events, nodes } from '../kube/resources.ts'
import { aConfig, aNode } from './controller.fixture.ts'
import { warningOf } from './plan/warning.ts'

let cluster: ControllerCluster

before(async () => {
  cluster = await startControllerCluster()
})
after(() => cluster.close())

const setAddresses = (name: string, ...addresses: string[]) =>
  cluster.kube.patchStatus(nodes, { name }, { addresses: addresses.map(address => ({ type: 'InternalIP', address })) })

test('a Node that lists the addresses of our NICs gives the config a warning and one Event, until it stops', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('listed', await cluster.addNode('listed'), { nics: 2 })
    await cluster.finishPod(await cluster.endAgent('listed'))
    await eventually(async () => assert.equal((await cluster.configOf('listed'))?.status?.nics, '2/2'))
    const conditions = async () => (await cluster.configOf('listed'))?.status?.conditions ?? []

    await setAddresses('listed', '10.0.0.11', '192.168.0.10')
    await eventually(async () => assert.equal((await conditions()).length, 4))
    await setAddresses('listed', '10.0.0.11', '192.168.0.10', '192.168.1.10')
    await eventually(async () => {
      const warning = (await conditions()).find(({ type }) => type === 'Warning')
      assert.deepEqual([warning?.status, warning?.reason], ['True', 'SecondaryInternalIP'])
      assert.equal(
        warning?.message,
        'node listed lists addresses of requested NICs as InternalIP: 192.168.0.10 (multinic0), 192.168.1.10 (multinic1); ' +
          'set internal-network-name in [Networking] of the OpenStack cloud provider, or --node-ip of the kubelet',
      )
    })
    assert.equal((await cluster.configOf('listed'))?.status?.state, 'Configured')
    assert.equal((await cluster.jobsOn('listed')).length, 1, 'the listing starts no agent')
    await eventually(async () => {
      const { items } = await cluster.kube.list(events, { namespace: cluster.namespace })
      const found = items.filter(({ reason }) => reason === 'SecondaryInternalIP')
      assert.deepEqual(
        found.map(({ type, involvedObject, count }) => [type, involvedObject.name, count ?? 1]),
        [['Warning', 'listed', 1]],
      )
    })

    await setAddresses('listed', '10.0.0.11')
    await eventually(async () =>
      assert.deepEqual(
        (await conditions()).map(({ type }) => type),
        ['Ready', 'Progressing', 'Degraded'],
      ),
    )
  } finally {
    await controller.stop()
  }
})

test('a warning stays through the next status, with the time since when', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('again', await cluster.addNode('again'))
    await setAddresses('again', '10.0.0.11', '192.168.0.10')
    await cluster.finishPod(await cluster.endAgent('again'))
    await cluster.expectConfigured('again')
    const warning = async () =>
      (await cluster.configOf('again'))?.status?.conditions?.find(({ type }) => type === 'Warning')
    const first = await eventually(async () => {
      const found = await warning()
      assert.ok(found)
      return found
    })
    await cluster.changeSpec('again', 'another')
    await cluster.finishPod(await cluster.endAgent('again'))
    await eventually(async () => {
      const now = await warning()
      assert.notEqual(now?.observedGeneration, first.observedGeneration)
      assert.equal(now?.lastTransitionTime, first.lastTransitionTime)
    })
  } finally {
    await controller.stop()
  }
})

test('neither a config without a node nor a deleted one nor one of a MultiNicBizConfig has a warning', () => {
  const node = aNode({ internalIPs: ['192.168.0.10'] })
  const config = aConfig()
  assert.ok(warningOf({ config, node }))
  assert.equal(warningOf({ config }), undefined)
  assert.equal(warningOf({ config, node: aNode() }), undefined)
  const deletionTimestamp = '2026-01-01T00:00:00Z'
  assert.equal(warningOf({ config: aConfig({ metadata: { deletionTimestamp } }), node }), undefined)
  assert.equal(warningOf({ config: { ...config, kind: bizConfigs.kind }, node }), undefined)
})

test('a second Node with the machine of a configured one gives the config a warning', () => {
  const config = aConfig()
  const warning = warningOf({ config, node: aNode(), twins: ['w1', 'w2'] })
  assert.deepEqual(warning, {
    reason: 'MachineNotUnique',
    message: `nodes w1, w2 report the same system UUID ${config.spec.instanceId}`,
  })
})

test('a machine that two Nodes report belongs to none of them, and both are named', async () => {
  const controller = await cluster.startController()
  try {
    const machine = await cluster.addNode('twin-a')
    await cluster.addNode('twin-b')
    await cluster.setNode('twin-b', { systemUUID: machine, bootID: 'boot-1', osImage: 'Ubuntu 24.04 LTS' })
    await cluster.addConfig('neither', machine)
    await cluster.expectStatus(
      'neither',
      `Pending 0/1 False MachineNotUnique: nodes twin-a, twin-b report the same system UUID ${machine}`,
    )
  } finally {
    await controller.stop()
  }
})
