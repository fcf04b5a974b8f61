/**
 * The controller end to end over HTTP, with one config at a time.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { nodeConfigFinalizer, nodeConfigs } from '../contract/node-config.ts'
import { events, nodes } from '../kube/resources.ts'
import { aNic } from './controller.fixture.ts'

let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController()
  await cluster.approveDeletions()
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

async function configured(name: string): Promise<void> {
  await cluster.addConfig(name, await cluster.addNode(name))
  await cluster.finishPod(await cluster.endAgent(name))
  await cluster.expectConfigured(name)
}

const remove = (name: string) => cluster.kube.delete(nodeConfigs, { namespace: cluster.namespace, name })
const annotate = (name: string, annotations: Record<string, string>) =>
  cluster.kube.patch(nodeConfigs, { namespace: cluster.namespace, name }, { metadata: { annotations } })

async function eventsOf(name: string): Promise<string[]> {
  const { items } = await cluster.kube.list(events, { namespace: cluster.namespace })
  return items.filter(event => event.involvedObject.name === name).map(({ reason }) => reason)
}

test('a config is Configured before its Job is Complete, and then stays unchanged', async () => {
  await cluster.addConfig('w1', await cluster.addNode('w1'), { nics: 2 })
  const pod = await cluster.endAgent('w1')
  const config = await cluster.expectStatus(
    'w1',
    'Configured 2/2 True AllInterfacesConfigured: All 2 interfaces configured successfully',
  )
  assert.deepEqual(config.metadata.finalizers, [nodeConfigFinalizer])
  assert.equal(config.status?.interfaceStatuses?.[1]?.observed?.mtu, 1450)
  // By these the operator recognizes the primary port (M2).
  assert.deepEqual(config.status?.nodeAddresses, ['10.0.0.11'])
  assert.equal(config.status?.lastJobName, (await cluster.jobsOn('w1'))[0]?.metadata.name)

  await cluster.finishPod(pod)
  await eventually(async () => assert.equal((await cluster.jobsOn('w1'))[0]?.status?.succeeded, 1))
  assert.equal((await cluster.configOf('w1'))?.metadata.resourceVersion, config.metadata.resourceVersion)
  assert.equal((await cluster.jobsOn('w1')).length, 1)
})

/** Early: the controller limits Normal Events, and every test has some. */
test('a deleted config goes after its interfaces are removed', async () => {
  await configured('deleted')
  await remove('deleted')
  assert.equal(inputOf(await cluster.endAgent('deleted')).mode, 'cleanup')
  await eventually(async () => assert.equal(await cluster.configOf('deleted'), undefined))
  await eventually(async () => {
    // Progress Events depend on how long the agent takes.
    const results = (await eventsOf('deleted')).filter(reason => reason !== 'Applying' && reason !== 'Removing')
    assert.deepEqual(results.toSorted(), ['AllInterfacesConfigured', 'Removed'])
  })
})

test('a config waits for its node, and proceeds when the node joins', async () => {
  await cluster.addConfig('waiting', '')
  await cluster.expectStatus('waiting', 'Pending 0/1 False NodeNotFound: node waiting is not in this cluster')
  assert.equal((await cluster.configOf('waiting'))?.metadata.finalizers, undefined)
  await cluster.addNode('waiting')
  await cluster.endAgent('waiting')
  await cluster.expectConfigured('waiting')
})

test('a node is found by its machine, whatever name the config has', async () => {
  const machine = await cluster.addNode('real-name')
  await cluster.addConfig('other-name', machine)
  await cluster.endAgent('real-name')
  await cluster.expectConfigured('other-name')
})

test('a config for another machine is never applied', async () => {
  await cluster.addNode('other')
  const expected = '6f1c2a10-0001-4aaa-8bbb-999999999999'
  await cluster.addConfig('other', expected)
  const { status } = await eventually(async () => {
    const config = await cluster.configOf('other')
    assert.ok(config?.status)
    return config
  })
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  assert.equal(ready?.reason, 'WrongMachine')
  assert.match(ready?.message ?? '', new RegExp(`^node other has system UUID .*, not ${expected}$`))
  assert.deepEqual(await cluster.jobsOn('other'), [])
})

test('of two configs for one node, the older one wins and the other one takes over later', async () => {
  const machine = await cluster.addNode('shared')
  await cluster.addConfig('shared', machine)
  await cluster.finishPod(await cluster.endAgent('shared'))
  await cluster.expectConfigured('shared')
  await cluster.addConfig('shared-too', machine, { nodeName: 'shared' })
  const line = 'Pending 0/1 False DuplicateNode: shared is older and names the same node shared'
  await cluster.expectStatus('shared-too', line)
  await remove('shared')
  await eventually(async () => assert.equal(await cluster.configOf('shared'), undefined))
  assert.equal(inputOf(await cluster.endAgent('shared')).mode, 'apply')
  await cluster.expectConfigured('shared-too')
})

