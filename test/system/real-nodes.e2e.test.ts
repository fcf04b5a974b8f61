/**
 * Two real nodes and faults during a run: an agent without a permission or mount, a node without resources or a directory, a
 * spec that changes during a run, an agent that is killed while the API server is stopped, a power cycle, a removed node.
 *
 * To stop an agent during its run, the tests request a NIC that does not exist yet: the agent waits for it.
 */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { buildImage } from '../../scripts/image.ts'
import type { Backend } from '../../src/contract/backend.ts'
import { type NodeConfig, nodeConfigs } from '../../src/contract/node-config.ts'
import { allMounts } from '../../src/controller/job.ts'
import { nodes, pods } from '../../src/kube/resources.ts'
import { pauseImage } from '../rigs/kubernetes/images.ts'
import { type RigNode, startNode } from '../rigs/kubernetes/rig.ts'
import { type Daemon, run } from '../rigs/process.ts'
import { readyNode } from '../support/controller-scale.ts'
import { eventually } from '../support/eventually.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'
import { type Finding, findings, needs, provenMounts, provenWrites } from './agent-needs.ts'
import { runWithout, withoutMount } from './reduced-job.ts'

const namespace = 'multinic-system'
const within = 180_000
const uuids = ['6f1c2a10-0001-4aaa-8bbb-000000000001', '6f1c2a10-0001-4aaa-8bbb-000000000002'] as const
/** A Node that has no kubelet but is still Ready. */
const silent = { name: 'w3', uuid: '6f1c2a10-0001-4aaa-8bbb-000000000003' }
const macOf = (node: number, nic: number) => `fa:16:3e:00:0${node}:1${nic}`

let real: RealController
let controller: Daemon
let w1: RigNode
let w2: RigNode

before(async () => {
  real = await startRealController()
  const { kubeconfig } = await real.install(namespace)
  const image = join(real.cp.dir, 'agent.tar')
  await buildImage('agent', image, { compress: false })
  const started = await Promise.all(
    uuids.map((uuid, index) =>
      startNode(real.cp, { name: `w${index + 1}`, uuid, macs: [macOf(index + 1, 0)], images: [image] }),
    ),
  )
  const [one, two] = started
  assert.ok(one && two)
  ;[w1, w2] = [one, two]
  controller = real.startProcess('controller', {
    KUBECONFIG: kubeconfig,
    AGENT_IMAGE: 'multinic-agent:dev',
    AGENT_IMAGE_PULL_POLICY: 'Never',
    MAX_UNAVAILABLE: '100%',
    // Long enough for a busy machine to act while the agent waits for a NIC.
    NIC_WAIT: '60s',
  })
})

after(async () => {
  await controller?.stop()
  await w1?.close()
  await w2?.close()
  await real?.close()
})

/** The NICs of a node, each in its own subnet. */
function specOf(node: number, nics: number[], mtu = 1450): NodeConfig['spec'] {
  return {
    nodeName: `w${node}`,
    instanceId: uuids[node - 1] ?? silent.uuid,
    interfaces: nics.map(id => ({
      ...{ id, name: `multinic${id}`, macAddress: macOf(node, id), mtu },
      ...{ address: `192.168.${10 + id}.${node}`, cidr: `192.168.${10 + id}.0/24` },
    })),
  }
}

const aConfig = (node: number): NodeConfig => ({
  apiVersion: 'multinic.io/v1',
  kind: 'MultiNicNodeConfig',
  metadata: { name: `w${node}`, namespace, uid: `a-uid-of-w${node}`, generation: 1 },
  spec: specOf(node, [0]),
})

const create = (node: number) => {
  const { apiVersion, kind, spec } = aConfig(node)
  return real.kube.create(nodeConfigs, { apiVersion, kind, metadata: { name: `w${node}`, namespace }, spec })
}

const request = (node: number, nics: number[], mtu?: number) =>
  real.kube.patch(nodeConfigs, { namespace, name: `w${node}` }, { spec: specOf(node, nics, mtu) })

