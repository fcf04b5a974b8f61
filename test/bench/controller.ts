/**
 * The controller on a real kube-apiserver and Job controller: 500 new configs, 500 ended Jobs, number of requests, memory with
 * 5,000 nodes, and the time until a report of a real kubelet is in the status.
 *
 * The reference is a bare client that makes the same writes to the same objects with the same parallelism, also under a
 * ServiceAccount, because the server audits those. The controller is stopped (SIGSTOP) while the bench prepares its work, so
 * that only its own time counts. It runs without Lease then, because it would lose it.
 *
 * With BENCH_QUICK (`make guard`) one round instead of three, no 5,000 nodes and no kubelet.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildProgram } from '../../scripts/build.ts'
import { buildImage } from '../../scripts/image.ts'
import { type NodeConfig, nodeConfigFinalizer, nodeConfigs } from '../../src/contract/node-config.ts'
import { controllerConfig } from '../../src/controller/config.ts'
import { agentJob } from '../../src/controller/job.ts'
import { factsOf } from '../../src/controller/machine.ts'
import { requestedOf } from '../../src/controller/plan/requested.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { createInformer, type Informer } from '../../src/kube/informer.ts'
import { jobs, nodes, pods } from '../../src/kube/resources.ts'
import type { JobObject, KubeObject, PodObject, Resource } from '../../src/kube/types.ts'
import { environment } from '../../src/runtime/env.ts'
import { silent } from '../../src/telemetry/log.ts'
import { startNode } from '../rigs/kubernetes/rig.ts'
import type { Daemon } from '../rigs/process.ts'
import { endedStatus } from '../support/controller-cluster.ts'
import { configuredStatus, forEachParallel, newConfig, readyNode, uuidOf } from '../support/controller-scale.ts'
import { eventually } from '../support/eventually.ts'
import { type AuditedRequest, type RealController, startRealController } from '../support/real-controller.ts'
import { asDeployed } from './component.ts'
import { figure, isolatedBench, median, memoryOf, printFigure, timed } from './figure.ts'

const isQuick = Boolean(environment()['BENCH_QUICK'])
const [count, rounds, wave, many, tries] = [500, isQuick ? 1 : 3, 40, 5_000, 9]
const within = 180_000

export const bench = isolatedBench(import.meta.filename, 25 * 60_000)

async function measure(): Promise<void> {
  const real = await startRealController()
  try {
    await buildProgram(programIn(real))
    await measureWaves(real)
    if (!isQuick) {
      await measureMany(real)
      await measureKubelet(real)
    }
  } finally {
    await real.close()
  }
  process.exit(0)
}

async function measureWaves(real: RealController): Promise<void> {
  const own = await prepare(real, 'waves')
  const bare = await prepare(real, 'bare')
  const client = connectKube(await loadKubeconfig(bare.kubeconfig))
  const daemon = await startController(real, own)
  const times = {
    create: [] as number[],
    complete: [] as number[],
    bareCreate: [] as number[],
    bareComplete: [] as number[],
  }

  const perComplete: number[] = []

  for (let round = 0; round < rounds; round++) {
    const names = Array.from({ length: count }, (_, index) => `r${round}-n${index}`)
    await forEachParallel(
      names,
      async (name, index) => void (await real.kube.create(nodes, readyNode(name, uuidOf(round, index)))),
    )
    const createConfigs = (namespace: string) =>
      forEachParallel(names, (name, index) =>
        real.kube.create(nodeConfigs, newConfig(name, uuidOf(round, index), namespace)),
      )
    const total = (round + 1) * count

    const bareConfigs = await createConfigs('bare')
    times.bareCreate.push(await timed(() => forEachParallel(bareConfigs, config => bareCreate(client, config))))
    await waitForPods(bare, total)

    await whilePaused(daemon, async () => void (await createConfigs('waves')))
    times.create.push(await resume(daemon, () => own.jobs.list().length >= total))
    await waitForPods(own, total)

    await runAll(real, own)
    await forEachParallel(names, name => bareStatus(client, own, bare, name))
    await endAll(real, bare, total)
    await whilePaused(daemon, () => endAll(real, own, total))
    const requestsBefore = (await requests(real, own)).length
    times.complete.push(await resume(daemon, () => configuredCount(own) >= total))
    await sleep(5_000)
    perComplete.push(((await requests(real, own)).length - requestsBefore) / count)

    times.bareComplete.push(await timed(() => forEachParallel(names, name => bareStatus(client, own, bare, name))))
    if (round === 0) {
      const hundreds = { against: 'hundreds of nodes', reference: count / 100 }
      printFigure(figure('controller.rss_500_mib', memoryOf(daemon.pid, 'VmHWM'), 'MiB', hundreds, { atMost: 110 }))
    }
  }

  const perCreate = await requestsPerCreate(real, own, daemon)
  await daemon.stop()
  await client.close()
  const idle = await idleRequests(real, own)
  const bareClient = (reference: number[]) => ({ against: 'bare client', reference: median(reference) })
  const slowdown = { atMostTimes: 1.3 }
  printFigure(figure('controller.create_500', median(times.create), 's', bareClient(times.bareCreate), slowdown))
  printFigure(figure('controller.complete_500', median(times.complete), 's', bareClient(times.bareComplete), slowdown))
  const writes = (reference: number) => ({ against: 'bare client', reference })
  printFigure(figure('controller.requests_per_create', perCreate, 'requests', writes(2), { atMost: 2.2 }))
  printFigure(figure('controller.requests_per_complete', median(perComplete), 'requests', writes(1), { atMost: 1.2 }))
  printFigure(
    figure(
      'controller.idle_requests_10s',
      idle,
      'requests',
      { against: 'the Lease alone', reference: 2 },
      { atMost: 2 },
    ),
  )
  own.stop()
  bare.stop()
}

async function measureMany(real: RealController): Promise<void> {
  const target = await prepare(real, 'many')
  const names = Array.from({ length: many }, (_, index) => `m${index}`)
  await forEachParallel(names, async (name, index) => {
    await real.kube.create(nodes, readyNode(name, uuidOf(99, index)))
    const config = await real.kube.create(nodeConfigs, {
      ...newConfig(name, uuidOf(99, index), 'many'),
      metadata: { name, namespace: 'many', finalizers: [nodeConfigFinalizer] },
    })
    await real.kube.patchStatus(nodeConfigs, { namespace: 'many', name }, configuredStatus(config))
  })
  const daemon = await startController(real, target, withLease)
  await sleep(5_000)
  const thousands = { against: 'thousands of nodes', reference: many / 1_000 }
  printFigure(figure('controller.rss_5000_mib', memoryOf(daemon.pid, 'VmHWM'), 'MiB', thousands, { atMost: 200 }))

  const times = { bare: [] as number[], own: [] as number[] }
  for (let index = 0; index < tries; index++) {
    const [name, uuid] = [`new${index}`, uuidOf(98, index)]
    await real.kube.create(nodes, readyNode(name, uuid))
    await sleep(200)
    const appeared = new Promise<void>(resolve => {
      const off = target.jobs.on(({ object }) => {
        if (object.spec.template.spec.nodeName !== name) return
        resolve()
        setImmediate(() => off())
      })
    })
    await real.kube.create(nodeConfigs, newConfig(name, uuid, 'many'))
    times.own.push((await timed(() => appeared)) * 1_000)
    const other = await real.kube.create(nodeConfigs, newConfig(name, uuid, 'bare'))
    times.bare.push((await timed(() => bareCreate(real.kube, other))) * 1_000)
  }
  await daemon.stop()
  const client = { against: 'bare client', reference: median(times.bare) }
  printFigure(figure('controller.new_among_5000', median(times.own), 'ms', client, { atMost: 100 }))
  target.stop()
}

async function measureKubelet(real: RealController): Promise<void> {
  const target = await prepare(real, 'kubelet')
  const image = join(real.cp.dir, 'agent.tar')
  await buildImage('agent', image, { compress: false })
  const [uuid, mac] = [uuidOf(97, 1), 'fa:16:3e:00:00:00']
  const node = await startNode(real.cp, { name: 'kubelet-1', uuid, macs: [mac], images: [image] })
  const daemon = await startController(real, target, {
    AGENT_IMAGE: 'multinic-agent:dev',
    AGENT_IMAGE_PULL_POLICY: 'Never',
  })
  try {
    const seen = {
      created: new Map<string, number>(),
      ended: new Map<string, number>(),
      reported: new Map<string, number>(),
    }
    const first = (map: Map<string, number>, name = '') => void (map.has(name) || map.set(name, performance.now()))
    target.jobs.on(({ object }) => first(seen.created, object.metadata.name))
    target.pods.on(({ object }) => isOpen(object) || first(seen.ended, object.metadata.labels?.['job-name']))
    target.configs.on(
      ({ object: { status } }) => status?.state === 'Configured' && first(seen.reported, status.lastJobName),
    )
    await real.kube.create(nodeConfigs, newConfig('kubelet-1', uuid, 'kubelet'))
    for (let index = 1; index <= tries; index++) {
      await eventually(() => assert.ok(seen.reported.size >= index, 'the node is not Configured'), { within })
      if (index === tries) break
      await real.kube.patch(
        nodeConfigs,
        { namespace: 'kubelet', name: 'kubelet-1' },
        { spec: { specHash: `h${index}` } },
      )
    }
    const since = (map: Map<string, number>) =>
      [...map].flatMap(([name, at]) => (seen.created.has(name) ? [(at - (seen.created.get(name) ?? at)) / 1_000] : []))
    const kubelet = { against: 'the kubelet reports the end', reference: median(since(seen.ended)) }
    printFigure(figure('controller.job_to_status_p50_s', median(since(seen.reported)), 's', kubelet, { atMost: 1.5 }))
  } finally {
    await daemon.stop()
    await node.close()
    target.stop()
  }
}

/** The bundle, as deployed. */
const programIn = ({ cp }: RealController) => join(cp.dir, 'multinic.mjs')

