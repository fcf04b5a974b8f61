/**
 * The whole chain with real servers: from the attach in Nova to the first ping over the NIC, on the node of a real kubelet.
 * Keystone, Neutron, Nova, RabbitMQ, kube-apiserver and containerd are real; the test plugs the device in when Nova attached it.
 *
 * The reference is Kubernetes alone: a manually created Job with the agent image, until its Pod has ended.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemPath } from '../../sandbox/exec.ts'
import { buildProgram } from '../../scripts/build.ts'
import { buildImage } from '../../scripts/image.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { createInformer } from '../../src/kube/informer.ts'
import { jobs, pods } from '../../src/kube/resources.ts'
import { silent } from '../../src/telemetry/log.ts'
import { type RigNode, startNode } from '../rigs/kubernetes/rig.ts'
import { type OpenStack, startOpenStack } from '../rigs/openstack/rig.ts'
import { run } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import { type Collector, startCollector } from '../support/otlp-collector.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'
import { type RealCloudSystem, startRealCloudSystem } from '../system/real-cloud.ts'
import { asDeployed } from './component.ts'
import { figure, isolatedBench, median, percentile, printFigure, timed } from './figure.ts'

const [warmUps, attaches, polled] = [2, 20, 5]
const pollSeconds = 2
const namespace = 'multinic-system'
const [gateway, cidr] = ['10.60.0.1', '10.60.0.0/24']

/** Span names of the components; some spans contain others. */
const stages = [
  'notification',
  'sync',
  'viola',
  'cr',
  'job',
  'pod-start',
  'agent',
  'apply',
  'verify',
  'status',
  'inventory',
]

export const bench = isolatedBench(import.meta.filename, 20 * 60_000)

if (import.meta.main) await measure()

async function measure(): Promise<void> {
  const ends: (() => Promise<unknown>)[] = []
  try {
    const cloud = await startOpenStack()
    ends.push(() => cloud.close())
    const real = await startRealController()
    ends.push(() => real.close())
    const { subnetId, networkId, vm } = await createCloudObjects(cloud)
    const image = join(real.cp.dir, 'agent.tar')
    await buildImage('agent', image, { compress: false })
    const node = await startNode(real.cp, { name: 'worker-1', uuid: vm, macs: [], images: [image] })
    ends.push(() => node.close())
    const collector = await startCollector()
    ends.push(() => collector.close())
    const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    const controller = await startController(real, tracing)
    ends.push(() => controller.stop())
    const operator: Record<string, string> = { INVENTORY_ENABLED: 'true', INVENTORY_ADDR: '127.0.0.1:8082' }
    operator['INVENTORY_DB_PATH'] = join(real.cp.dir, 'inventory.db')
    const system = await startRealCloudSystem(cloud, {
      cluster: { kubeconfig: real.cp.kubeconfig, kube: real.kube },
      operator,
      env: tracing,
    })
    ends.push(() => system.stop())
    const settings = { pollFastInterval: '10m', pollSlowInterval: '10m' }
    await system.create('main', { subnetIDs: [subnetId], vmNames: [vm], settings })
    await system.eventually(async () => {
      const connected = (await system.config()).status?.conditions?.find(({ type }) => type === 'EventsConnected')
      assert.equal(connected?.status, 'True')
    })

    const status = await followStatus(real.kube)
    ends.push(async () => status.close())
    const chain = { cloud, node, system, vm, networkId, status }
    for (let round = 0; round < warmUps; round++) await attachOnce(chain)
    const rounds: Round[] = []
    for (let round = 0; round < attaches; round++) rounds.push(await attachOnce(chain))
    const bare = median(await bareJobs(real, node))
    const job = { against: 'a manual Job until its Pod ended', reference: bare }
    const usable = rounds.map(round => round.usable)
    const ofP95 = { none: 'the 95th percentile has the goal' }
    const ofNova = { none: 'includes the time of Nova' }
    printFigure(figure('chain.attach_to_usable_p50_s', median(usable), 's', job, ofP95))
    printFigure(figure('chain.attach_to_usable_p95_s', percentile(usable, 0.95), 's', job, { atMost: 2 }))
    printFigure(
      figure(
        'chain.request_to_usable_p95_s',
        percentile(
          rounds.map(round => round.nova + round.usable),
          0.95,
        ),
        's',
        job,
        ofNova,
      ),
    )
    printFigure(figure('chain.nova_attach_p50_s', median(rounds.map(round => round.nova)), 's', job, ofNova))
    const ofParts = { none: 'chain.attach_to_usable_p95_s and chain.status_back_p95_ms have the goals' }
    printFigure(figure('chain.attach_to_ready_p50_s', median(rounds.map(round => round.ready)), 's', job, ofParts))

    const statusBack = rounds.map(round => round.statusBack * 1_000)
    const second = { against: 'one second', reference: 1_000 }
    printFigure(figure('chain.status_back_p50_ms', median(statusBack), 'ms', second, ofP95))
    printFigure(figure('chain.status_back_p95_ms', percentile(statusBack, 0.95), 'ms', second, { atMost: 300 }))

    printStages(collector, rounds, median(usable))

    operator['RABBITMQ_EVENTS_ENABLED'] = 'false'
    await system.withoutOperator(async () => {})
    await system.change('main', ({ spec }) => {
      spec.settings = { ...spec.settings, pollFastInterval: `${pollSeconds}s`, pollSlowInterval: `${pollSeconds}s` }
    })
    const times: number[] = []
    for (let round = 0; round < polled; round++) times.push((await attachOnce(chain)).usable)
    const interval = { against: 'the interval', reference: pollSeconds }
    printFigure(
      figure('chain.attach_to_usable_polling_p95_s', percentile(times, 0.95), 's', interval, {
        atMost: pollSeconds + 2,
      }),
    )
  } finally {
    for (const end of ends.toReversed()) await end()
  }
  process.exit(0)
}

