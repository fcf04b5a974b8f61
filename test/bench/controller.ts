/**
 * The controller on a real kube-apiserver and Job controller: 500 new configs, 500 ended Jobs, what it asks for, what it
 * holds of 5,000 nodes, and how soon a report of a real kubelet is in the status.
 *
 * References are a bare client that makes the same writes to the same objects with the same parallelism, under an account
 * like the controller's: the server writes down what ServiceAccounts ask for. The controller is stopped (SIGSTOP) while
 * its work is laid out, so that only its own time counts. It has no Lease then, which it would lose by standing still.
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
import { silent } from '../../src/telemetry/log.ts'
import { startNode } from '../rigs/kubernetes/rig.ts'
import type { Daemon } from '../rigs/process.ts'
import { endedStatus } from '../support/controller-cluster.ts'
import { forEachParallel, newConfig, parallel, readyNode, settledStatus, uuidOf } from '../support/controller-scale.ts'
import { eventually } from '../support/eventually.ts'
import { type AuditedRequest, type RealController, startRealController } from '../support/real-controller.ts'
import { figure, isolatedBench, median, memoryOf, say, timed } from './figure.ts'
import { asDeployed } from './part.ts'

const [count, rounds, wave, many, tries] = [500, 3, 40, 5_000, 9]
const within = 180_000

export const bench = isolatedBench(import.meta.filename, 25 * 60_000)

async function measure(): Promise<void> {
  const real = await startRealController()
  try {
    await buildProgram(programIn(real))
    await measureWaves(real)
    await measureMany(real)
    await measureKubelet(real)
  } finally {
    await real.close()
  }
  process.exit(0)
}

async function measureWaves(real: RealController): Promise<void> {
  const own = await lay(real, 'waves')
  const bare = await lay(real, 'bare')
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
    const made = (namespace: string) =>
      forEachParallel(names, (name, index) =>
        real.kube.create(nodeConfigs, newConfig(name, uuidOf(round, index), namespace)),
      )
    const total = (round + 1) * count

    const bareConfigs = await made('bare')
    times.bareCreate.push(await timed(() => forEachParallel(bareConfigs, config => bareCreate(client, config))))
    await quiet(bare, total)

    await paused(daemon, async () => void (await made('waves')))
    times.create.push(await resumed(daemon, () => own.jobs.list().length >= total))
    await quiet(own, total)

    await runAll(real, own)
    await forEachParallel(names, name => bareTell(client, own, bare, name))
    await endAll(real, bare, total)
    await paused(daemon, () => endAll(real, own, total))
    const asked = (await requests(real, own)).length
    times.complete.push(await resumed(daemon, () => settled(own) >= total))
    await sleep(5_000)
    perComplete.push(((await requests(real, own)).length - asked) / count)

    times.bareComplete.push(await timed(() => forEachParallel(names, name => bareTell(client, own, bare, name))))
  }

  const perCreate = await requestsPerCreate(real, own, daemon)
  await daemon.stop()
  await client.close()
  const idle = await idleRequests(real, own)
  const bareClient = (reference: number[]) => ({ against: 'bare client', reference: median(reference) })
  const goals = {
    create: { atMost: 1.3 * median(times.bareCreate) },
    complete: { atMost: 1.3 * median(times.bareComplete) },
  }
  say(figure('controller.create_500', median(times.create), 's', bareClient(times.bareCreate), goals.create))
  say(figure('controller.complete_500', median(times.complete), 's', bareClient(times.bareComplete), goals.complete))
  const writes = (reference: number) => ({ against: 'bare client', reference })
  say(figure('controller.requests_per_create', perCreate, 'requests', writes(2), { atMost: 2.2 }))
  say(figure('controller.requests_per_complete', median(perComplete), 'requests', writes(1), { atMost: 1.2 }))
  say(
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
  const stage = await lay(real, 'many')
  const names = Array.from({ length: many }, (_, index) => `m${index}`)
  await forEachParallel(names, async (name, index) => {
    await real.kube.create(nodes, readyNode(name, uuidOf(99, index)))
    const config = await real.kube.create(nodeConfigs, {
      ...newConfig(name, uuidOf(99, index), 'many'),
      metadata: { name, namespace: 'many', finalizers: [nodeConfigFinalizer] },
    })
    await real.kube.patchStatus(nodeConfigs, { namespace: 'many', name }, settledStatus(config))
  })
  const daemon = await startController(real, stage, withLease)
  await sleep(5_000)
  const nodesHeld = { against: 'nodes held, thousands', reference: many / 1_000 }
  say(figure('controller.rss_5000_mib', memoryOf(daemon.pid), 'MiB', nodesHeld, { atMost: 250 }))

  const times = { bare: [] as number[], own: [] as number[] }
  for (let index = 0; index < tries; index++) {
    const [name, uuid] = [`new${index}`, uuidOf(98, index)]
    await real.kube.create(nodes, readyNode(name, uuid))
    await sleep(200)
    const appeared = new Promise<void>(resolve => {
      const off = stage.jobs.on(({ object }) => {
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
  say(figure('controller.new_among_5000', median(times.own), 'ms', client, { atMost: 100 }))
  stage.stop()
}

async function measureKubelet(real: RealController): Promise<void> {
  const stage = await lay(real, 'kubelet')
  const image = join(real.cp.dir, 'agent.tar')
  await buildImage('agent', image, { compress: false })
  const [uuid, mac] = [uuidOf(97, 1), 'fa:16:3e:00:00:00']
  const node = await startNode(real.cp, { name: 'kubelet-1', uuid, macs: [mac], images: [image] })
  const daemon = await startController(real, stage, {
    AGENT_IMAGE: 'multinic-agent:dev',
    AGENT_IMAGE_PULL_POLICY: 'Never',
  })
  try {
    const seen = {
      created: new Map<string, number>(),
      ended: new Map<string, number>(),
      told: new Map<string, number>(),
    }
    const first = (map: Map<string, number>, name = '') => void (map.has(name) || map.set(name, performance.now()))
    stage.jobs.on(({ object }) => first(seen.created, object.metadata.name))
    stage.pods.on(({ object }) => isOpen(object) || first(seen.ended, object.metadata.labels?.['job-name']))
    stage.configs.on(({ object: { status } }) => status?.state === 'Configured' && first(seen.told, status.lastJobName))
    await real.kube.create(nodeConfigs, newConfig('kubelet-1', uuid, 'kubelet'))
    for (let index = 1; index <= tries; index++) {
      await eventually(() => assert.ok(seen.told.size >= index, 'the node is not Configured'), { within })
      if (index === tries) break
      await real.kube.patch(
        nodeConfigs,
        { namespace: 'kubelet', name: 'kubelet-1' },
        { spec: { specHash: `h${index}` } },
      )
    }
    const since = (map: Map<string, number>) =>
      [...map].flatMap(([name, at]) => (seen.created.has(name) ? [(at - (seen.created.get(name) ?? at)) / 1_000] : []))
    const kubelet = { against: 'the kubelet shows the end', reference: median(since(seen.ended)) }
    say(figure('controller.job_to_status_p50_s', median(since(seen.told)), 's', kubelet, { atMost: 1.5 }))
  } finally {
    await daemon.stop()
    await node.close()
    stage.stop()
  }
}

/** As it is deployed: in one file. */
const programIn = ({ cp }: RealController) => join(cp.dir, 'multinic.mjs')

