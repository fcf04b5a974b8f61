/**
 * Secondary networks of Pods on NICs that MultiNIC configures: two real kubelets and containerds, the real Multus and macvlan
 * plugin, the real scheduler. The fabric of the NICs is a bridge that forwards every MAC address, like a network without port
 * security.
 *
 * The controller writes the NetworkAttachmentDefinitions and the labels. The tests build on each other: Pods wait for their
 * network, and talk while the agents work.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { buildImage } from '../../scripts/image.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { networkLabelPrefix, notReadyTaint, readyValue } from '../../src/controller/networks/node-labels.ts'
import { pods } from '../../src/kube/resources.ts'
import { installMultus, multusOn } from '../rigs/cni/rig.ts'
import { pauseImage } from '../rigs/kubernetes/images.ts'
import { type RigNode, startNode } from '../rigs/kubernetes/rig.ts'
import { startScheduler } from '../rigs/kubernetes/scheduler.ts'
import { type Daemon, run } from '../rigs/process.ts'
import { runner } from '../support/cli.ts'
import { eventually } from '../support/eventually.ts'
import { json, serve } from '../support/http-stub.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'

const namespace = 'multinic-system'
const within = 180_000
const uuids = ['6f1c2a10-0001-4aaa-8bbb-000000000001', '6f1c2a10-0001-4aaa-8bbb-000000000002'] as const
const macOf = (node: number, nic: number) => `fa:16:3e:00:0${node}:1${nic}`
const podAddress = (node: number) => `192.168.10.10${node}`

let real: RealController
let controller: Daemon
let scheduler: Daemon
let all: RigNode[] = []

before(async () => {
  const options = ['controller_node_labels.yaml', 'controller_network_attachments.yaml']
  real = await startRealController({ nodeLifecycle: true, options })
  const { kubeconfig } = await real.install(namespace)
  await installMultus(real.cp)
  const image = join(real.cp.dir, 'agent.tar')
  await buildImage('agent', image, { compress: false })
  all = await Promise.all(
    uuids.map(async (uuid, index) =>
      startNode(real.cp, {
        ...{ name: `w${index + 1}`, uuid, macs: [macOf(index + 1, 0), macOf(index + 1, 1)], images: [image] },
        cni: await multusOn(real.cp, `10.244.${index + 1}.0/24`),
        taints: [notReadyTaint],
      }),
    ),
  )
  for (const nic of [0, 1]) await connect(nic)
  scheduler = startScheduler(real.cp)
  controller = real.startProcess('controller', {
    KUBECONFIG: kubeconfig,
    AGENT_IMAGE: 'multinic-agent:dev',
    AGENT_IMAGE_PULL_POLICY: 'Never',
    MAX_UNAVAILABLE: '100%',
    NODE_LABELS: 'true',
    ...{ ATTACHMENT_NAMESPACES: namespace, ATTACHMENT_PLUGIN: 'macvlan' },
    ATTACHMENT_IPAM: '{"multinic0":{"type":"static"}}',
    ...{ DRIFT_POLICY: 'repair', DRIFT_INTERVAL: '5s' },
  })
})

after(async () => {
  await controller?.stop()
  await scheduler?.stop()
  for (const node of all) await node.close()
  await real?.close()
})

/** Joins this NIC of all nodes by a bridge. */
async function connect(nic: number): Promise<void> {
  const bridge = `net${nic}`
  await run('ip', ['link', 'add', bridge, 'type', 'bridge'])
  await run('ip', ['link', 'set', bridge, 'up'])
  for (const { fabric, name } of all) {
    const port = `${bridge}-${name}`
    await run('ip', ['-n', fabric, 'link', 'set', `p${nic + 1}`, 'netns', String(process.pid), 'name', port])
    await run('ip', ['link', 'set', port, 'master', bridge, 'up'])
  }
}

function specOf(node: number, nics: number[], mtu = 1450): NodeConfig['spec'] {
  return {
    nodeName: `w${node}`,
    instanceId: uuids[node - 1] ?? '',
    interfaces: nics.map(id => ({
      ...{ id, name: `multinic${id}`, alias: `multinic${id}`, macAddress: macOf(node, id), mtu },
      portId: `port-${node}-${id}`,
      ...{ address: `192.168.${10 + id}.${node}`, cidr: `192.168.${10 + id}.0/24` },
    })),
  }
}

