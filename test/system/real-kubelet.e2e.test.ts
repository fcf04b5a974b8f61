/**
 * Our controller and our agent image with real servers: kube-apiserver, the Job controller, one kubelet with containerd. The
 * controller has only the permissions of config/rbac.
 *
 * The tests build on each other: a NIC is requested, configured, changed by hand and repaired, survives a power cycle, and is
 * removed.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { buildImage } from '../../scripts/image.ts'
import {
  type NodeConfig,
  nodeConfigAnnotations,
  nodeConfigFinalizer,
  nodeConfigs,
} from '../../src/contract/node-config.ts'
import { isOurPriority, priorities } from '../../src/contract/routing-scheme.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { jobs } from '../../src/kube/resources.ts'
import { type ControlPlane, type RigNode, startNode } from '../rigs/kubernetes/rig.ts'
import type { Daemon } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'

const namespace = 'multinic-system'
const uuid = '6f1c2a10-0001-4aaa-8bbb-000000000001'
const missingUuid = '6f1c2a10-0001-4aaa-8bbb-00000000000f'
const [requested, foreign] = ['fa:16:3e:00:00:11', 'fa:16:3e:00:00:12']
const within = 120_000

let real: RealController
let cp: ControlPlane
let node: RigNode
let kube: KubeClient
let kubeconfig: string
let controller: Daemon

before(async () => {
  real = await startRealController()
  ;({ cp, kube } = real)
  const image = join(cp.dir, 'agent.tar')
  await buildImage('agent', image, { compress: false })
  node = await startNode(cp, { name: 'w1', uuid, macs: [requested, foreign], images: [image] })
  kubeconfig = (await real.install(namespace)).kubeconfig
  controller = startController()
})

after(async () => {
  await controller?.stop()
  await node?.close()
  await real?.close()
})

function startController(env: Record<string, string> = {}): Daemon {
  return real.startProcess('controller', {
    KUBECONFIG: kubeconfig,
    AGENT_IMAGE: 'multinic-agent:dev',
    AGENT_IMAGE_PULL_POLICY: 'Never',
    ...env,
  })
}

const nic = {
  id: 0,
  name: 'multinic0',
  portId: '0a6b5a2e-7a37-4c6c-9a7a-000000000011',
  macAddress: requested,
  address: '192.168.10.5',
  cidr: '192.168.10.0/24',
  gateway: '192.168.10.1',
  mtu: 1450,
}

function aConfig(nodeName: string, instanceId: string): NodeConfig {
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name: nodeName, namespace },
    spec: { nodeName, instanceId, interfaces: [nic] },
  }
}

async function state(name: string): Promise<string> {
  const { status } = (await kube.get(nodeConfigs, { namespace, name })) ?? {}
  const ready = status?.conditions?.find(condition => condition.type === 'Ready')
  return `${status?.state} ${ready?.status} ${ready?.reason}: ${status?.nics}`
}

/** Waits for a state. The error contains the status, Pods and logs. */
async function waitForState(name: string, expected: string): Promise<void> {
  try {
    await eventually(async () => assert.equal(await state(name), expected), { within, every: 100 })
  } catch (error) {
    const config = await kube.get(nodeConfigs, { namespace, name })
    const pods = await cp.exec('kubectl', ['-n', namespace, 'describe', 'jobs,pods'], { check: false })
    const logs = await cp.exec(
      'kubectl',
      ['-n', namespace, 'logs', '--prefix', '-l', 'app.kubernetes.io/component=agent'],
      {
        check: false,
      },
    )
    const details = [JSON.stringify(config?.status, null, 1), pods.stdout, logs.stdout, await controller.tail()].join(
      '\n\n',
    )
    throw new Error(`${name} did not become "${expected}":\n${details}`, { cause: error })
  }
}

async function ip<T>(...args: string[]): Promise<T> {
  const { stdout } = await node.exec('ip', ['-j', ...args])
  return JSON.parse(stdout === '' ? '[]' : stdout) as T
}

interface Link {
  ifname: string
  address: string
  mtu: number
  operstate: string
  addr_info: { family: string; local: string; prefixlen: number }[]
}

async function link(macAddress: string): Promise<Link | undefined> {
  return (await ip<Link[]>('address')).find(found => found.address === macAddress)
}

/** A line of `ip` or `ls` that the agent adds: names our NIC, one of our tables, or a rule with one of our priorities. */
function isOurs(line: string): boolean {
  const priority = /^(\d+):/.exec(line)?.[1]
  return /multinic|table 1[01]0 /.test(line) || (priority !== undefined && isOurPriority(Number(priority)))
}