interface Target {
  namespace: string
  kubeconfig: string
  configs: Informer<NodeConfig>
  jobs: Informer<JobObject>
  pods: Informer<PodObject>
  stop(): void
}

/** Installs the controller's namespace and watches its objects. */
async function prepare(real: RealController, namespace: string): Promise<Target> {
  const { kubeconfig } = await real.install(namespace)
  const stopped = new AbortController()
  const follow = <T extends KubeObject>(resource: Resource<T>) =>
    createInformer(real.kube, resource, { namespace, log: silent })
  const followed = { configs: follow(nodeConfigs), jobs: follow(jobs), pods: follow(pods) }
  for (const informer of Object.values(followed)) await informer.start(stopped.signal)
  return { namespace, kubeconfig, ...followed, stop: () => stopped.abort() }
}

async function startController(
  real: RealController,
  target: Target,
  env: Record<string, string> = {},
): Promise<Daemon> {
  const { namespace, kubeconfig } = target
  const { flags, environment } = asDeployed
  const daemon = real.startProcess(
    namespace,
    {
      ...{ KUBECONFIG: kubeconfig, CONTROLLER_NAMESPACE: namespace, LEADER_ELECT: 'false', MAX_UNAVAILABLE: '100%' },
      ...environment,
      ...env,
    },
    // Started like in its image.
    [...flags, programIn(real)],
  )
  await eventually(async () => assert.ok((await daemon.tail()).includes('caches synced'), await daemon.tail()), {
    within,
  })
  return daemon
}