function printStages({ spans }: Collector, rounds: readonly Round[], usable: number): void {
  const whole = { against: 'chain.attach_to_usable_p50_s', reference: usable * 1_000 }
  for (const stage of stages) {
    const times = spans
      .filter(({ name, start }) => name === stage && rounds.some(round => round.covers(Number(start / 1_000_000n))))
      .map(({ start, end }) => Number(end - start) / 1_000_000)
    assert.ok(times.length > 0, `no component sent a span "${stage}"`)
    const ofWhole = { none: 'a part of chain.attach_to_ready_p50_s' }
    printFigure(figure(`chain.stage_${stage.replace('-', '_')}_p50_ms`, median(times), 'ms', whole, ofWhole))
  }
}

interface Chain {
  cloud: OpenStack
  node: RigNode
  system: RealCloudSystem
  vm: string
  networkId: string
  status: StatusTimes
}

interface StatusTimes {
  /** Forgets the last round. */
  reset(): void
  /** Seconds from the status of the node config to that of the OpenstackConfig, when both say that the NIC is configured. */
  back(): number
  close(): void
}

async function followStatus(kube: KubeClient): Promise<StatusTimes> {
  const stop = new AbortController()
  const options = { namespace, log: silent }
  const nodes = createInformer(kube, nodeConfigs, options)
  const configs = createInformer(kube, openstackConfigs, options)
  await Promise.all([nodes.start(stop.signal), configs.start(stop.signal)])
  let node: number | undefined
  let config: number | undefined
  nodes.on(({ object: { metadata, status } }) => {
    const isConfigured = status?.state === 'Configured' && status.observedGeneration === metadata.generation
    if (isConfigured) node ??= performance.now()
  })
  configs.on(({ object: { status } }) => {
    if (status?.nodes?.configured === 1) config ??= performance.now()
  })
  return {
    reset() {
      node = undefined
      config = undefined
    },
    back() {
      assert.ok(
        node !== undefined && config !== undefined,
        'the OpenstackConfig does not report the node as configured',
      )
      return (config - node) / 1_000
    },
    close: () => stop.abort(),
  }
}

async function createCloudObjects(cloud: OpenStack): Promise<{ subnetId: string; networkId: string; vm: string }> {
  const primary = await cloud.createNetwork({ name: 'primary' })
  await cloud.createSubnet({ name: 'primary', networkId: primary, cidr: '192.168.0.0/24' })
  const networkId = await cloud.createNetwork({ name: 'storage', mtu: 1450 })
  const subnetId = await cloud.createSubnet({ name: 'storage', networkId, cidr, gateway })
  const vm = await cloud.bootServer({ name: 'worker-1', nics: [{ networkId: primary }] })
  return { subnetId, networkId, vm }
}

async function startController(real: RealController, tracing: Record<string, string>) {
  const { kubeconfig } = await real.install(namespace)
  const program = join(real.cp.dir, 'multinic.mjs')
  await buildProgram(program)
  const { flags, environment } = asDeployed
  return real.startProcess(
    'controller',
    {
      ...environment,
      ...tracing,
      KUBECONFIG: kubeconfig,
      AGENT_IMAGE: 'multinic-agent:dev',
      AGENT_IMAGE_PULL_POLICY: 'Never',
    },
    [...flags, program],
  )
}

