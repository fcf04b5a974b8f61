/**
 * helm upgrade from the baseline with a live NIC, and back: no packet is lost, no agent runs, and the kernel, the files and the
 * objects of the node stay as they are.
 *
 * The VM w2 is no node. Its ports show that all components of a version work, without an agent.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { addPort, addServer, type Server, setPortStatus } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { jobs } from '../../src/kube/resources.ts'
import { type Baseline, openBaseline } from '../rigs/baseline/rig.ts'
import { run } from '../rigs/process.ts'
import { networkSettled, watchNetwork } from '../support/network-events.ts'
import { startPing } from '../system/ping.ts'
import { chart, type Deployed, release, root, startDeployed, tag } from './deployed.fixture.ts'

const address = '10.10.0.10'
const gateway = '10.10.0.1'

let baseline: Baseline
let deployed: Deployed
/** A VM that is no node. */
let machine: Server

before(async () => {
  baseline = await openBaseline()
  deployed = await startDeployed({ moreImages: [baseline.images] })
  const { node, cloudState } = deployed
  machine = addServer(cloudState, 'w2')
  await run('ip', ['-n', node.fabric, 'address', 'add', `${gateway}/24`, 'dev', 'p1'])
})
after(() => deployed?.close())

async function nodeConfig(name: string): Promise<NodeConfig> {
  return (await deployed.kube.get(nodeConfigs, { namespace, name })) ?? assert.fail(`no node config ${name}`)
}

/** What an upgrade must not change. */
async function nodeState(): Promise<Record<string, unknown>> {
  const { kube, node } = deployed
  const directories = '/etc/netplan /etc/systemd /etc/sysctl.d /etc/udev /var/lib/multinic'
  const find = `find ${directories} -type f -printf '%p %T@ %s %i\\n' | sort`
  const { spec, status, metadata } = await nodeConfig('w1')
  const { items } = await kube.list(jobs, { namespace })
  return {
    links: (await node.exec('ip', ['-json', 'address', 'show', 'multinic0'])).stdout,
    routes: (await node.exec('sh', ['-c', 'ip rule; ip route show table all; ip -6 rule'])).stdout,
    files: (await node.exec('sh', ['-c', find])).stdout,
    // A string, because a partial comparison accepts further elements of a list.
    jobs: items
      .map(job => job.metadata.uid)
      .sort()
      .join(),
    ...{ spec, status, generation: metadata.generation },
  }
}

/** Asserts that the work loses no packet of the NIC and causes no event of the network. */
async function undisturbed(work: () => Promise<void>): Promise<void> {
  const { node } = deployed
  await networkSettled(node.netns)
  const before = await nodeState()
  const events = await watchNetwork(node.netns)
  const ping = await startPing(node.netns, address, gateway)
  let lost: { sent: number; received: number }
  try {
    await work()
  } finally {
    lost = await ping.stop()
  }
  assert.equal(lost.received, lost.sent)
  assert.deepEqual(await events.stop(), [])
  // A newer controller may add fields to the status.
  assert.partialDeepStrictEqual(await nodeState(), before)
}

/** Attaches a port to w2 and waits until all components have handled it. */
async function attach(): Promise<NodeConfig> {
  const { cloudState, subnet, soon } = deployed
  const earlier = [...cloudState.ports.values()].filter(port => port.deviceId === machine.id).length
  const port = addPort(cloudState, { server: machine, subnet })
  setPortStatus(cloudState, port.id, 'ACTIVE')
  let config: NodeConfig | undefined
  await soon(async () => {
    config = await nodeConfig('w2')
    assert.equal(config.spec.interfaces.length, earlier + 1)
    const { observedGeneration, conditions } = config.status ?? {}
    assert.equal(observedGeneration, config.metadata.generation)
    assert.equal(conditions?.find(({ type }) => type === 'Ready')?.reason, 'NodeNotFound')
  })
  return config ?? assert.fail()
}

test('the baseline configures a NIC', async () => {
  const { deploy, values, configureNic } = deployed
  await deploy(['install', release, baseline.chart, '--create-namespace', ...values(baseline.tag)])
  await configureNic([machine])
  await attach()
})

test('helm upgrade touches no NIC', async () => {
  await undisturbed(async () => {
    await deployed.deploy(['upgrade', release, chart, ...deployed.values(tag)])
    await attach()
  })
})

test('helm rollback touches no NIC, and the baseline goes on with the objects', async () => {
  await undisturbed(async () => {
    await deployed.deploy(['rollback', release])
    await attach()
  })
})

test('after the next upgrade a check changes nothing, and a requested rollout of the agent loses no packet', async () => {
  const { cp, kube, node, deploy, values, soon } = deployed
  await deploy(['upgrade', release, chart, ...values(tag)])
  const ping = await startPing(node.netns, address, gateway)
  const checkedAt = async () => (await nodeConfig('w1')).status?.interfaceStatuses?.[0]?.lastChecked
  const before = await checkedAt()
  const check = { metadata: { annotations: { [nodeConfigAnnotations.check]: 'now' } } }
  await kube.patch(nodeConfigs, { namespace, name: 'w1' }, check)
  await soon(async () => assert.notEqual(await checkedAt(), before))
  assert.equal((await nodeConfig('w1')).status?.state, 'Configured')
  await cp.exec(join(root, 'bin/multinic'), ['rollout', 'agent'])
  await soon(async () => {
    const { status } = await nodeConfig('w1')
    assert.deepEqual([status?.state, status?.agentRollout?.state], ['Configured', 'Updated'])
  })
  const { sent, received } = await ping.stop()
  assert.equal(received, sent)
})

test('a downgrade that keeps the CRDs touches no NIC and loses no field', async () => {
  const { deploy, values } = deployed
  const written = await attach()
  await undisturbed(async () => {
    await deploy(['upgrade', release, baseline.chart, ...values(baseline.tag), '--set', 'crds.install=false'])
    assert.deepEqual((await nodeConfig('w2')).spec, written.spec)
    await attach()
  })
})
