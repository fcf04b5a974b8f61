/**
 * The load on the API server of a cluster with 1,000 nodes: checks for drift, retries of nodes that fail, and a rollout to 200
 * of them, each with the default settings but without a Lease. Real kube-apiserver and Job controller, fake agents that end at once.
 *
 * The server counts all requests: those of the controller, of the Job controller and of the agents' kubelets (one status each).
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import { type NodeConfigStatus, nodeConfigFinalizer, nodeConfigs } from '../../src/contract/node-config.ts'
import { aNic } from '../../src/controller/controller.fixture.ts'
import { jobs, nodes } from '../../src/kube/resources.ts'
import { configuredStatus, forEachParallel, newConfig, readyNode, uuidOf } from '../support/controller-scale.ts'
import { eventually } from '../support/eventually.ts'
import { startFakeAgents } from '../support/fake-agents.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'
import { figure, isolatedBench, printFigure } from './figure.ts'

const [count, changed, seconds] = [1_000, 200, 60]
const within = 600_000
const names = Array.from({ length: count }, (_, index) => `n${index}`)
/** Long enough ago for a check and for a retry. */
const lastProcessed = new Date(Date.now() - 2 * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z')

const failed = { status: 'Failed', reason: 'PersistFailed', message: 'read-only file system' } as const

export const bench = isolatedBench(import.meta.filename, 20 * 60_000)

async function measure(): Promise<void> {
  const real = await startRealController()
  try {
    await forEachParallel(names, (name, index) => real.kube.create(nodes, readyNode(name, uuidOf(1, index))))
    await measureJobs(real, 'checks', {}, () => ({ verdict: 'InSync', reason: 'InSync', changed: 0 }))
    await measureJobs(real, 'retries', failedStatus(), () => ({
      ...{ verdict: 'Failed', reason: 'PersistFailed', message: failed.message, interfaces: [aNic(0, failed)] },
    }))
    await measureRollout(real)
  } finally {
    await real.close()
  }
  process.exit(0)
}

function failedStatus(): NodeConfigStatus {
  const condition = { reason: 'ApplyFailed', message: failed.message, lastTransitionTime: lastProcessed }
  return {
    state: 'Failed',
    nics: '0/1',
    failedAttempts: 3,
    conditions: ['Ready', 'Progressing', 'Degraded'].map(type => ({
      ...{ type, status: type === 'Ready' ? 'False' : 'True', ...condition },
    })),
    interfaceStatuses: [aNic(0, failed)],
  }
}

/** Configured nodes with this status instead, and the requests in a minute of what the controller does about it. */
async function measureJobs(
  real: RealController,
  namespace: string,
  status: NodeConfigStatus,
  report: () => Partial<AgentReport>,
): Promise<void> {
  await using cluster = await prepare(real, namespace, { lastProcessed, ...status }, report)
  const before = await cluster.counts()
  await sleep(seconds * 1_000)
  const after = await cluster.counts()
  const perSecond = (key: keyof typeof after) => (after[key] - before[key]) / seconds
  const started = { against: 'Jobs per second', reference: perSecond('jobs') }
  printFigure(figure(`load.${namespace}_1000`, perSecond('total'), 'requests/s', started, { atMost: 20 }))
  printFigure(figure(`load.${namespace}_controller_1000`, perSecond('own'), 'requests/s', started, { atMost: 5 }))
}

async function measureRollout(real: RealController): Promise<void> {
  await using cluster = await prepare(real, 'rollout', {}, () => ({}))
  const { namespace } = cluster
  const before = await cluster.counts()
  const startedAt = performance.now()
  const rolled = names.slice(0, changed)
  await forEachParallel(rolled, name =>
    real.kube.patch(nodeConfigs, { namespace, name }, { spec: { specHash: 'new' } }),
  )
  await eventually(
    async () => {
      const { items } = await real.kube.list(nodeConfigs, { namespace })
      const isDone = items.every(
        ({ metadata, status }) => status?.state === 'Configured' && status.observedGeneration === metadata.generation,
      )
      assert.ok(isDone, 'not all nodes are Configured')
    },
    { within, every: 1_000 },
  )
  const took = (performance.now() - startedAt) / 1_000
  const after = await cluster.counts()
  const perSecond = (after.own - before.own) / took
  const nodesPerSecond = { against: 'nodes per second', reference: changed / took }
  printFigure(
    figure('load.rollout_controller_1000', perSecond, 'requests/s', nodesPerSecond, {
      none: 'load.rollout_per_node has the goal',
    }),
  )
  const oneNode = { against: 'finalizer, Job and status', reference: 3 }
  printFigure(figure('load.rollout_per_node', (after.own - before.own) / changed, 'requests', oneNode, { atMost: 6 }))
}

/** 1,000 configs with this status, a controller with default settings, and agents that end with this report. */
async function prepare(
  real: RealController,
  namespace: string,
  status: NodeConfigStatus,
  report: () => Partial<AgentReport>,
) {
  const { kubeconfig } = await real.install(namespace)
  await forEachParallel(names, async (name, index) => {
    const config = await real.kube.create(nodeConfigs, {
      ...newConfig(name, uuidOf(1, index), namespace),
      metadata: { name, namespace, finalizers: [nodeConfigFinalizer] },
    })
    const next = { ...configuredStatus(config), ...status }
    await real.kube.patchStatus(nodeConfigs, { namespace, name }, next)
  })
  const agents = await startFakeAgents(real.kube, namespace, { report })
  const daemon = real.startProcess(namespace, {
    ...{ KUBECONFIG: kubeconfig, CONTROLLER_NAMESPACE: namespace, LEADER_ELECT: 'false' },
  })
  await eventually(async () => assert.match(await daemon.tail(), /caches synced/), { within })
  // The first seconds have the lists of the caches and the first burst.
  await sleep(15_000)
  const counts = async () => ({
    total: await totalRequests(real),
    own: (await real.requestsOf(namespace)).length,
    jobs: (await real.requestsOf(namespace)).filter(({ verb, resource }) => verb === 'create' && resource === 'jobs')
      .length,
  })
  return {
    namespace,
    counts,
    async [Symbol.asyncDispose]() {
      await daemon.stop()
      await agents.stop()
      for (const { metadata } of (await real.kube.list(jobs, { namespace })).items)
        await real.kube.delete(jobs, { namespace, name: metadata.name }, { propagation: 'Background' })
    },
  }
}

/** All requests that the API server completed, without watches and its requests to itself. */
async function totalRequests({ cp }: RealController): Promise<number> {
  const { stdout } = await cp.exec('kubectl', ['get', '--raw', '/metrics'])
  const lines = stdout.split('\n').filter(line => line.startsWith('apiserver_request_total{'))
  const counted = lines.filter(line => /resource="(jobs|pods|events|multinicnodeconfigs)"/.test(line))
  return counted
    .filter(line => !line.includes('verb="WATCH"'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

if (import.meta.main) await measure()