const keyOf = (node: number) => ({ namespace, name: `w${node}` })

async function waitForState(node: number, expected: string): Promise<NodeConfig> {
  const read = async () => {
    const config = await real.kube.get(nodeConfigs, keyOf(node))
    const { status, metadata } = config ?? {}
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    const current = status?.observedGeneration === metadata?.generation ? '' : ' (of an older spec)'
    assert.equal(`${status?.state} ${status?.nics} ${ready?.reason}${current}`, expected, ready?.message)
    assert.ok(config)
    return config
  }
  return eventually(read, { within, every: 100 }).catch(async error => {
    const described = await real.cp.exec('kubectl', ['-n', namespace, 'describe', 'jobs,pods'], { check: false })
    throw new Error(`${described.stdout.slice(-4_000)}\n${await controller.tail()}`, { cause: error })
  })
}

const apply = (object: object) => real.cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(object) })

interface PodOptions {
  node: number
  command?: string[]
}

const sleeper = ['/bin/busybox', 'sleep', '86400']

function aPod(name: string, { node, command = sleeper }: PodOptions) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', name },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': `w${node}` },
      ...{ restartPolicy: 'Never', automountServiceAccountToken: false, terminationGracePeriodSeconds: 0 },
      containers: [{ name: 'main', image: pauseImage, imagePullPolicy: 'Never', command }],
    },
  }
}

/** A Pod with an address in the network of multinic0, which it waits for. */
function aPodInNetwork(name: string, options: PodOptions) {
  const { metadata, spec, ...rest } = aPod(name, options)
  const args = { 'cni-args': { ips: [`${podAddress(options.node)}/24`] } }
  const networks = JSON.stringify([{ name: 'multinic0', namespace, ...args }])
  const nodeSelector = { ...spec.nodeSelector, [`${networkLabelPrefix}multinic0`]: readyValue }
  return {
    ...rest,
    metadata: { ...metadata, annotations: { 'k8s.v1.cni.cncf.io/networks': networks } },
    spec: { ...spec, nodeSelector },
  }
}

async function waitForPhase(name: string, phase: string): Promise<void> {
  const read = async () => (await real.kube.get(pods, { namespace: 'default', name }))?.status?.phase
  await eventually(async () => assert.equal(await read(), phase), { within, every: 100 }).catch(async error => {
    const described = await real.cp.exec('kubectl', ['describe', 'pod', name], { check: false })
    throw new Error(described.stdout.slice(-4_000), { cause: error })
  })
}

const inPod = async (name: string, ...command: string[]) =>
  (await real.cp.exec('kubectl', ['exec', name, '--', '/bin/busybox', ...command])).stdout
const logOf = async (name: string) => (await real.cp.exec('kubectl', ['logs', name])).stdout

/** The sequence numbers of a ping that were answered so far. */
async function answeredBy(name: string): Promise<number[]> {
  return [...(await logOf(name)).matchAll(/ seq=(\d+) /g)].map(([, sequence]) => Number(sequence))
}

/** What the scheduler says about a Pod that has no node. */
async function waitForRefusal(name: string, message: RegExp): Promise<void> {
  await eventually(
    async () => {
      const { status } = (await real.kube.get(pods, { namespace: 'default', name })) ?? {}
      const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled')
      assert.equal(`${status?.phase} ${scheduled?.reason}`, 'Pending Unschedulable')
      assert.match(scheduled?.message ?? '', message)
    },
    { within, every: 100 },
  )
}

test('a Pod waits for the taint of a new node, and one that needs the network for the label', async () => {
  await apply(aPod('any', { node: 1 }))
  await waitForRefusal('any', /had untolerated taint/)
  await real.cp.exec('kubectl', ['taint', 'nodes', 'w2', `${notReadyTaint.key}-`])
  await apply(aPodInNetwork('server', { node: 2 }))
  await waitForRefusal('server', /1 node\(s\) didn't match Pod's node affinity\/selector/)
})