/** Everything on the node that is not ours: other NICs, routes, rules, files. */
async function foreignState(): Promise<Record<string, string>> {
  const outputOf = async (command: string, ...args: string[]) => {
    const { stdout } = await node.exec(command, args)
    return stdout
      .replaceAll(/@if\d+/g, '') // The other end of the veth is another one after a power cycle.
      .split('\n')
      .filter(line => !isOurs(line))
      .join('\n')
  }
  return {
    primary: await outputOf('ip', 'address', 'show', 'dev', 'eth0'),
    foreign: await outputOf('ip', 'address', 'show', 'dev', 'eth2'),
    routes: await outputOf('ip', 'route', 'show', 'table', 'all'),
    rules: await outputOf('ip', 'rule', 'show'),
    files: await outputOf(
      'sh',
      '-c',
      'sha256sum $(find /etc/netplan /etc/sysctl.d /etc/systemd/network -type f | sort)',
    ),
  }
}

async function assertConfigured(): Promise<void> {
  const found = await link(requested)
  assert.deepEqual(
    {
      name: found?.ifname,
      mtu: found?.mtu,
      link: found?.operstate,
      addresses: found?.addr_info.filter(({ family }) => family === 'inet').map(a => `${a.local}/${a.prefixlen}`),
    },
    { name: 'multinic0', mtu: 1450, link: 'UP', addresses: ['192.168.10.5/24'] },
  )
  const rules = await ip<{ priority: number; src: string; srclen?: number; table?: string }[]>('rule')
  const fromNetwork = rules.filter(({ src, srclen }) => `${src}/${srclen}` === nic.cidr)
  assert.deepEqual(
    fromNetwork.map(({ priority, table }) => `${priority} ${table}`),
    [`${priorities.networkMain} main`, `${priorities.network} 100`],
  )
  assert.deepEqual(await routesOf('100'), ['192.168.10.0/24 link multinic0 100', 'default 192.168.10.1 multinic0 100'])
  assert.deepEqual(
    (await routesOf('main')).filter(route => route.includes('multinic0')),
    ['192.168.10.0/24 link multinic0 20000'],
  )
}

async function routesOf(table: string): Promise<string[]> {
  type Route = { dst: string; gateway?: string; dev: string; metric?: number }
  const routes = await ip<Route[]>('route', 'show', 'table', table)
  return routes.map(({ dst, gateway, dev, metric }) => `${dst} ${gateway ?? 'link'} ${dev} ${metric ?? '-'}`).sort()
}

let foreignBefore: Record<string, string>
let configured = false
/** Without the NIC the following tests would fail after minutes. */
const needsNic = () => assert.ok(configured, 'the NIC was never configured')

test('a Job on the node configures a NIC by its MAC address', async t => {
  foreignBefore = await foreignState()
  const started = Date.now()
  await kube.create(nodeConfigs, aConfig('w1', uuid))
  await waitForState('w1', 'Configured True AllInterfacesConfigured: 1/1')
  configured = true
  t.diagnostic(`from the config to Configured: ${Date.now() - started} ms`)
  const config = await kube.get(nodeConfigs, { namespace, name: 'w1' })
  assert.deepEqual(config?.metadata.finalizers, [nodeConfigFinalizer])
  const [shown] = config?.status?.interfaceStatuses ?? []
  assert.equal(`${shown?.name} ${shown?.macAddress} ${shown?.status}`, `multinic0 ${requested} Configured`)
})

test('the node has name, MTU, address, rule, table and files of the NIC', async () => {
  await assertConfigured()
  const netplan = (await node.exec('cat', ['/etc/netplan/90-multinic0.yaml'])).stdout
  for (const text of [requested, 'set-name: "multinic0"', '192.168.10.5/24']) assert.ok(netplan.includes(text), text)
  const networkd = (await node.exec('cat', ['/etc/systemd/network/05-multinic0.network'])).stdout
  assert.ok(networkd.includes('MTUBytes=1450'), networkd)
  assert.equal((await node.exec('stat', ['-c', '%a', '/etc/netplan/90-multinic0.yaml'])).stdout, '600\n')
})

test('the primary NIC and everything that is not ours is unchanged', async () => {
  assert.deepEqual(await foreignState(), foreignBefore)
})

/** A config for a missing node. When the controller has handled it, it has also handled all earlier objects. */
async function handleMissingNode(): Promise<void> {
  await kube.create(nodeConfigs, aConfig('missing', missingUuid))
  await waitForState('missing', 'Pending False NodeNotFound: 0/1')
  await kube.delete(nodeConfigs, { namespace, name: 'missing' })
  await eventually(async () => assert.equal(await kube.get(nodeConfigs, { namespace, name: 'missing' }), undefined), {
    within,
  })
}

test('a config for a missing node waits, and the controller keeps running', async () => {
  await handleMissingNode()
  assert.ok(controller.alive())
})

