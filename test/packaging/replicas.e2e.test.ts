/**
 * Two replicas of every component, while ports are attached and detached: what happens when a replica is killed, PostgreSQL
 * restarts or fails over, the message bus is killed, and every component is upgraded. Nothing is lost, no NIC is configured twice,
 * and the dashboard answers. The measured times are diagnostics of the tests. node-loss.e2e.test.ts is about whole nodes.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { pods } from '../../src/kube/resources.ts'
import type { PodObject } from '../../src/kube/types.ts'
import { binary } from '../rigs/kubernetes/binaries.ts'
import { root } from './deployed.fixture.ts'
import { type Peer, whileCut } from './network-cut.ts'
import { biz, management, type Replicated } from './replicas.fixture.ts'
import { components, limits, seconds, startTrial, type Trial } from './replicas-trial.ts'

const cutMs = 8_000

let trial: Trial
let site: Replicated
let podsOf: Trial['podsOf']
let recovers: Trial['recovers']

before(async () => {
  trial = await startTrial()
  ;({ site, podsOf, recovers } = trial)
})
after(() => trial?.close())

/** Kills the process of the Pod's container as a crash would, and waits until the kubelet has started it again. */
async function crash(pod: PodObject): Promise<void> {
  const { namespace = '', name } = pod.metadata
  const read = async () => (await site.kube.get(pods, { namespace, name }))?.status?.containerStatuses?.[0]
  const earlier = await read()
  const path = 'jsonpath={.status.containerStatuses[0].containerID}'
  const { stdout } = await site.cp.exec('kubectl', ['get', 'pod', name, '-n', namespace, '-o', path])
  const { node } = site.machines.find(machine => machine.node.name === pod.spec?.nodeName) ?? assert.fail(name)
  await node.exec(binary('ctr'), [
    '-n',
    'k8s.io',
    'tasks',
    'kill',
    '--signal',
    'SIGKILL',
    stdout.replace('containerd://', ''),
  ])
  await site.soon(async () => {
    const now = await read()
    assert.deepEqual(
      { restarts: now?.restartCount, ready: now?.ready },
      { restarts: (earlier?.restartCount ?? 0) + 1, ready: true },
    )
  })
}

test('the commands verify the inventory with the CA of its Secret', async () => {
  const { code, stdout, stderr } = await site.cp.exec(join(root, 'bin/multinic'), ['status'], { check: false })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /multinic0/)
})

for (const [component, namespace] of components)
  test(`kill -9 of each ${component} stops nothing`, async t => {
    const found = await podsOf(component, namespace)
    assert.equal(new Set(found.map(pod => pod.spec?.nodeName)).size, 2, 'the replicas are on two nodes')
    for (const [index, pod] of found.entries())
      await recovers(t, `kill -9 of ${component} ${index + 1}`, limits.pod, () => crash(pod))
  })

test('PostgreSQL restarts, and fails over to its synchronous standby', async t => {
  const { postgres, movePostgres } = site
  await recovers(t, 'restart of PostgreSQL', limits.node, async () => {
    await postgres.kill()
    await postgres.start()
  })
  await recovers(t, 'failover of PostgreSQL', limits.node, async () => {
    await postgres.kill()
    await postgres.promoteStandby()
    await movePostgres()
  })
})

test('the message bus is killed, and comes back', async t => {
  const { rabbit } = site
  const hasBus = (expected: string) =>
    site.soon(async () => {
      const config = await site.kube.get(openstackConfigs, { namespace: management, name: 'main' })
      const { status, reason } = config?.status?.conditions?.find(({ type }) => type === 'EventsConnected') ?? {}
      assert.equal(`${status} ${reason}`, expected)
    })
  await hasBus('True EventBusConnected')
  await recovers(t, 'kill -9 of the message bus', limits.pod, () => rabbit.kill())
  await hasBus('False EventBusUnreachable')
  await recovers(t, 'return of the message bus', limits.pod, () => rabbit.start())
  await hasBus('True EventBusConnected')
})

test('a rolling upgrade of every component stops nothing', async t => {
  const set = components.flatMap(([component]) => ['--set', `${component}.podAnnotations.upgrade=first`])
  await recovers(t, 'rolling upgrade', limits.pod, () => site.deploy('upgrade', 'production', ...set))
})

/** Pairs of components that talk to each other. All replicas are cut, so that no other replica helps. */
const cuts: Record<string, () => Promise<[Peer[], Peer[]]>> = {
  'operator and Viola': async () => [await peersOf('operator', management), await peersOf('viola', management)],
  'operator and inventory': async () => [await peersOf('operator', management), await peersOf('inventory', management)],
  'inventory and PostgreSQL': async () => [await peersOf('inventory', management), [site.database]],
  'operator and API server': async () => [await peersOf('operator', management), [site.apiServer]],
  'Viola and API server': async () => [await peersOf('viola', management), [site.apiServer]],
  'controller and API server': async () => [await peersOf('controller', biz), [site.apiServer]],
}

async function peersOf(component: string, namespace: string): Promise<Peer[]> {
  return (await podsOf(component, namespace)).map(({ status }) => ({
    address: status?.podIP ?? assert.fail(component),
  }))
}

for (const [name, pair] of Object.entries(cuts))
  test(`a cut between ${name} for ${seconds(cutMs)} s loses nothing`, async t => {
    const groups = await pair()
    const nodes = site.machines.map(({ node }) => node.netns)
    await recovers(t, `cut between ${name}`, limits.node, () => whileCut(nodes, groups, () => sleep(cutMs)))
  })

for (const profile of ['staging', 'dev'])
  test(`a Biz cluster by values-${profile}.yaml configures NICs`, async () => {
    await site.deploy('upgrade', profile)
    await trial.player.nextChange()
  })

test('every port was configured once, and the history has every change', t => trial.assertNothingLost(t))