test('NICs of two nodes are configured, and then the Pods start', async () => {
  for (const node of [1, 2]) {
    const { apiVersion, kind } = { apiVersion: 'multinic.io/v1', kind: 'MultiNicNodeConfig' }
    await real.kube.create(nodeConfigs, { apiVersion, kind, metadata: keyOf(node), spec: specOf(node, [0]) })
  }
  for (const node of [1, 2]) await waitForState(node, 'Configured 1/1 AllInterfacesConfigured')
  for (const name of ['any', 'server']) await waitForPhase(name, 'Running')
  const { stdout } = await real.cp.exec('kubectl', ['get', 'nodes', '-o', 'jsonpath={.items[*].spec.taints}'])
  assert.equal(stdout, '')
})

test('two Pods on two nodes talk over multinic0 with Multus and macvlan', async () => {
  assert.match(await inPod('server', 'ip', 'address', 'show', 'net1'), /192\.168\.10\.102\/24/)
  const command = ['/bin/busybox', 'ping', '-i', '0.05', '-I', 'net1', podAddress(2)]
  await apply(aPodInNetwork('client', { node: 1, command }))
  await waitForPhase('client', 'Running')
  await eventually(async () => assert.match(await logOf('client'), /seq=0 /), { within })
})

test('the doctor names a Pod whose address its port does not allow', async t => {
  const [, macAddress = ''] = /link\/ether (\S+)/.exec(await inPod('server', 'ip', 'link', 'show', 'net1')) ?? []
  const allowed = { ipAddress: podAddress(2), macAddress }
  const portSecurity = { enabled: true, allowedAddressPairs: [] as object[] }
  const operator = await serve((_request, response) => {
    const selected = { config: 'ns/main', vm: 'vm', reason: 'Selected', message: '', portSecurity }
    const off = { ...selected, portSecurity: { enabled: false, allowedAddressPairs: [] } }
    json(response, 200, {
      verdicts: [
        { ...off, portId: 'port-1-0' },
        { ...selected, portId: 'port-2-0' },
      ],
    })
  })
  t.after(() => operator.close())
  const multinic = runner({ KUBECONFIG: real.cp.kubeconfig, MULTINIC_INVENTORY_URL: operator.url })
  const { out } = await multinic('doctor')
  assert.match(out, /✗ w2 multinic0: port security drops .* of port port-2-0: default\/server 192\.168\.10\.102\n/)
  assert.ok(out.includes(`--allowed-address ip-address=${podAddress(2)},mac-address=${macAddress} port-2-0`), out)
  portSecurity.allowedAddressPairs.push(allowed)
  assert.match((await multinic('doctor')).out, /● port security lets 2 addresses of Pods through/)
})

test('no packet between Pods is lost while agents reapply, repair drift and add a second NIC', async t => {
  await real.kube.patch(nodeConfigs, keyOf(1), { metadata: { annotations: { [nodeConfigAnnotations.retry]: 'now' } } })
  for (const node of [1, 2]) {
    await real.kube.patch(nodeConfigs, keyOf(node), { spec: specOf(node, [0], 1400) })
    await waitForState(node, 'Configured 1/1 AllInterfacesConfigured')
  }
  for (const node of all) {
    const address = `192.168.10.${node.name.slice(1)}`
    await node.exec('ip', ['address', 'del', `${address}/24`, 'dev', 'multinic0'])
    await node.exec('ip', ['link', 'set', 'multinic0', 'mtu', '1440'])
    const found = async () => (await node.exec('ip', ['address', 'show', 'dev', 'multinic0'])).stdout
    await eventually(
      async () => {
        assert.match(await found(), new RegExp(`inet ${address}/24`))
        assert.match(await found(), / mtu 1400 /)
      },
      { within, every: 200 },
    )
  }
  for (const node of [1, 2]) {
    await real.kube.patch(nodeConfigs, keyOf(node), { spec: specOf(node, [0, 1], 1400) })
    await waitForState(node, 'Configured 2/2 AllInterfacesConfigured')
  }
  const during = (await answeredBy('client')).length
  const answered = await eventually(
    async () => {
      const now = await answeredBy('client')
      assert.ok(now.length > during)
      return now
    },
    { within },
  )
  t.diagnostic(`${answered.length} packets answered`)
  assert.deepEqual(answered, [...answered.keys()])
})
