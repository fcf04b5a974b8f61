/**
 * The controller under its own ServiceAccount on a real API server and Job controller: what a user sees there.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { ControlPlane } from '../../test/rigs/kubernetes/rig.ts'
import { inputOf } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type RealController, startRealController } from '../../test/support/real-controller.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { events, jobs, namespaces, nodes, pods } from '../kube/resources.ts'
import { aNic } from './controller.fixture.ts'

type Stage = Awaited<ReturnType<RealController['install']>>

const within = 120_000
let real: RealController
let cp: ControlPlane
let stage: Stage
let controller: Awaited<ReturnType<Stage['startController']>>

before(async () => {
  real = await startRealController()
  cp = real.cp
  stage = await real.install('multinic-system')
  controller = await stage.startController({ NODE_CONDITION: 'true' })
})

after(async () => {
  await controller?.stop()
  await real?.close()
})

async function configured(where: Stage, name: string): Promise<void> {
  await where.addConfig(name, await where.addNode(name))
  await where.finishPod(await where.endAgent(name))
  await where.expectConfigured(name)
}

const gone = (where: Stage, name: string) =>
  eventually(async () => assert.equal(await where.configOf(name), undefined), { within })

test('kubectl waits for a config, and shows it in one line', async () => {
  await stage.addConfig('w1', await stage.addNode('w1'))
  const waiting = cp.exec('kubectl', [
    '-n',
    stage.namespace,
    'wait',
    '--for=condition=Ready',
    'mnnc/w1',
    '--timeout=180s',
  ])
  const pod = await stage.endAgent('w1')
  assert.match((await waiting).stdout, /condition met/)
  const { stdout } = await cp.exec('kubectl', ['-n', stage.namespace, 'get', 'mnnc', 'w1'])
  assert.match(stdout, /NODE +STATE +NICS +REASON +AGE\s+w1 +w1 +Configured +1\/1 +AllInterfacesConfigured/)
  await stage.finishPod(pod)
  await eventually(async () => assert.equal((await stage.jobsOn('w1'))[0]?.status?.succeeded, 1), { within })
  const described = await cp.exec('kubectl', ['-n', stage.namespace, 'describe', 'mnnc', 'w1'])
  assert.match(described.stdout, /1 interface configured successfully/)
  await eventually(
    async () => {
      const { items } = await real.kube.list(events, { namespace: stage.namespace })
      assert.ok(
        items.some(
          ({ reason, involvedObject }) => reason === 'AllInterfacesConfigured' && involvedObject.name === 'w1',
        ),
      )
    },
    { within },
  )
})

test('the Node gets the condition beside its own conditions', async () => {
  const conditions = await eventually(
    async () => {
      const shown = (await real.kube.get(nodes, { name: 'w1' }))?.status?.conditions ?? []
      assert.ok(shown.some(({ type }) => type === 'MultiNicReady'))
      return shown
    },
    { within },
  )
  const said = conditions.map(({ type, status }) => `${type}=${status}`)
  assert.deepEqual(said.sort(), ['MultiNicReady=True', 'Ready=True'])
})

for (const propagation of ['Foreground', 'Background', 'Orphan'] as const)
  test(`a config that is deleted with ${propagation} propagation goes after its cleanup`, async () => {
    const name = propagation.toLowerCase()
    await configured(stage, name)
    await real.kube.delete(nodeConfigs, { namespace: stage.namespace, name }, { propagation })
    const pod = await stage.endAgent(name)
    assert.equal(inputOf(pod).mode, 'cleanup')
    await stage.finishPod(pod)
    await gone(stage, name)
    const kept = (await real.kube.list(jobs, { namespace: stage.namespace })).items.filter(
      job => job.spec.template.spec.nodeName === name,
    )
    assert.deepEqual(
      kept.map(({ metadata }) => metadata.labels?.['multinic.io/action']),
      ['cleanup'],
    )
  })

test('names of the maximum length in Kubernetes work', async () => {
  const long = [...Array.from({ length: 4 }, (_, part) => `${part}`.repeat(60)), 'cluster'].join('.')
  await stage.addConfig(long, await stage.addNode(long))
  await stage.finishPod(await stage.endAgent(long))
  await stage.expectConfigured(long)
  await real.kube.delete(nodeConfigs, { namespace: stage.namespace, name: long })
  await stage.finishPod(await stage.endAgent(long))
  await gone(stage, long)
})

test('a config that is deleted while the controller is stopped is cleaned up after its start', async () => {
  await configured(stage, 'away')
  await controller.stop()
  await real.kube.delete(nodeConfigs, { namespace: stage.namespace, name: 'away' })
  controller = await stage.startController({ LEADER_ELECT: 'true' })
  assert.equal(inputOf(await stage.endAgent('away')).mode, 'cleanup')
  await gone(stage, 'away')
})

/** Each in a namespace of its own: they wait for other parts, not for each other. */
suite('at the same time', { concurrency: true }, () => {
  test('a namespace that rejects the agent shows in the status, and works once it allows it', async () => {
    const strict = await real.install('strict', { enforce: 'restricted' })
    const own = await strict.startController()
    try {
      await strict.addConfig('refused', await strict.addNode('refused'))
      const said = await eventually(
        async () => {
          const ready = (await strict.configOf('refused'))?.status?.conditions?.find(({ type }) => type === 'Ready')
          assert.equal(ready?.reason, 'PodForbidden')
          return ready?.message ?? ''
        },
        { within },
      )
      assert.match(said, /violates PodSecurity "restricted/)
      await real.kube.patch(
        namespaces,
        { name: 'strict' },
        { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } },
      )
      await strict.finishPod(await strict.endAgent('refused'))
      await strict.expectConfigured('refused')
    } finally {
      await own.stop()
    }
  })

  test('a deleted namespace goes, together with its controller', async () => {
    const doomed = await real.install('doomed')
    const own = real.startProcess('doomed', { KUBECONFIG: doomed.kubeconfig, CONTROLLER_NAMESPACE: 'doomed' })
    try {
      for (const name of ['doomed-1', 'doomed-2']) await configured(doomed, name)
      await doomed.addConfig('doomed-3', await doomed.addNode('doomed-3'))
      await doomed.endAgent('doomed-3')
      await real.kube.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'controller', namespace: 'doomed' },
        spec: { nodeName: 'doomed-1', containers: [{ name: 'controller', image: 'multinic-controller' }] },
      })
      await real.kube.delete(namespaces, { name: 'doomed' })
      // The end of its Pod is the end of the controller.
      await eventually(
        async () => {
          const pod = await real.kube.get(pods, { namespace: 'doomed', name: 'controller' })
          assert.ok(pod?.metadata.deletionTimestamp)
        },
        { within },
      )
      await own.stop('SIGTERM')
      // No kubelet is here to end the Pods and let them go: the test does it for them. The real namespace controller takes
      // Pods before anything else, and looks again after pauses of up to a minute.
      await eventually(
        async () => {
          for (const pod of await doomed.podsOn('doomed-3')) await doomed.finishPod(pod)
          await cp.exec('kubectl', ['-n', 'doomed', 'delete', 'pods', '--all', '--grace-period=0', '--force'])
          assert.equal(await real.kube.get(namespaces, { name: 'doomed' }), undefined)
        },
        { within: 150_000, every: 1_000 },
      )
    } finally {
      await own.stop()
    }
  })

  test('a check Job finds drift, which is reported per interface and repaired if the policy says so', async () => {
    const drifting = await real.install('drifting')
    const first = await drifting.startController()
    await configured(drifting, 'drifts')
    await first.stop()
    const own = await drifting.startController({ DRIFT_INTERVAL: '2s', DRIFT_POLICY: 'repair' })
    try {
      const interfaces = [aNic(0, { status: 'Failed', reason: 'Drifted', message: 'mtu is 1500, not 1450' })]
      const check = await drifting.endAgent('drifts', {
        verdict: 'Drifted',
        message: 'multinic0: mtu is 1500',
        interfaces,
      })
      assert.equal(inputOf(check).mode, 'check')
      await drifting.finishPod(check)
      const repair = await drifting.endAgent('drifts')
      assert.equal(inputOf(repair).mode, 'apply')
      await drifting.expectConfigured('drifts')
    } finally {
      await own.stop()
    }
  })
})
