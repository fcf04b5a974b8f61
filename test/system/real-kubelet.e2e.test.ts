/**
 * Our controller and our agent image on real parts: kube-apiserver, the Job controller, one kubelet with containerd. The
 * controller has the rights of config/rbac and no others.
 *
 * The cases are one story, in order: a NIC is asked for, is there, survives a power cycle, and goes.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { buildImage } from '../../scripts/image.ts'
import { type NodeConfig, nodeConfigFinalizer, nodeConfigs } from '../../src/contract/node-config.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { jobs } from '../../src/kube/resources.ts'
import { type ControlPlane, type RigNode, startNode } from '../rigs/kubernetes/rig.ts'
import type { Daemon } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'

const namespace = 'multinic-system'
const uuid = '6f1c2a10-0001-4aaa-8bbb-000000000001'
const strange = '6f1c2a10-0001-4aaa-8bbb-00000000000f'
const [wanted, foreign] = ['fa:16:3e:00:00:11', 'fa:16:3e:00:00:12']
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
  node = await startNode(cp, { name: 'w1', uuid, macs: [wanted, foreign], images: [image] })
  kubeconfig = (await real.install(namespace)).kubeconfig
  controller = startController()
})

after(async () => {
  await controller?.stop()
  await node?.close()
  await real?.close()
})

function startController(): Daemon {
  return real.startProcess('controller', {
    KUBECONFIG: kubeconfig,
    AGENT_IMAGE: 'multinic-agent:dev',
    AGENT_IMAGE_PULL_POLICY: 'Never',
  })
}

const nic = {
  id: 0,
  name: 'multinic0',
  portId: '0a6b5a2e-7a37-4c6c-9a7a-000000000011',
  macAddress: wanted,
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

/** The state, with what the parts said when it is not reached. */
async function reaches(name: string, expected: string): Promise<void> {
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
    const said = [JSON.stringify(config?.status, null, 1), pods.stdout, logs.stdout, await controller.tail()].join(
      '\n\n',
    )
    throw new Error(`${name} does not become "${expected}":\n${said}`, { cause: error })
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

async function link(mac: string): Promise<Link | undefined> {
  return (await ip<Link[]>('address')).find(found => found.address === mac)
}

const ours = /multinic|lookup 100|table 100/

/** All of the node that is not ours: the other NICs, the routes, the rules, the files. */
async function theRest(): Promise<Record<string, string>> {
  const shown = async (command: string, ...args: string[]) => {
    const { stdout } = await node.exec(command, args)
    return stdout
      .split('\n')
      .filter(line => !ours.test(line))
      .join('\n')
  }
  return {
    primary: await shown('ip', 'address', 'show', 'dev', 'eth0'),
    foreign: await shown('ip', 'address', 'show', 'dev', 'eth2'),
    routes: await shown('ip', 'route', 'show', 'table', 'all'),
    rules: await shown('ip', 'rule', 'show'),
    files: await shown('sh', '-c', 'sha256sum $(find /etc/netplan /etc/sysctl.d /etc/systemd/network -type f | sort)'),
  }
}

async function assertConfigured(): Promise<void> {
  const found = await link(wanted)
  assert.deepEqual(
    {
      name: found?.ifname,
      mtu: found?.mtu,
      link: found?.operstate,
      addresses: found?.addr_info.filter(({ family }) => family === 'inet').map(a => `${a.local}/${a.prefixlen}`),
    },
    { name: 'multinic0', mtu: 1450, link: 'UP', addresses: ['192.168.10.5/24'] },
  )
  const rules = await ip<{ priority: number; src?: string; table: string }[]>('rule')
  assert.ok(rules.some(rule => rule.priority === 10100 && rule.src === '192.168.10.5' && rule.table === '100'))
  const routes = await ip<{ dst: string; gateway?: string; dev: string }[]>('route', 'show', 'table', '100')
  assert.deepEqual(routes.map(route => `${route.dst} ${route.gateway ?? 'link'} ${route.dev}`).sort(), [
    '192.168.10.0/24 link multinic0',
    'default 192.168.10.1 multinic0',
  ])
}

let untouched: Record<string, string>
let configured = false
/** Without it the rest of the story has nothing to tell, and would take minutes to say so. */
const needsNic = () => assert.ok(configured, 'the NIC was never configured')

test('a NIC that is named by its MAC is configured by a Job on its node', async t => {
  untouched = await theRest()
  const started = Date.now()
  await kube.create(nodeConfigs, aConfig('w1', uuid))
  await reaches('w1', 'Configured True AllInterfacesConfigured: 1/1')
  configured = true
  t.diagnostic(`from the config to Configured: ${Date.now() - started} ms`)
  const config = await kube.get(nodeConfigs, { namespace, name: 'w1' })
  assert.deepEqual(config?.metadata.finalizers, [nodeConfigFinalizer])
  const [shown] = config?.status?.interfaceStatuses ?? []
  assert.equal(`${shown?.name} ${shown?.macAddress} ${shown?.status}`, `multinic0 ${wanted} Configured`)
})

test('the node has its name, MTU, address, rule, table and files', async () => {
  await assertConfigured()
  const { stdout } = await node.exec('cat', ['/etc/netplan/90-multinic0.yaml'])
  for (const text of [wanted, 'set-name: "multinic0"', '192.168.10.5/24', 'mtu: 1450'])
    assert.ok(stdout.includes(text), text)
  assert.equal((await node.exec('stat', ['-c', '%a', '/etc/netplan/90-multinic0.yaml'])).stdout, '600\n')
})

test('the primary NIC and all that is not ours is as it was', async () => {
  assert.deepEqual(await theRest(), untouched)
})

/** What comes after the start is served after what was found then. */
async function meetsNobody(): Promise<void> {
  await kube.create(nodeConfigs, aConfig('nobody', strange))
  await reaches('nobody', 'Pending False NodeNotFound: 0/1')
  await kube.delete(nodeConfigs, { namespace, name: 'nobody' })
  await eventually(async () => assert.equal(await kube.get(nodeConfigs, { namespace, name: 'nobody' }), undefined), {
    within,
  })
}

test('a config for a node that is not in the cluster waits, and harms nobody', async () => {
  await meetsNobody()
  assert.ok(controller.alive())
})

test('a config with a wrong field is refused by the API server, which names it', async () => {
  const wrong = aConfig('w2', uuid)
  const spec = { ...wrong.spec, interfaces: [{ ...nic, macAddress: 'not-a-mac' }] }
  await assert.rejects(kube.create(nodeConfigs, { ...wrong, spec }), /spec\.interfaces\[0\]\.macAddress/)
})

test('a controller that is killed and started again writes nothing about what it finds done', async () => {
  needsNic()
  const written = async () => {
    const config = await kube.get(nodeConfigs, { namespace, name: 'w1' })
    const made = await kube.list(jobs, { namespace })
    return [config?.metadata.resourceVersion, ...made.items.map(job => job.metadata.name)]
  }
  const before = await written()
  await controller.stop('SIGKILL')
  controller = startController()
  await meetsNobody()
  assert.deepEqual(await written(), before)
})

test('after a power cycle the NIC is configured again', async () => {
  needsNic()
  await node.powerCycle()
  await eventually(assertConfigured, { within, every: 200 })
  await reaches('w1', 'Configured True AllInterfacesConfigured: 1/1')
})

test('a deleted config takes its NIC along, and then lets go', async t => {
  needsNic()
  const started = Date.now()
  await kube.delete(nodeConfigs, { namespace, name: 'w1' })
  await eventually(async () => assert.equal(await kube.get(nodeConfigs, { namespace, name: 'w1' }), undefined), {
    within,
  })
  t.diagnostic(`from the deletion to the release: ${Date.now() - started} ms`)
  const found = await link(wanted)
  assert.equal(found?.ifname, 'eth1')
  assert.deepEqual(
    found?.addr_info.filter(({ family }) => family === 'inet'),
    [],
  )
  assert.equal((await node.exec('sh', ['-c', 'ip rule; ip route show table all'])).stdout.match(ours), null)
  assert.equal(
    (await node.exec('sh', ['-c', 'ls /etc/netplan /etc/sysctl.d /etc/systemd/network'])).stdout.match(ours),
    null,
  )
})

test('the controller stops within a second of SIGTERM', async () => {
  // A machine that is busy may take longer now and then: one that waits for something of its own always does.
  await eventually(async () => {
    if (!controller.alive()) controller = startController()
    await meetsNobody()
    const started = Date.now()
    await controller.stop()
    const took = Date.now() - started
    assert.ok(took < 1_000, `${took} ms`)
  })
  assert.doesNotMatch(await readFile(join(cp.dir, 'controller.log'), 'utf8'), /"level":"error"/)
})
