/** MultiNicBizConfigs end to end over HTTP: what their user sees. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../../test/support/controller-cluster.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { type BizConfig, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { nodeConfigAnnotations, nodeConfigs } from '../../contract/node-config.ts'
import { crds, events, jobs } from '../../kube/resources.ts'
import { aNic } from '../controller.fixture.ts'
import { aBiz, aBizNode, aMac } from './biz-config.fixture.ts'

const within = 30_000
let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController({ MAX_UNAVAILABLE: '100%' })
})
after(async () => {
  await controller.stop()
  await cluster.close()
})

const key = (name: string) => ({ namespace: cluster.namespace, name })

async function create(name: string, nodes: BizConfig['spec']['nodeConfigs'], status?: BizConfig['status']) {
  const { apiVersion, kind, spec } = aBiz({ nodes })
  await cluster.kube.create(bizConfigs, { apiVersion, kind, metadata: key(name), spec })
  if (status) await cluster.kube.patchStatus(bizConfigs, key(name), status)
}

async function bizOf(name: string): Promise<BizConfig> {
  return (await cluster.kube.get(bizConfigs, key(name))) ?? assert.fail(`there is no BizConfig ${name}`)
}

/** `attachedNodeName state reason` of each node, in order. */
async function expectNodes(name: string, ...lines: string[]): Promise<BizConfig> {
  return eventually(
    async () => {
      const biz = await bizOf(name)
      assert.deepEqual(
        (biz.status?.nodeStatuses ?? []).map(node =>
          [node.attachedNodeName, node.state, node.reason].filter(Boolean).join(' '),
        ),
        lines,
      )
      return biz
    },
    { within },
  )
}

const condition = ({ status }: BizConfig, type: string) => {
  const found = status?.conditions?.find(one => one.type === type)
  return `${found?.status} ${found?.reason}: ${found?.message}`
}
const successReport = (macs: number[]) => ({ interfaces: macs.map((mac, id) => aNic(id, { macAddress: aMac(mac) })) })

test('a BizConfig configures its nodes with the same Jobs, by SystemUUID; the node name is a hint', async () => {
  const one = await cluster.addNode('biz-1')
  const two = await cluster.addNode('biz-2')
  await create('pair', [aBizNode(one, [1, 2], 'biz-1'), aBizNode(two.toUpperCase(), [3], 'another-name')])
  const input = inputOf(await cluster.endAgent('biz-1', successReport([1, 2])))
  assert.deepEqual(
    input.interfaces.map(({ id, name, macAddress }) => `${id} ${name} ${macAddress}`),
    [`0 multinic0 ${aMac(1)}`, `1 multinic1 ${aMac(2)}`],
  )
  await cluster.endAgent('biz-2', successReport([3]))
  const biz = await expectNodes('pair', 'biz-1 Configured', 'another-name Configured')
  assert.deepEqual(biz.status?.summary, { totalNodes: 2, configuredNodes: 2, failedNodes: 0, pendingNodes: 0 })
  assert.equal(condition(biz, 'Ready'), 'True AllNodesConfigured: 2 of 2 nodes configured')
  assert.equal(condition(biz, 'InProgress'), 'False AllNodesProcessed: all nodes processed')
  const [job] = await cluster.jobsOn('biz-1')
  assert.equal(biz.status?.nodeStatuses?.[0]?.lastJobName, job?.metadata.name)
  assert.equal(job?.metadata.labels?.['instance'], one)
})

test('a failing node and an edit of one node do not affect the other nodes', async () => {
  const biz = await bizOf('pair')
  const nodes = biz.spec.nodeConfigs
  await cluster.kube.patch(bizConfigs, key('pair'), {
    spec: { nodeConfigs: [nodes[0], { ...nodes[1], interfaces: [{ ...nodes[1]?.interfaces[0], mtu: 1400 }] }] },
  })
  const before = (await cluster.jobsOn('biz-1')).length
  await cluster.endAgent('biz-2', {
    verdict: 'Failed',
    message: 'no',
    interfaces: [aNic(0, { macAddress: aMac(3), status: 'Failed', reason: 'LinkDown' })],
  })
  const after = await expectNodes('pair', 'biz-1 Configured', 'another-name Failed ApplyFailed')
  assert.equal(condition(after, 'Ready'), 'False NodesFailed: 1 of 2 nodes failed: see status.nodeStatuses')
  assert.equal((await cluster.jobsOn('biz-1')).length, before)
  const recorded = (await cluster.kube.list(events, { namespace: cluster.namespace })).items
  assert.ok(
    recorded.some(({ involvedObject, message }) => involvedObject.name === 'pair' && /another-name: no/.test(message)),
  )
})