test('two configs for one node that are deleted together leave no interface behind', async () => {
  const machine = await cluster.addNode('twice')
  await cluster.addConfig('twice', machine)
  await cluster.finishPod(await cluster.endAgent('twice'))
  await cluster.expectConfigured('twice')
  await cluster.addConfig('twice-too', machine, { nodeName: 'twice' })
  await cluster.expectStatus(
    'twice-too',
    'Pending 0/1 False DuplicateNode: twice is older and names the same node twice',
  )
  await Promise.all([remove('twice'), remove('twice-too')])
  const modes: string[] = []
  await eventually(async () => {
    const [open] = (await cluster.waitingPods()).filter(pod => inputOf(pod).nodeName === 'twice')
    if (open) {
      const { mode } = inputOf(open)
      modes.push(mode)
      await cluster.finishPod(
        await cluster.endAgent('twice', mode === 'cleanup' ? { verdict: 'Removed', interfaces: [] } : {}),
      )
    }
    assert.deepEqual([await cluster.configOf('twice'), await cluster.configOf('twice-too')], [undefined, undefined])
  })
  // The second one may have taken over before its own deletion.
  assert.equal(modes.at(-1), 'cleanup')
})

test('controller H2: a config for another machine is no rival, and takes over nothing', async () => {
  await cluster.addConfig('foreign', '6f1c2a10-0001-4aaa-8bbb-999999999998', { nodeName: 'claimed' })
  await cluster.addConfig('claimed', await cluster.addNode('claimed'))
  await cluster.finishPod(await cluster.endAgent('claimed'))
  await cluster.expectConfigured('claimed')
  const foreign = await cluster.configOf('foreign')
  assert.equal(foreign?.status?.conditions?.[0]?.reason, 'WrongMachine')
  await remove('claimed')
  assert.equal(inputOf(await cluster.endAgent('claimed')).mode, 'cleanup')
  await eventually(async () => assert.equal(await cluster.configOf('claimed'), undefined))
})

test('controller M4: a config whose finalizer was removed is cleaned up when it is deleted', async () => {
  await configured('replaced')
  const config = await cluster.configOf('replaced')
  assert.ok(config)
  const { finalizers: _, ...metadata } = config.metadata
  await cluster.kube.replace(nodeConfigs, { ...config, metadata })
  await eventually(async () =>
    assert.deepEqual((await cluster.configOf('replaced'))?.metadata.finalizers, [nodeConfigFinalizer]),
  )
  await remove('replaced')
  assert.equal(inputOf(await cluster.endAgent('replaced')).mode, 'cleanup')
  await eventually(async () => assert.equal(await cluster.configOf('replaced'), undefined))
})

test('a config that is restored from a backup is adopted', async () => {
  await configured('restored')
  const { apiVersion, kind, spec, status } = (await cluster.configOf('restored')) ?? assert.fail()
  await annotate('restored', { 'multinic.io/force-delete': 'true' })
  await remove('restored')
  await eventually(async () => assert.equal(await cluster.configOf('restored'), undefined))
  const labels = { 'velero.io/restore-name': 'night' }
  const metadata = { namespace: cluster.namespace, name: 'restored', labels, finalizers: [nodeConfigFinalizer] }
  await cluster.kube.create(nodeConfigs, { apiVersion, kind, metadata, spec })
  await cluster.kube.patchStatus(nodeConfigs, metadata, { ...status, observedGeneration: 7 })
  assert.equal(inputOf(await cluster.endAgent('restored')).mode, 'apply')
  await eventually(async () => {
    const config = await cluster.configOf('restored')
    assert.deepEqual([config?.status?.state, config?.status?.observedGeneration], ['Configured', 1])
  })
})

test('a deleted config does not wait for a node that no longer exists', async () => {
  await configured('nodeless')
  await cluster.kube.delete(nodes, { name: 'nodeless' })
  await remove('nodeless')
  await eventually(async () => assert.equal(await cluster.configOf('nodeless'), undefined))
})

test('a config that is deleted and created again gets a new Job', async () => {
  await configured('again')
  const [first] = await cluster.jobsOn('again')
  await annotate('again', { 'multinic.io/force-delete': 'true' })
  await remove('again')
  await eventually(async () => assert.equal(await cluster.configOf('again'), undefined))
  await cluster.addConfig('again', first?.metadata.labels?.['instance'] ?? '')
  await cluster.endAgent('again')
  const config = await cluster.expectConfigured('again')
  assert.notEqual(config.status?.lastJobName, first?.metadata.name)
})

test('a new spec waits for the agent of the old one, whose report does not count for it', async () => {
  await cluster.addConfig('running', await cluster.addNode('running'))
  await eventually(async () => assert.equal((await cluster.podsOn('running')).length, 1))
  await cluster.changeSpec('running', 'another')
  const [old] = await cluster.jobsOn('running')
  const line = `Pending 0/1 False PreviousJobRunning: ${old?.metadata.name} must end before the next agent starts`
  await cluster.expectStatus('running', line)
  await eventually(async () => assert.ok((await eventsOf('running')).includes('PreviousJobRunning')))
  assert.equal(inputOf(await cluster.endAgent('running')).generation, 1)
  assert.equal(inputOf(await cluster.endAgent('running')).generation, 2)
  assert.equal((await cluster.expectConfigured('running')).status?.observedGeneration, 2)
})