const withLease = { LEADER_ELECT: 'true' }
const { agent } = controllerConfig({})

async function bareCreate(kube: KubeClient, config: NodeConfig): Promise<void> {
  const { name, namespace = '', resourceVersion } = config.metadata
  const metadata = { finalizers: [nodeConfigFinalizer], resourceVersion }
  await kube.patch(nodeConfigs, { namespace, name }, { metadata })
  const { interfaces, specHash } = requestedOf(config)
  const node = factsOf(readyNode(name, config.spec.instanceId ?? ''))
  const work = { config, node, interfaces, specHash, action: 'apply', attempt: 0, takesSlot: false } as const
  await kube.create(jobs, agentJob(work, agent))
}

/** Writes the status of the controller's config to the bare config of the same name. */
async function bareStatus(kube: KubeClient, own: Target, bare: Target, name: string): Promise<void> {
  const { resourceVersion = '' } = bare.configs.get(`${bare.namespace}/${name}`)?.metadata ?? {}
  const status = own.configs.get(`${own.namespace}/${name}`)?.status ?? {}
  await kube.patchStatus(nodeConfigs, { namespace: bare.namespace, name }, status, { resourceVersion })
}

async function end(real: RealController, pod: PodObject): Promise<void> {
  const { name, namespace = '' } = pod.metadata
  await real.kube.patchStatus(pods, { namespace, name }, endedStatus(pod, 'Succeeded'))
}