test('the retry annotation on the BizConfig retries only the nodes that failed', async () => {
  const before = (await cluster.jobsOn('biz-1')).length
  await cluster.kube.patch(bizConfigs, key('pair'), {
    metadata: { annotations: { [nodeConfigAnnotations.retry]: 'now' } },
  })
  await cluster.endAgent('biz-2', successReport([3]))
  const after = await expectNodes('pair', 'biz-1 Configured', 'another-name Configured')
  assert.equal(after.metadata.annotations?.[nodeConfigAnnotations.retry], undefined)
  assert.equal((await cluster.jobsOn('biz-1')).length, before)
})

test('a restarted controller repeats nothing', async () => {
  const jobsBefore = (await cluster.kube.list(jobs, { namespace: cluster.namespace })).items.map(
    one => one.metadata.uid,
  )
  await controller.stop()
  controller = await cluster.startController({ MAX_UNAVAILABLE: '100%' })
  await cluster.addConfig('marker', await cluster.addNode('marker'))
  await cluster.endAgent('marker')
  await cluster.expectConfigured('marker')
  const now = (await cluster.kube.list(jobs, { namespace: cluster.namespace })).items
  const created = now.filter(
    job => !jobsBefore.includes(job.metadata.uid) && job.spec.template.spec.nodeName !== 'marker',
  )
  assert.deepEqual(
    created.map(job => job.metadata.name),
    [],
  )
})

test('a wrong attachedNodeId is in the status, and nothing is applied', async () => {
  await cluster.addNode('biz-3')
  const unknownId = '6f1c2a10-0001-4aaa-8bbb-fffffffffff0'
  await create('wrong', [aBizNode(unknownId, [9], 'biz-3'), aBizNode('i-unknown', [8])])
  const biz = await expectNodes('wrong', 'biz-3 Pending WrongMachine', 'Pending NodeNotFound')
  assert.match(biz.status?.nodeStatuses?.[0]?.message ?? '', /^node biz-3 has system UUID .*, not 6f1c2a10/)
  assert.deepEqual(await cluster.jobsOn('biz-3'), [])
})

test('a node that is listed twice is configured once', async () => {
  const id = await cluster.addNode('biz-4')
  await create('twice', [aBizNode(id, [1], 'biz-4'), aBizNode(id, [2], 'biz-4')])
  await cluster.endAgent('biz-4', successReport([1]))
  await expectNodes('twice', 'biz-4 Configured', 'biz-4 Pending DuplicateNode')
})

test('a MultiNicNodeConfig takes over a node after a check, and the BizConfig names it', async () => {
  const id = await cluster.addNode('biz-5')
  await create('aged', [aBizNode(id, [0], 'biz-5')])
  await cluster.finishPod(await cluster.endAgent('biz-5', successReport([0])))
  await expectNodes('aged', 'biz-5 Configured')
  const { apiVersion, spec } = aBiz({ nodes: [aBizNode(id, [0])] })
  await cluster.kube.create(nodeConfigs, {
    apiVersion,
    kind: 'MultiNicNodeConfig',
    metadata: { ...key('biz-5'), annotations: { [nodeConfigAnnotations.adopt]: 'true' } },
    spec: {
      nodeName: 'biz-5',
      instanceId: id,
      interfaces: (spec.nodeConfigs[0]?.interfaces ?? []).map(nic => ({ ...nic, id: 0, name: 'multinic0' })),
    },
  })
  const check = await cluster.endAgent('biz-5', { ...successReport([0]), verdict: 'InSync', changed: 0 })
  assert.equal(inputOf(check).mode, 'check')
  await cluster.expectConfigured('biz-5')
  const biz = await expectNodes('aged', 'biz-5 Configured OwnedByNodeConfig')
  assert.equal(
    condition(biz, 'Overridden'),
    'True OwnedByNodeConfig: 1 of 1 node managed by MultiNicNodeConfigs: biz-5',
  )
})