test('the API server refuses a config with a wrong field and names it', async () => {
  const wrong = aConfig('w2', uuid)
  const spec = { ...wrong.spec, interfaces: [{ ...nic, macAddress: 'not-a-mac' }] }
  await assert.rejects(kube.create(nodeConfigs, { ...wrong, spec }), /spec\.interfaces\[0\]\.macAddress/)
})

test('a killed and restarted controller writes nothing about completed work', async () => {
  needsNic()
  const written = async () => {
    const config = await kube.get(nodeConfigs, { namespace, name: 'w1' })
    const existing = await kube.list(jobs, { namespace })
    return [config?.metadata.resourceVersion, ...existing.items.map(job => job.metadata.name)]
  }
  const before = await written()
  await controller.stop('SIGKILL')
  controller = startController()
  await handleMissingNode()
  assert.deepEqual(await written(), before)
})

const nicStatus = async () =>
  (await kube.get(nodeConfigs, { namespace, name: 'w1' }))?.status?.interfaceStatuses?.[0] ??
  assert.fail('no interface')

test('a check reports what somebody changed by hand, with its own time, and changes nothing', async () => {
  needsNic()
  const before = await nicStatus()
  await node.exec('ip', ['link', 'set', 'multinic0', 'mtu', '1300'])
  await kube.patch(
    nodeConfigs,
    { namespace, name: 'w1' },
    { metadata: { annotations: { [nodeConfigAnnotations.check]: 'now' } } },
  )
  await waitForState('w1', 'Failed False Drifted: 0/1')
  const after = await nicStatus()
  assert.equal(`${after.status} ${after.reason}: ${after.message}`, 'Failed Drifted: mtu 1300 to 1450')
  assert.equal(after.observed?.mtu, 1300)
  assert.ok((after.lastChecked ?? '') > (before.lastChecked ?? ''), `${after.lastChecked} is the time of the apply`)
  assert.equal(after.lastConfigured, before.lastConfigured)
  assert.equal((await link(requested))?.mtu, 1300)
})

test('with repair, periodic checks put back what somebody changes by hand', async () => {
  needsNic()
  await controller.stop()
  controller = startController({ DRIFT_POLICY: 'repair', DRIFT_INTERVAL: '5s' })
  // First the drift that was reported, then one that a periodic check finds.
  await eventually(assertConfigured, { within, every: 200 })
  await waitForState('w1', 'Configured True AllInterfacesConfigured: 1/1')
  const { lastConfigured = '' } = await nicStatus()
  await node.exec('ip', ['address', 'del', '192.168.10.5/24', 'dev', 'multinic0'])
  await eventually(assertConfigured, { within, every: 200 })
  await eventually(
    async () => {
      const { status, lastConfigured: repaired = '' } = await nicStatus()
      assert.ok(status === 'Configured' && repaired > lastConfigured, `${status} ${repaired}`)
    },
    { within, every: 200 },
  )
  await controller.stop()
  controller = startController()
})

test('after a power cycle the NIC is configured again', async () => {
  needsNic()
  await node.powerCycle()
  await eventually(assertConfigured, { within, every: 200 })
  await waitForState('w1', 'Configured True AllInterfacesConfigured: 1/1')
})

test('deleting a config removes its NIC and then the finalizer', async t => {
  needsNic()
  const started = Date.now()
  await kube.delete(nodeConfigs, { namespace, name: 'w1' })
  await eventually(async () => assert.equal(await kube.get(nodeConfigs, { namespace, name: 'w1' }), undefined), {
    within,
  })
  t.diagnostic(`from the deletion to the removed finalizer: ${Date.now() - started} ms`)
  const found = await link(requested)
  assert.equal(found?.ifname, 'eth1')
  assert.deepEqual(
    found?.addr_info.filter(({ family }) => family === 'inet'),
    [],
  )
  const left =
    'ip rule; ip route show table all; ls /etc/netplan /etc/sysctl.d /etc/systemd/network /etc/systemd/system'
  assert.deepEqual((await node.exec('sh', ['-c', left])).stdout.split('\n').filter(isOurs), [])
  assert.deepEqual(await foreignState(), foreignBefore)
})

test('the controller stops within a second of SIGTERM', async () => {
  // A busy machine may take longer once; a controller that waits for something always does.
  await eventually(async () => {
    if (!controller.alive()) controller = startController()
    await handleMissingNode()
    const started = Date.now()
    await controller.stop()
    const took = Date.now() - started
    assert.ok(took < 1_000, `${took} ms`)
  })
  assert.doesNotMatch(await readFile(join(cp.dir, 'controller.log'), 'utf8'), /"level":"error"/)
})