function isOpen({ status }: PodObject): boolean {
  return !status?.containerStatuses?.some(({ state }) => state?.terminated)
}

function configuredCount({ configs }: Target): number {
  return configs.list().filter(({ status }) => status?.state === 'Configured').length
}

/** Waits until the Job controller created all Pods, and the controller reported the Jobs that take long. */
async function waitForPods(target: Target, total: number): Promise<void> {
  await eventually(() => assert.ok(target.pods.list().length >= total, 'not all Pods exist'), { within })
  await sleep(4_000)
}

/** The controller queries Pods that do not start. So all agents run first, and the controller reports it. */
async function runAll(real: RealController, target: Target): Promise<void> {
  const state = { running: { startedAt: new Date().toISOString() } }
  const agent = { name: 'agent', restartCount: 0, ready: true, image: '', imageID: '', state }
  await forEachParallel(target.pods.list().filter(isOpen), ({ metadata: { name, namespace = '' } }) =>
    real.kube.patchStatus(pods, { namespace, name }, { phase: 'Running', containerStatuses: [agent] }),
  )
  const isReported = ({ status }: NodeConfig) =>
    status?.state === 'Configured' || status?.conditions?.some(({ message }) => message?.endsWith(' is running'))
  await eventually(() => assert.ok(target.configs.list().every(isReported), 'not all configs report a running agent'), {
    within,
  })
}

/** Ends every open Pod, and with it its Job. */
async function endAll(real: RealController, target: Target, total: number): Promise<void> {
  await forEachParallel(target.pods.list().filter(isOpen), pod => end(real, pod))
  const done = () => target.jobs.list().filter(({ status }) => (status?.succeeded ?? 0) > 0).length
  await eventually(() => assert.ok(done() >= total, 'not all Jobs have ended'), { within })
  await sleep(1_500)
}

async function whilePaused(daemon: Daemon, work: () => Promise<void>): Promise<void> {
  process.kill(daemon.pid, 'SIGSTOP')
  await work()
}

/** Resumes the controller and returns the seconds until its work is done. */
async function resume(daemon: Daemon, done: () => boolean): Promise<number> {
  return timed(async () => {
    process.kill(daemon.pid, 'SIGCONT')
    await eventually(() => assert.ok(done(), 'the controller is not done'), { within, every: 5 })
  })
}

async function requests(real: RealController, { namespace }: Target): Promise<AuditedRequest[]> {
  const user = `system:serviceaccount:${namespace}:multinic-agent`
  return (await real.requests()).filter(request => request.user === user)
}

/** Requests of an idle controller with a Lease. */
async function idleRequests(real: RealController, own: Target): Promise<number> {
  const daemon = await startController(real, own, withLease)
  await sleep(10_000)
  const before = (await requests(real, own)).length
  await sleep(10_000)
  const idle = (await requests(real, own)).length - before
  await daemon.stop()
  return idle
}

/** A short wave, because a Job that takes long costs one more status write. */
async function requestsPerCreate(real: RealController, own: Target, daemon: Daemon): Promise<number> {
  const names = Array.from({ length: wave }, (_, index) => `counted-n${index}`)
  await forEachParallel(names, (name, index) => real.kube.create(nodes, readyNode(name, uuidOf(96, index))))
  const total = own.jobs.list().length + wave
  await whilePaused(daemon, async () => {
    await forEachParallel(names, (name, index) =>
      real.kube.create(nodeConfigs, newConfig(name, uuidOf(96, index), own.namespace)),
    )
  })
  const before = (await requests(real, own)).length
  await resume(daemon, () => own.jobs.list().length >= total)
  const made = (await requests(real, own)).length - before
  await waitForPods(own, total)
  await forEachParallel(own.pods.list().filter(isOpen), pod => end(real, pod))
  await eventually(() => assert.ok(configuredCount(own) >= total, 'not all configs are Configured'), { within })
  await sleep(5_000)
  return made / wave
}

if (import.meta.main) await measure()