test('the node returns to the BizConfig without a cleanup, after a check', async () => {
  await cluster.kube.delete(nodeConfigs, key('biz-5'))
  await eventually(async () => assert.equal(await cluster.configOf('biz-5'), undefined), { within })
  const check = await cluster.endAgent('biz-5', { ...successReport([0]), verdict: 'InSync', changed: 0 })
  assert.equal(inputOf(check).mode, 'check')
  const biz = await expectNodes('aged', 'biz-5 Configured')
  assert.equal(condition(biz, 'Overridden'), 'False NotOverridden: ')
})

test('a takeover leaves a node that differs unchanged', async () => {
  const id = await cluster.addNode('biz-6')
  const { spec } = aBiz({ nodes: [aBizNode(id, [0])] })
  await cluster.kube.create(nodeConfigs, {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { ...key('biz-6'), annotations: { [nodeConfigAnnotations.adopt]: 'true' } },
    spec: {
      nodeName: 'biz-6',
      instanceId: id,
      interfaces: (spec.nodeConfigs[0]?.interfaces ?? []).map(nic => ({ ...nic, id: 0, name: 'multinic0' })),
    },
  })
  const drifted = {
    verdict: 'Drifted' as const,
    message: 'mtu is 1500',
    interfaces: [aNic(0, { macAddress: aMac(0), status: 'Failed', reason: 'Drifted' })],
  }
  assert.equal(inputOf(await cluster.endAgent('biz-6', drifted)).mode, 'check')
  await cluster.expectStatus('biz-6', 'Failed 0/1 False Drifted: mtu is 1500')
  await cluster.kube.patch(nodeConfigs, key('biz-6'), {
    metadata: { annotations: { [nodeConfigAnnotations.retry]: 'now' } },
  })
  assert.equal(inputOf(await cluster.endAgent('biz-6', successReport([0]))).mode, 'apply')
  await cluster.expectConfigured('biz-6')
})

test('a node that is removed from the BizConfig is cleaned up, and the rest when the BizConfig is deleted', async () => {
  const [one, two] = [await cluster.addNode('biz-7'), await cluster.addNode('biz-8')]
  await create('shrinking', [aBizNode(one, [1], 'biz-7'), aBizNode(two, [2], 'biz-8')])
  for (const [node, mac] of [
    ['biz-7', 1],
    ['biz-8', 2],
  ] as const)
    await cluster.finishPod(await cluster.endAgent(node, successReport([mac])))
  await expectNodes('shrinking', 'biz-7 Configured', 'biz-8 Configured')
  await cluster.kube.patch(bizConfigs, key('shrinking'), { spec: { nodeConfigs: [aBizNode(two, [2], 'biz-8')] } })
  assert.equal(inputOf(await cluster.endAgent('biz-7')).mode, 'cleanup')
  await expectNodes('shrinking', 'biz-8 Configured')
  await cluster.kube.delete(bizConfigs, key('shrinking'))
  assert.equal(inputOf(await cluster.endAgent('biz-8')).mode, 'cleanup')
  await eventually(async () => assert.equal(await cluster.kube.get(bizConfigs, key('shrinking')), undefined), {
    within,
  })
})

test('a BizConfig of an older controller keeps the interface names on the node', async () => {
  const id = await cluster.addNode('biz-9')
  await controller.stop()
  await create('older', [aBizNode(id, [4, 5], 'biz-9')], {
    nodeStatuses: [{ attachedNodeId: id, attachedNodeName: 'biz-9', state: 'Configured', lastJobName: 'old-job' }],
  })
  controller = await cluster.startController({ MAX_UNAVAILABLE: '100%' })
  const nicNamed = (mac: number, name: string, index: number) =>
    aNic(index, { macAddress: aMac(mac), status: 'Failed', reason: 'Drifted', observed: { name } })
  const check = await cluster.endAgent('biz-9', {
    verdict: 'Drifted',
    interfaces: [nicNamed(4, 'multinic2', 0), nicNamed(5, 'multinic0', 1)],
  })
  assert.equal(inputOf(check).mode, 'check')
  const applied = await cluster.endAgent('biz-9', {
    interfaces: [aNic(2, { macAddress: aMac(4) }), aNic(0, { macAddress: aMac(5) })],
  })
  assert.equal(inputOf(applied).mode, 'apply')
  assert.deepEqual(
    inputOf(applied)
      .interfaces.map(nic => `${nic.name} ${nic.macAddress}`)
      .sort(),
    [`multinic0 ${aMac(5)}`, `multinic2 ${aMac(4)}`],
  )
  const biz = await expectNodes('older', 'biz-9 Configured')
  assert.deepEqual(biz.status?.nodeStatuses?.[0]?.indexes, [`0 ${aMac(5)}`, `2 ${aMac(4)}`])
})