async function waitForState(name: string, expected: string): Promise<NodeConfig> {
  const read = async () => {
    const config = await real.kube.get(nodeConfigs, { namespace, name })
    const { status, metadata } = config ?? {}
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    const current = status?.observedGeneration === metadata?.generation ? '' : ' (of an older spec)'
    assert.equal(`${status?.state} ${status?.nics} ${ready?.reason}${current}`, expected, ready?.message)
    assert.ok(config)
    return config
  }
  try {
    return await eventually(read, { within, every: 100 })
  } catch (error) {
    const described = await real.cp.exec('kubectl', ['-n', namespace, 'describe', 'jobs,pods'], { check: false })
    throw new Error(`${described.stdout.slice(-4_000)}\n${await controller.tail()}`, { cause: error })
  }
}

/** `name mtu address` of a NIC in the kernel. */
async function nic(node: RigNode, macAddress: string): Promise<string> {
  const { stdout } = await node.exec('ip', ['-j', 'address'])
  const links = JSON.parse(stdout) as { ifname: string; address: string; mtu: number; addr_info: { local: string }[] }[]
  const found = links.find(({ address }) => address === macAddress)
  const addresses = found?.addr_info.map(({ local }) => local).filter(local => local.startsWith('192.')) ?? []
  return [found?.ifname, found?.mtu, ...addresses].join(' ')
}

async function plug(node: RigNode, macAddress: string): Promise<void> {
  const peer = ['name', `late${macAddress.slice(-1)}`, 'address', macAddress, 'netns', node.netns]
  await run('ip', ['-n', node.fabric, 'link', 'add', portOf(macAddress), 'type', 'veth', 'peer', ...peer])
  await run('ip', ['-n', node.fabric, 'link', 'set', portOf(macAddress), 'up'])
}

const unplug = (node: RigNode, macAddress: string) =>
  run('ip', ['-n', node.fabric, 'link', 'delete', portOf(macAddress)])
const portOf = (macAddress: string) => `l${macAddress.slice(-1)}`

/** PID of the agent on the node. */
async function agentOn(node: RigNode): Promise<string> {
  return eventually(
    async () => {
      const { stdout } = await node.exec('sh', ['-c', 'grep -la agent.cjs /proc/[0-9]*/cmdline 2>/dev/null || true'])
      const pids = [...stdout.matchAll(/^\/proc\/(\d+)\/cmdline$/gm)].map(([, pid]) => pid ?? '')
      const { stdout: names } = await node.exec('sh', [
        '-c',
        `for pid in ${pids.join(' ')}; do readlink /proc/$pid/exe && echo $pid; done; true`,
      ])
      const [, pid] = /\/node\n(\d+)/.exec(names) ?? []
      assert.ok(pid, 'no agent runs')
      return pid
    },
    { within, every: 50 },
  )
}

/** Sends a signal to the API server. No other one runs in these namespaces. */
async function signalApiServer(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const [program = ''] = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
    if (program.endsWith('/kube-apiserver')) process.kill(Number(pid), signal)
  }
}

test('the tables name every mount of the agent, and every one that it writes to', () => {
  const sorted = (names: readonly string[]) => [...new Set(names)].sort()
  const mounts = allMounts()
  assert.deepEqual(sorted(provenMounts), sorted(mounts.map(({ name }) => name)))
  const writable = mounts.filter(mount => !mount.readOnly)
  assert.deepEqual(sorted(provenWrites), sorted(writable.map(({ name }) => name)))
})