test('a NIC that is not in the guest yet is retried soon', async () => {
  await cluster.addConfig('early', await cluster.addNode('early'))
  const message = 'multinic0 is not in the guest yet'
  const interfaces = [aNic(0, { status: 'Pending', reason: 'NicMissing' })]
  const missing = { verdict: 'Pending', reason: 'NicMissing', message, interfaces } as const
  await cluster.finishPod(await cluster.endAgent('early', missing))
  await cluster.expectStatus('early', `Pending 0/1 False NicMissing: ${message}`)
  await cluster.endAgent('early')
  await cluster.expectConfigured('early')
  assert.equal((await cluster.jobsOn('early')).length, 1)
})

test('a failure shows the message of the agent, and the retry annotation retries it', async () => {
  await cluster.addConfig('bad', await cluster.addNode('bad'), { nics: 2 })
  const interfaces = [
    aNic(0),
    aNic(1, { status: 'Failed', reason: 'InterfaceNameInUse', message: 'eth9 has the name' }),
  ]
  await cluster.endAgent('bad', { verdict: 'Failed', message: 'multinic1: eth9 has the name', interfaces })
  const config = await cluster.expectStatus('bad', 'Failed 1/2 False ApplyFailed: multinic1: eth9 has the name')
  assert.equal(config.status?.failedAttempts, 1)
  await annotate('bad', { 'multinic.io/retry': 'now' })
  await cluster.endAgent('bad')
  const recovered = await cluster.expectStatus(
    'bad',
    'Configured 2/2 True AllInterfacesConfigured: All 2 interfaces configured successfully',
  )
  assert.equal(recovered.metadata.annotations?.['multinic.io/retry'], undefined)
})

test('concurrent writes to a config are not lost, and neither is its status', async () => {
  const machine = await cluster.addNode('written')
  await cluster.addConfig('written', machine)
  const marks = Array.from({ length: 40 }, (_, index) => `example.com/mark-${index}`)
  const writing = (async () => {
    for (const mark of marks) await annotate('written', { [mark]: 'there' })
  })()
  await cluster.finishPod(await cluster.endAgent('written'))
  await cluster.expectConfigured('written')
  await writing
  const config = await cluster.expectConfigured('written')
  assert.deepEqual(Object.keys(config.metadata.annotations ?? {}).toSorted(), marks.toSorted())
  assert.deepEqual(config.metadata.finalizers, [nodeConfigFinalizer])
  assert.equal((await cluster.jobsOn('written')).length, 1)
})

test('a reboot starts an agent on the node', async () => {
  const machine = await cluster.addNode('rebooted')
  await cluster.addConfig('rebooted', machine)
  await cluster.finishPod(await cluster.endAgent('rebooted'))
  await cluster.expectConfigured('rebooted')
  await cluster.setNode('rebooted', { systemUUID: machine, bootID: 'boot-2', osImage: 'Ubuntu 24.04 LTS' })
  await cluster.endAgent('rebooted', { changed: 0 })
  await eventually(async () => assert.equal((await cluster.configOf('rebooted'))?.status?.bootID, 'boot-2'))
})

test('a restarted controller writes nothing for settled configs', async () => {
  const before = await cluster.kube.list(nodeConfigs, { namespace: cluster.namespace })
  await controller.stop()
  controller = await cluster.startController({ LEADER_ELECT: 'true' })
  await eventually(async () => {
    const body = (await (await fetch(`${controller.health}/healthz`)).json()) as Record<string, unknown>
    assert.equal(body['crd_watcher_status'], 'running')
    assert.match(String(body['uptime']), /^\d+s$/)
    assert.ok(Number(body['processed_configs']) > 5)
  })
  await configured('fresh')
  for (const { metadata } of before.items) {
    const now = await cluster.configOf(metadata.name)
    assert.equal(now?.metadata.resourceVersion, metadata.resourceVersion, metadata.name)
  }
})

test('the metrics count Jobs, results and states', async () => {
  const text = await (await fetch(`${controller.health}/metrics`)).text()
  assert.match(text, /multinic_jobs_created_total\{action="apply"\} 1/)
  assert.match(text, /multinic_results_total\{state="Configured",reason="AllInterfacesConfigured"\} 1/)
  assert.match(text, /multinic_configs\{state="Configured"\} \d+/)
  assert.match(text, /multinic_config_stage_seconds_count\{stage="job_to_status"\} 1/)
})

test('the guides name every metric of ours, and no other', async () => {
  const text = await (await fetch(`${controller.health}/metrics`)).text()
  const served = [...text.matchAll(/^# TYPE (multinic_\w+)/gm)].map(([, name]) => name)
  for (const guide of ['controller.md', 'controller.ko.md']) {
    const page = await readFile(join(import.meta.dirname, '../../docs/guides', guide), 'utf8')
    const documented = [...page.matchAll(/^\| (`multinic_.*?) \|/gm)].flatMap(
      ([, cell]) => cell?.match(/multinic_\w+/g) ?? [],
    )
    assert.deepEqual(documented.toSorted(), served.toSorted(), guide)
  }
})
