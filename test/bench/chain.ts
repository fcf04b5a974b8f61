/**
 * The whole chain on real parts: a port is attached with Nova, and a ping over the NIC answers, on the node of a real kubelet.
 * Keystone, Neutron, Nova, RabbitMQ, kube-apiserver and containerd are real; the device enters the guest when Nova says so.
 *
 * The reference is what Kubernetes needs by itself: a Job of the agent's image that is made by hand, until its Pod has ended.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemPath } from '../../sandbox/exec.ts'
import { buildProgram } from '../../scripts/build.ts'
import { buildImage } from '../../scripts/image.ts'
import { jobs, pods } from '../../src/kube/resources.ts'
import { type RigNode, startNode } from '../rigs/kubernetes/rig.ts'
import { type OpenStack, startOpenStack } from '../rigs/openstack/rig.ts'
import { run } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import { type Collector, startCollector } from '../support/otlp-collector.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'
import { type RealCloudSystem, startRealCloudSystem } from '../system/real-cloud.ts'
import { figure, isolatedBench, median, percentile, say, timed } from './figure.ts'
import { asDeployed } from './part.ts'

const [warmUps, attaches, polled] = [2, 20, 5]
const pollSeconds = 2
const namespace = 'multinic-system'
const [gateway, cidr] = ['10.60.0.1', '10.60.0.0/24']

/** As the parts name their spans; some lie within others. */
const stages = ['notice', 'sync', 'viola', 'cr', 'job', 'pod-start', 'agent', 'apply', 'verify', 'status', 'inventory']

export const bench = isolatedBench(import.meta.filename, 20 * 60_000)

if (import.meta.main) await measure()

async function measure(): Promise<void> {
  const ends: (() => Promise<unknown>)[] = []
  try {
    const cloud = await startOpenStack()
    ends.push(() => cloud.close())
    const real = await startRealController()
    ends.push(() => real.close())
    const { subnetId, networkId, vm } = await lay(cloud)
    const image = join(real.cp.dir, 'agent.tar')
    await buildImage('agent', image, { compress: false })
    const node = await startNode(real.cp, { name: 'worker-1', uuid: vm, macs: [], images: [image] })
    ends.push(() => node.close())
    const collector = await startCollector()
    ends.push(() => collector.close())
    const told = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    const controller = await startController(real, told)
    ends.push(() => controller.stop())
    const operator: Record<string, string> = { INVENTORY_ENABLED: 'true', INVENTORY_ADDR: '127.0.0.1:8082' }
    operator['INVENTORY_DB_PATH'] = join(real.cp.dir, 'inventory.db')
    const walk = await startRealCloudSystem(cloud, {
      cluster: { kubeconfig: real.cp.kubeconfig, kube: real.kube },
      operator,
      env: told,
    })
    ends.push(() => walk.stop())
    const settings = { pollFastInterval: '10m', pollSlowInterval: '10m' }
    await walk.create('main', { subnetIDs: [subnetId], vmNames: [vm], settings })
    await walk.eventually(async () => {
      const connected = (await walk.config()).status?.conditions?.find(({ type }) => type === 'EventsConnected')
      assert.equal(connected?.status, 'True')
    })

    const chain = { cloud, node, walk, vm, networkId }
    for (let round = 0; round < warmUps; round++) await attachOnce(chain)
    const rounds: Round[] = []
    for (let round = 0; round < attaches; round++) rounds.push(await attachOnce(chain))
    const bare = median(await bareJobs(real, node))
    const job = { against: 'a Job by hand, until its Pod has ended', reference: bare }
    const usable = rounds.map(each => each.usable)
    say(figure('chain.attach_to_usable_p50_s', median(usable), 's', job))
    say(figure('chain.attach_to_usable_p95_s', percentile(usable, 0.95), 's', job, { atMost: 2 }))
    say(
      figure(
        'chain.request_to_usable_p95_s',
        percentile(
          rounds.map(each => each.nova + each.usable),
          0.95,
        ),
        's',
        job,
      ),
    )
    say(figure('chain.nova_attach_p50_s', median(rounds.map(each => each.nova)), 's', job))
    say(figure('chain.attach_to_ready_p50_s', median(rounds.map(each => each.ready)), 's', job))

    sayStages(collector, rounds, median(usable))

    operator['RABBITMQ_EVENTS_ENABLED'] = 'false'
    await walk.withoutOperator(async () => {})
    await walk.change('main', ({ spec }) => {
      spec.settings = { ...spec.settings, pollFastInterval: `${pollSeconds}s`, pollSlowInterval: `${pollSeconds}s` }
    })
    const times: number[] = []
    for (let round = 0; round < polled; round++) times.push((await attachOnce(chain)).usable)
    const interval = { against: 'the interval', reference: pollSeconds }
    say(
      figure('chain.attach_to_usable_polling_p95_s', percentile(times, 0.95), 's', interval, {
        atMost: pollSeconds + 2,
      }),
    )
  } finally {
    for (const end of ends.toReversed()) await end()
  }
  process.exit(0)
}