test('the agent needs everything that its Job gives it', { concurrency: true }, async t => {
  await Promise.all([
    t.test('it fails with a clear error', async each => {
      const before = await nic(w1, macOf(1, 0))
      await w1.exec('mkdir', ['-p', '/etc/NetworkManager/system-connections', '/etc/sysconfig/network-scripts'])
      await real.cp.exec('kubectl', ['taint', 'nodes', 'w1', 'rig=odd:NoExecute'])
      for (const [what, need] of Object.entries(needs))
        await each.test(`without ${what}`, async () => {
          assert.match(await runWithout(real, aConfig(1), need, within), need.outcome)
          assert.equal(await nic(w1, macOf(1, 0)), before)
        })
    }),
    t.test('it sees a file of others only by its mount', async each => {
      const cleanUp = await plantFindings(w2)
      const removed: string[] = []
      const outcome = (backend: Backend) =>
        runWithout(real, aConfig(2), { reduction: withoutMount(...removed), backend }, within)
      for (const [backend, all] of Object.entries(findings) as [Backend, Finding[]][]) {
        for (const { mount, path, outcome: expected = new RegExp(`ForeignFile ${path} `) } of all)
          await each.test(`${path} by ${mount}`, async () => {
            assert.match(await outcome(backend), expected)
            removed.push(mount)
          })
        assert.match(await outcome(backend), /AddressConflict eth0/)
      }
      await cleanUp()
    }),
  ])
})

/** Creates the files of the table. An address of eth0 keeps the agent from a change if it finds none of them. */
async function plantFindings(node: RigNode): Promise<() => Promise<unknown>> {
  const files = Object.values(findings).flat()
  for (const { path, text } of files)
    if (text === undefined) await node.exec(process.execPath, ['-e', staleSocket, path], { check: false })
    else await node.exec('sh', ['-c', 'mkdir -p "$(dirname "$0")" && cat >"$0"', path], { input: text })
  await node.exec('mkdir', ['-p', '/etc/NetworkManager/system-connections'])
  const address = ['address', 'del', '192.168.10.2/32', 'dev', 'eth0']
  await node.exec('ip', address.with(1, 'add'))
  return async () => {
    await node.exec(
      'rm',
      files.map(({ path }) => path),
    )
    await node.exec('ip', address)
  }
}

/** Creates a socket at which nobody listens. */
const staleSocket =
  'const [, path] = process.argv; require("fs").mkdirSync(require("path").dirname(path), { recursive: true }); require("net").createServer().listen(path, () => process.kill(process.pid, "SIGKILL"))'

/** Creates a Pod that requests all CPUs of the node. */
async function fill({ name: nodeName }: RigNode): Promise<() => Promise<unknown>> {
  const { status } = (await real.cp.get(`/api/v1/nodes/${nodeName}`)) as { status: { allocatable: { cpu: string } } }
  const resources = { requests: { cpu: status.allocatable.cpu } }
  const containers = [{ name: 'filler', image: pauseImage, imagePullPolicy: 'Never' as const, resources }]
  const key = { namespace, name: 'filler' }
  await real.kube.create(pods, {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: key },
    spec: { nodeName, hostNetwork: true, automountServiceAccountToken: false, containers },
  })
  const phase = async () => (await real.kube.get(pods, key))?.status?.phase
  await eventually(async () => assert.equal(await phase(), 'Running'), { within, every: 100 })
  return () => real.cp.exec('kubectl', ['-n', namespace, 'delete', 'pod', 'filler', '--grace-period=0', '--force'])
}

test('a node without free CPU and a node without a directory report the reason', async () => {
  await real.kube.create(nodes, readyNode(silent.name, silent.uuid))
  await create(3)
  const empty = await fill(w2)
  await w1.exec('mv', ['/etc/sysctl.d', '/etc/sysctl.away'])
  try {
    for (const node of [1, 2]) await create(node)
    const messageOf = async (name: string, reason: string) => {
      const { status } = await waitForState(name, `InProgress 0/1 ${reason}`)
      return status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? ''
    }
    assert.match(await messageOf('w2', 'NodeOutOfResources'), /^OutOfcpu: .*enough resource: cpu/)
    assert.match(
      await messageOf('w1', 'MountFailed'),
      /hostPath type check failed: \/etc\/sysctl\.d is not a directory/,
    )
  } finally {
    await w1.exec('mv', ['/etc/sysctl.away', '/etc/sysctl.d'])
    await empty()
  }
})