test('the status of a BizConfig with a thousand nodes takes few writes and stays below the limit of etcd', async () => {
  const [count, nics] = [1_000, 5]
  const idOf = (index: number) => `6f1c2a10-0099-4aaa-8bbb-${index.toString().padStart(12, '0')}`
  const nodes = Array.from({ length: count }, (_, index) => {
    const node = aBizNode(idOf(index), [...Array(nics).keys()], `crowd-${index}`)
    return { ...node, interfaces: node.interfaces.map((nic, id) => ({ ...nic, portId: idOf(index * 10 + id) })) }
  })
  let writes = 0
  const stop = cluster.api.store.subscribe(({ object, old }) => {
    if (object.metadata.name === 'crowd' && old && old.metadata.generation === object.metadata.generation) writes++
  })
  const startedAt = performance.now()
  await create('crowd', nodes)
  const whenAll = (line: string) =>
    eventually(
      async () => {
        const biz = await bizOf('crowd')
        const { summary, nodeStatuses = [] } = biz.status ?? {}
        const missing = nodeStatuses.filter(({ reason }) => reason === 'NodeNotFound').length
        assert.equal(`${summary?.totalNodes} ${summary?.configuredNodes} ${missing}`, line)
        return biz
      },
      { within: 90_000, every: 500 },
    )
  await whenAll('1000 0 1000')
  // A few of the nodes join the cluster.
  for (let index = 0; index < 5; index++) {
    await cluster.addNode(`crowd-${index}`)
    await cluster.setNode(`crowd-${index}`, { systemUUID: idOf(index), bootID: 'boot-1', osImage: 'Ubuntu 24.04 LTS' })
    await cluster.endAgent(`crowd-${index}`, successReport([...Array(nics).keys()]))
  }
  const biz = await whenAll('1000 5 995')
  stop()
  assert.ok(JSON.stringify(biz).length < 1_400_000)
  // The first write, one every five seconds, and the finalizer.
  const maxWrites = Math.ceil((performance.now() - startedAt) / 5_000) + 2
  assert.ok(writes <= maxWrites, `${writes} writes, expected at most ${maxWrites}`)
})

test('with BIZ_CONFIG_MODE=biz-read-only a BizConfig gets the annotation, new nodes wait, and known nodes keep their interfaces', async () => {
  await controller.stop()
  controller = await cluster.startController({ BIZ_CONFIG_MODE: 'biz-read-only' })
  await eventually(
    async () => assert.equal((await bizOf('pair')).metadata.annotations?.['multinic.io/read-only'], 'true'),
    { within },
  )
  const id = await cluster.addNode('biz-10')
  await create('late', [aBizNode(id, [1], 'biz-10')])
  const biz = await expectNodes('late', 'Pending ReadOnly')
  assert.equal(condition(biz, 'ReadOnly'), 'True ReadOnly: a change to 1 node is ignored')
  assert.deepEqual(await cluster.jobsOn('biz-10'), [])
  await cluster.kube.delete(bizConfigs, key('late'))
})

test('with BIZ_CONFIG_MODE=node-only BizConfigs are ignored', async () => {
  await controller.stop()
  controller = await cluster.startController({ BIZ_CONFIG_MODE: 'node-only' })
  const id = await cluster.addNode('biz-11')
  await create('ignored', [aBizNode(id, [1], 'biz-11')])
  await cluster.addConfig('beside', await cluster.addNode('beside'))
  await cluster.endAgent('beside')
  await cluster.expectConfigured('beside')
  assert.equal((await bizOf('ignored')).status, undefined)
  assert.deepEqual(await cluster.jobsOn('biz-11'), [])
})

test('a cluster without the BizConfig CRD works', async () => {
  await controller.stop()
  for (const { metadata } of (await cluster.kube.list(bizConfigs, { namespace: cluster.namespace })).items)
    await cluster.kube.patch(bizConfigs, key(metadata.name), { metadata: { finalizers: null } })
  await cluster.kube.delete(crds, { name: 'multinicbizconfigs.multinic.io' })
  await eventually(() => assert.rejects(cluster.kube.list(bizConfigs, { namespace: cluster.namespace })), { within })
  controller = await cluster.startController()
  await cluster.addConfig('without', await cluster.addNode('without'))
  await cluster.endAgent('without')
  await cluster.expectConfigured('without')
})