/** Durations in seconds. `usable` and `ready` start at the response of Nova, `nova` ends there. */
interface Round {
  nova: number
  usable: number
  ready: number
  statusBack: number
  /** Whether a time (ms since 1970) is within the round. */
  covers(at: number): boolean
}

async function attachOnce(chain: Chain): Promise<Round> {
  const { cloud, node, system, vm, networkId, status } = chain
  status.reset()
  const startedAt = Date.now()
  let port = ''
  const nova = await timed(async () => {
    port = await cloud.attach(vm, { networkId })
  })
  const attached = performance.now()
  const since = () => (performance.now() - attached) / 1_000
  const { mac_address: mac, fixed_ips: addresses } = (await cloud.api.call('neutron', 'GET', `/v2.0/ports/${port}`))
    .port
  const address: string = addresses[0].ip_address
  await plug(node, mac, address)
  await waitForPing(node, address)
  const usable = since()
  await system.eventually(async () => {
    const [config] = await system.nodes()
    const nic = config?.status?.interfaceStatuses?.find(({ macAddress }) => macAddress === mac)
    assert.equal(nic?.status, 'Configured')
  })
  const ready = since()
  const statusBack = await eventually(async () => status.back(), { within: 90_000 })
  const ended = Date.now()
  await cloud.detach(vm, port)
  await system.eventually(async () =>
    assert.deepEqual(
      (await system.nodes()).flatMap(({ spec }) => spec.interfaces),
      [],
    ),
  )
  await unplug(node)
  await system.eventually(async () =>
    assert.equal((await system.nodes())[0]?.status?.state ?? 'Configured', 'Configured'),
  )
  // The next round starts with a status that does not report the NIC.
  await eventually(async () => assert.equal((await system.config()).status?.nodes?.configured, 0), { within: 90_000 })
  return { nova, usable, ready, statusBack, covers: at => at >= startedAt && at <= ended }
}

/** Adds the device to the guest. The gateway is at the other end and knows the MAC of the guest, like a bridge. */
async function plug({ netns, fabric }: RigNode, mac: string, address: string): Promise<void> {
  const lines = [
    `link add p1 type veth peer name ens9 address ${mac} netns ${netns}`,
    `address add ${gateway}/24 dev p1`,
    'link set p1 up',
    `neighbour replace ${address} lladdr ${mac} dev p1`,
  ]
  await run('ip', ['-n', fabric, '-batch', '-'], { input: `${lines.join('\n')}\n` })
}

async function unplug({ fabric }: RigNode): Promise<void> {
  await run('ip', ['-n', fabric, 'link', 'delete', 'p1'])
}

/** Pings from the gateway every 20 ms until the first answer. */
async function waitForPing({ fabric }: RigNode, address: string): Promise<void> {
  const child = spawn('nsenter', [`--net=/run/netns/${fabric}`, 'ping', '-i', '0.02', '-w', '60', address], {
    env: { PATH: systemPath, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    for await (const line of createInterface({ input: child.stdout }))
      if (/icmp_seq=/.test(line) && /ttl=/.test(line)) return
    throw new Error(`${address} did not answer`)
  } finally {
    child.kill('SIGKILL')
  }
}

/** Time of the Job controller, the kubelet and the container runtime for one Job. */
async function bareJobs(real: RealController, node: RigNode): Promise<number[]> {
  const times: number[] = []
  for (let index = 0; index < 5; index++) times.push(await timed(() => bareJob(real, node, `bare-${index}`)))
  return times
}

async function bareJob({ kube }: RealController, node: RigNode, name: string): Promise<void> {
  const container = { name: 'agent', image: 'multinic-agent:dev', imagePullPolicy: 'Never' }
  const restartPolicy = 'Never' as const
  const spec = { nodeName: node.name, hostNetwork: true, restartPolicy, containers: [container] }
  await kube.create(jobs, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace },
    spec: { backoffLimit: 0, template: { spec } },
  })
  // Without input the agent exits at once.
  const labelSelector = `job-name=${name}`
  await eventually(
    async () => {
      const [pod] = (await kube.list(pods, { namespace, labelSelector })).items
      assert.ok(
        pod?.status?.containerStatuses?.some(({ state }) => state?.terminated),
        `${name} has not ended`,
      )
    },
    { within: 60_000, every: 20 },
  )
}