test('both nodes are configured when the obstacles are gone', async () => {
  for (const name of ['w1', 'w2']) await waitForState(name, 'Configured 1/1 AllInterfacesConfigured')
  assert.equal(await nic(w1, macOf(1, 0)), 'multinic0 1450 192.168.10.1')
  assert.equal(await nic(w2, macOf(2, 0)), 'multinic0 1450 192.168.10.2')
})

test('a spec that changes during a run is applied after the run, never in parallel', async () => {
  await request(1, [0, 1])
  await agentOn(w1)
  await request(1, [0], 1400)
  await waitForState('w1', 'Pending 0/1 PreviousJobRunning')
  let maxRunning = 0
  const watching = new AbortController()
  const counting = (async () => {
    while (!watching.signal.aborted) {
      const { items } = await real.kube.list(pods, {
        namespace,
        fieldSelector: 'spec.nodeName=w1,status.phase=Running',
      })
      const live = items.filter(({ status }) => status?.containerStatuses?.some(({ state }) => state?.running))
      maxRunning = Math.max(maxRunning, live.length)
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  })()
  await eventually(() => assert.equal(maxRunning, 1), { within })
  // With its NIC the agent of the older spec ends.
  await plug(w1, macOf(1, 1))
  await waitForState('w1', 'Configured 1/1 AllInterfacesConfigured')
  watching.abort()
  await counting
  assert.equal(maxRunning, 1)
  assert.equal(await nic(w1, macOf(1, 0)), 'multinic0 1400 192.168.10.1')
  await unplug(w1, macOf(1, 1))
})

test('the kubelet restarts an agent that is killed while the API server is stopped', async () => {
  await request(1, [0, 1], 1420)
  const pid = await agentOn(w1)
  // The kubelet must know the Pod before the API server stops.
  await eventually(async () => assert.equal(await nic(w1, macOf(1, 0)), 'multinic0 1420 192.168.10.1'), { within })
  await signalApiServer('SIGSTOP')
  try {
    await w1.exec('kill', ['-9', pid])
    await plug(w1, macOf(1, 1))
    await eventually(async () => assert.equal(await nic(w1, macOf(1, 1)), 'multinic1 1420 192.168.11.1'), { within })
    assert.equal(await nic(w1, macOf(1, 0)), 'multinic0 1420 192.168.10.1')
  } finally {
    await signalApiServer('SIGCONT')
  }
  await waitForState('w1', 'Configured 2/2 AllInterfacesConfigured')
})

test('a run that a power cycle interrupts is completed', async () => {
  await request(2, [0, 1], 1430)
  await agentOn(w2)
  await w2.powerCycle()
  await eventually(async () => assert.equal(await nic(w2, macOf(2, 0)), 'multinic0 1430 192.168.10.2'), { within })
  await plug(w2, macOf(2, 1))
  await waitForState('w2', 'Configured 2/2 AllInterfacesConfigured')
  assert.equal(await nic(w2, macOf(2, 1)), 'multinic1 1430 192.168.11.2')
})

test('a node on which no Pod starts gets its own reason', async () => {
  const { status } = await waitForState('w3', 'InProgress 0/1 PodNotStarting')
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  assert.match(ready?.message ?? '', /^multinic-agent-w3-g1-\w+: Pod has not started within 30s$/)
})

test('the config of a removed node waits, and its deletion is not blocked', async () => {
  await w2.close()
  await real.kube.delete(nodes, { name: 'w2' })
  await request(2, [0], 1400)
  await waitForState('w2', 'Pending 0/1 NodeNotFound')
  await real.kube.delete(nodeConfigs, { namespace, name: 'w2' })
  await eventually(async () => assert.equal(await real.kube.get(nodeConfigs, { namespace, name: 'w2' }), undefined), {
    within,
  })
  await waitForState('w1', 'Configured 2/2 AllInterfacesConfigured')
})