interface Laid {
  namespace: string
  kubeconfig: string
  configs: Informer<NodeConfig>
  jobs: Informer<JobObject>
  pods: Informer<PodObject>
  stop(): void
}

/** A namespace, and what happens in it. */
async function lay(real: RealController, namespace: string): Promise<Laid> {
  const { kubeconfig } = await real.install(namespace)
  const over = new AbortController()
  const follow = <T extends KubeObject>(resource: Resource<T>) =>
    createInformer(real.kube, resource, { namespace, log: silent })
  const followed = { configs: follow(nodeConfigs), jobs: follow(jobs), pods: follow(pods) }
  for (const one of Object.values(followed)) await one.start(over.signal)
  return { namespace, kubeconfig, ...followed, stop: () => over.abort() }
}

async function startController(real: RealController, laid: Laid, env: Record<string, string> = {}): Promise<Daemon> {
  const { namespace, kubeconfig } = laid
  const { flags, environment } = asDeployed('controller')
  const daemon = real.startProcess(
    namespace,
    {
      ...{ KUBECONFIG: kubeconfig, CONTROLLER_NAMESPACE: namespace, LEADER_ELECT: 'false', MAX_UNAVAILABLE: '100%' },
      ...{ CONTROLLER_WORKERS: String(parallel), ...environment, ...env },
    },
    // As the image starts it.
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

/** What the controller has told of its config, on the bare one of the same name. */
async function bareTell(kube: KubeClient, own: Laid, bare: Laid, name: string): Promise<void> {
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

function settled({ configs }: Laid): number {
  return configs.list().filter(({ status }) => status?.state === 'Configured').length
}

/** Until the Job controller has made all Pods and nobody has anything more to say: a Job that takes long is told. */
async function quiet(laid: Laid, total: number): Promise<void> {
  await eventually(() => assert.ok(laid.pods.list().length >= total, 'not all Pods are made'), { within })
  await sleep(4_000)
}

/** Of a Pod that does not start by and by the controller asks why: the agents run until they end, and this is told. */
async function runAll(real: RealController, laid: Laid): Promise<void> {
  const state = { running: { startedAt: new Date().toISOString() } }
  const agent = { name: 'agent', restartCount: 0, ready: true, image: '', imageID: '', state }
  await forEachParallel(laid.pods.list().filter(isOpen), ({ metadata: { name, namespace = '' } }) =>
    real.kube.patchStatus(pods, { namespace, name }, { phase: 'Running', containerStatuses: [agent] }),
  )
  const isTold = ({ status }: NodeConfig) =>
    status?.state === 'Configured' || status?.conditions?.some(({ message }) => message?.endsWith(' is running'))
  await eventually(() => assert.ok(laid.configs.list().every(isTold), 'not all are told to run'), { within })
}

/** Every open Pod, and with it its Job. */
async function endAll(real: RealController, laid: Laid, total: number): Promise<void> {
  await forEachParallel(laid.pods.list().filter(isOpen), pod => end(real, pod))
  const done = () => laid.jobs.list().filter(({ status }) => (status?.succeeded ?? 0) > 0).length
  await eventually(() => assert.ok(done() >= total, 'not all Jobs have ended'), { within })
  await sleep(1_500)
}

async function paused(daemon: Daemon, work: () => Promise<void>): Promise<void> {
  process.kill(daemon.pid, 'SIGSTOP')
  await work()
}

/** Seconds until it has done its work. */
async function resumed(daemon: Daemon, done: () => boolean): Promise<number> {
  return timed(async () => {
    process.kill(daemon.pid, 'SIGCONT')
    await eventually(() => assert.ok(done(), 'the controller is not done'), { within, every: 5 })
  })
}

async function requests(real: RealController, { namespace }: Laid): Promise<AuditedRequest[]> {
  const user = `system:serviceaccount:${namespace}:multinic-agent`
  return (await real.requests()).filter(one => one.user === user)
}

/** Of a controller that has nothing to do, with the Lease. */
async function idleRequests(real: RealController, own: Laid): Promise<number> {
  const daemon = await startController(real, own, withLease)
  await sleep(10_000)
  const before = (await requests(real, own)).length
  await sleep(10_000)
  const idle = (await requests(real, own)).length - before
  await daemon.stop()
  return idle
}

/** A wave that is over before its configs have anything else to say: a Job that takes long is worth a write of its own. */
async function requestsPerCreate(real: RealController, own: Laid, daemon: Daemon): Promise<number> {
  const names = Array.from({ length: wave }, (_, index) => `asked-n${index}`)
  await forEachParallel(names, (name, index) => real.kube.create(nodes, readyNode(name, uuidOf(96, index))))
  const total = own.jobs.list().length + wave
  await paused(daemon, async () => {
    await forEachParallel(names, (name, index) =>
      real.kube.create(nodeConfigs, newConfig(name, uuidOf(96, index), own.namespace)),
    )
  })
  const before = (await requests(real, own)).length
  await resumed(daemon, () => own.jobs.list().length >= total)
  const asked = (await requests(real, own)).length - before
  await quiet(own, total)
  await forEachParallel(own.pods.list().filter(isOpen), pod => end(real, pod))
  await eventually(() => assert.ok(settled(own) >= total, 'not all are Configured'), { within })
  await sleep(5_000)
  return asked / wave
}

if (import.meta.main) await measure()
