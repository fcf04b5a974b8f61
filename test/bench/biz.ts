/**
 * One MultiNicBizConfig of 1,000 nodes with 5 NICs each on a real kube-apiserver and etcd: number of status writes, size, and
 * time compared with the same nodes as MultiNicNodeConfigs in the same run.
 *
 * Fake agents end their Pods with a successful report at once.
 */
import assert from 'node:assert/strict'
import { hashOf } from '../../src/contract/hash.ts'
import { bizConfigs } from '../../src/contract/legacy/biz-config.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { aMac } from '../../src/controller/legacy/biz-config.fixture.ts'
import { nodes } from '../../src/kube/resources.ts'
import { forEachParallel, readyNode, uuidOf } from '../support/controller-scale.ts'
import { eventually } from '../support/eventually.ts'
import { startFakeAgents } from '../support/fake-agents.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'
import { figure, isolatedBench, printFigure, timed } from './figure.ts'

const [count, nics] = [1_000, 5]
const within = 600_000
/** Maximum size of an object in etcd. */
const objectLimit = 1_572_864

export const bench = isolatedBench(import.meta.filename, 25 * 60_000)

async function measure(): Promise<void> {
  const real = await startRealController()
  try {
    const single = await measureRollout(real, 'single', 1, createSingles)
    const whole = await measureRollout(real, 'whole', 2, createWhole)
    printFigure(
      figure(
        'biz.configure_1000x5',
        whole,
        's',
        { against: 'as MultiNicNodeConfigs', reference: single },
        { atMostTimes: 1.3 },
      ),
    )
    const writes = (await real.requestsOf('whole')).filter(
      ({ resource }) => resource === 'multinicbizconfigs/status',
    ).length
    printFigure(
      figure(
        'biz.status_writes_1000',
        writes,
        'writes',
        { against: 'one per node', reference: count },
        // The first at once, then one every five seconds.
        { atMost: Math.ceil(whole / 5) + 3 },
      ),
    )
    const document = await real.kube.get(bizConfigs, { namespace: 'whole', name: 'all' })
    const bytes = Buffer.byteLength(JSON.stringify(document))
    const limit = { against: 'the limit of etcd', reference: objectLimit }
    printFigure(figure('biz.object_1000x5', bytes, 'bytes', limit, { atMostTimes: 1 }))
  } finally {
    await real.close()
  }
  process.exit(0)
}

type Installation = Awaited<ReturnType<RealController['install']>>

/** Seconds until every node is Configured. */
async function measureRollout(
  real: RealController,
  namespace: string,
  round: number,
  create: (installation: Installation, round: number) => Promise<() => Promise<void>>,
): Promise<number> {
  const installation = await real.install(namespace, { waits: { within } })
  const names = Array.from({ length: count }, (_, index) => `${namespace}-${index}`)
  await forEachParallel(names, (name, index) => real.kube.create(nodes, readyNode(name, uuidOf(round, index))))
  const agents = await startFakeAgents(real.kube, namespace)
  const controller = await installation.startController()
  try {
    return await timed(async () => {
      const done = await create(installation, round)
      await eventually(done, { within, every: 500 })
    })
  } finally {
    await controller.stop()
    await agents.stop()
  }
}

const interfaces = (index: number) =>
  Array.from({ length: nics }, (_, id) => ({
    portId: hashOf([index, id]).slice(0, 36),
    macAddress: aMac(id),
    address: `192.168.${id}.10`,
    cidr: `192.168.${id}.0/24`,
    mtu: 1450,
  }))

async function createSingles({ kube, namespace }: Installation, round: number): Promise<() => Promise<void>> {
  await forEachParallel(Array.from({ length: count }), (_, index) => {
    const nodeName = `${namespace}-${index}`
    return kube.create(nodeConfigs, {
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicNodeConfig',
      metadata: { name: nodeName, namespace },
      spec: {
        nodeName,
        instanceId: uuidOf(round, index),
        interfaces: interfaces(index).map((nic, id) => ({ ...nic, id, name: `multinic${id}` })),
      },
    })
  })
  return async () => {
    const { items } = await kube.list(nodeConfigs, { namespace })
    assert.equal(items.filter(({ status }) => status?.state === 'Configured').length, count)
  }
}

async function createWhole({ kube, namespace }: Installation, round: number): Promise<() => Promise<void>> {
  await kube.create(bizConfigs, {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicBizConfig',
    metadata: { name: 'all', namespace },
    spec: {
      nodeConfigs: Array.from({ length: count }, (_, index) => ({
        attachedNodeId: uuidOf(round, index),
        attachedNodeName: `${namespace}-${index}`,
        interfaces: interfaces(index),
      })),
    },
  })
  return async () => {
    const { status } = (await kube.get(bizConfigs, { namespace, name: 'all' })) ?? {}
    assert.equal(status?.summary?.configuredNodes, count)
  }
}

if (import.meta.main) await measure()