function sayStages({ spans }: Collector, rounds: readonly Round[], usable: number): void {
  const whole = { against: 'attached until usable, p50', reference: usable * 1_000 }
  for (const stage of stages) {
    const times = spans
      .filter(({ name, start }) => name === stage && rounds.some(round => round.covers(Number(start / 1_000_000n))))
      .map(({ start, end }) => Number(end - start) / 1_000_000)
    assert.ok(times.length > 0, `no part told of the stage "${stage}"`)
    say(figure(`chain.stage_${stage.replace('-', '_')}_p50_ms`, median(times), 'ms', whole))
  }
}

interface Chain {
  cloud: OpenStack
  node: RigNode
  walk: RealCloudSystem
  vm: string
  networkId: string
}

async function lay(cloud: OpenStack): Promise<{ subnetId: string; networkId: string; vm: string }> {
  const primary = await cloud.createNetwork({ name: 'primary' })
  await cloud.createSubnet({ name: 'primary', networkId: primary, cidr: '192.168.0.0/24' })
  const networkId = await cloud.createNetwork({ name: 'storage', mtu: 1450 })
  const subnetId = await cloud.createSubnet({ name: 'storage', networkId, cidr, gateway })
  const vm = await cloud.bootServer({ name: 'worker-1', nics: [{ networkId: primary }] })
  return { subnetId, networkId, vm }
}

async function startController(real: RealController, told: Record<string, string>) {
  const { kubeconfig } = await real.install(namespace)
  const program = join(real.cp.dir, 'multinic.mjs')
  await buildProgram(program)
  const { flags, environment } = asDeployed('controller')
  return real.startProcess(
    'controller',
    {
      ...environment,
      ...told,
      KUBECONFIG: kubeconfig,
      AGENT_IMAGE: 'multinic-agent:dev',
      AGENT_IMAGE_PULL_POLICY: 'Never',
    },
    [...flags, program],
  )
}

/** Seconds, counted from Nova's answer; Nova's own are those before it. */
interface Round {
  nova: number
  usable: number
  ready: number
  /** Whether a moment (ms since 1970) lies in it. */
  covers(at: number): boolean
}

async function attachOnce(chain: Chain): Promise<Round> {
  const { cloud, node, walk, vm, networkId } = chain
  const began = Date.now()
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
  await firstAnswer(node, address)
  const usable = since()
  await walk.eventually(async () => {
    const [config] = await walk.nodes()
    const nic = config?.status?.interfaceStatuses?.find(({ macAddress }) => macAddress === mac)
    assert.equal(nic?.status, 'Configured')
  })
  const ready = since()
  const ended = Date.now()
  await cloud.detach(vm, port)
  await walk.eventually(async () =>
    assert.deepEqual(
      (await walk.nodes()).flatMap(({ spec }) => spec.interfaces),
      [],
    ),
  )
  await unplug(node)
  await walk.eventually(async () => assert.equal((await walk.nodes())[0]?.status?.state ?? 'Configured', 'Configured'))
  return { nova, usable, ready, covers: at => at >= began && at <= ended }
}

/** The device enters the guest; at its other end is the gateway, which knows the guest's MAC as a bridge would. */
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

/** Fifty times a second from the gateway; resolves with the first answer. */
async function firstAnswer({ fabric }: RigNode, address: string): Promise<void> {
  const child = spawn('nsenter', [`--net=/run/netns/${fabric}`, 'ping', '-i', '0.02', '-w', '60', address], {
    env: { PATH: systemPath, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    for await (const line of createInterface({ input: child.stdout }))
      if (/icmp_seq=/.test(line) && /ttl=/.test(line)) return
    throw new Error(`${address} never answered`)
  } finally {
    child.kill('SIGKILL')
  }
}

/** What the cluster needs for one: the Job controller, the kubelet and the container runtime. */
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
  // Without an input the agent ends at once.
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
