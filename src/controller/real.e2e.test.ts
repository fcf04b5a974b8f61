/**
 * The controller under its own ServiceAccount on a real API server and Job controller.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { ControlPlane } from '../../test/rigs/kubernetes/rig.ts'
import { root } from '../../test/support/audited-cluster.ts'
import { inputOf } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type RealController, startRealController } from '../../test/support/real-controller.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { events, jobs, namespaces, nodes, pods, serviceCIDRs } from '../kube/resources.ts'
import { aNic } from './controller.fixture.ts'

type Harness = Awaited<ReturnType<RealController['install']>>

const within = 120_000
let real: RealController
let cp: ControlPlane
let harness: Harness
let controller: Awaited<ReturnType<Harness['startController']>>

before(async () => {
  real = await startRealController({ options: ['controller_node_condition.yaml'] })
  cp = real.cp
  harness = await real.install('multinic-system')
  await cp.exec('kubectl', ['apply', '-f', join(root, 'config/admission/node-condition.yaml')])
  controller = await harness.startController({ NODE_CONDITION: 'true' })
  await harness.approveDeletions()
})

after(async () => {
  await controller?.stop()
  await real?.close()
})

async function configured(where: Harness, name: string): Promise<void> {
  await where.addConfig(name, await where.addNode(name))
  await where.finishPod(await where.endAgent(name))
  await where.expectConfigured(name)
}

const waitUntilDeleted = (where: Harness, name: string) =>
  eventually(async () => assert.equal(await where.configOf(name), undefined), { within })

test('kubectl waits for a config, and shows it in one line', async () => {
  await harness.addConfig('w1', await harness.addNode('w1'))
  const waiting = cp.exec('kubectl', [
    '-n',
    harness.namespace,
    'wait',
    '--for=condition=Ready',
    'mnnc/w1',
    '--timeout=180s',
  ])
  const pod = await harness.endAgent('w1')
  assert.match((await waiting).stdout, /condition met/)
  const { stdout } = await cp.exec('kubectl', ['-n', harness.namespace, 'get', 'mnnc', 'w1'])
  assert.match(
    stdout,
    /NODE +STATE +NICS +REASON +GENERATION +OBSERVED +AGE\s+w1 +w1 +Configured +1\/1 +AllInterfacesConfigured +1 +1/,
  )
  await harness.finishPod(pod)
  await eventually(async () => assert.equal((await harness.jobsOn('w1'))[0]?.status?.succeeded, 1), { within })
  const described = await cp.exec('kubectl', ['-n', harness.namespace, 'describe', 'mnnc', 'w1'])
  assert.match(described.stdout, /1 interface configured successfully/)
  await eventually(
    async () => {
      const { items } = await real.kube.list(events, { namespace: harness.namespace })
      assert.ok(
        items.some(
          ({ reason, involvedObject }) => reason === 'AllInterfacesConfigured' && involvedObject.name === 'w1',
        ),
      )
    },
    { within },
  )
})

test('the agent gets the networks of Services', async () => {
  const [{ spec } = assert.fail('no ServiceCIDR')] = (await real.kube.list(serviceCIDRs)).items
  const [job = assert.fail('no Job')] = await harness.jobsOn('w1')
  assert.deepEqual(inputOf(job.spec.template).serviceCIDRs, spec?.cidrs)
})

test('the Node gets the condition beside its own conditions', async () => {
  const conditions = await eventually(
    async () => {
      const found = (await real.kube.get(nodes, { name: 'w1' }))?.status?.conditions ?? []
      assert.ok(found.some(({ type }) => type === 'MultiNicReady'))
      return found
    },
    { within },
  )
  const texts = conditions.map(({ type, status }) => `${type}=${status}`)
  assert.deepEqual(texts.sort(), ['MultiNicReady=True', 'Ready=True'])
})

for (const propagation of ['Foreground', 'Background', 'Orphan'] as const)
  test(`a config that is deleted with ${propagation} propagation goes after its cleanup`, async () => {
    const name = propagation.toLowerCase()
    await configured(harness, name)
    await real.kube.delete(nodeConfigs, { namespace: harness.namespace, name }, { propagation })
    const pod = await harness.endAgent(name)
    assert.equal(inputOf(pod).mode, 'cleanup')
    await harness.finishPod(pod)
    await waitUntilDeleted(harness, name)
    const remaining = (await real.kube.list(jobs, { namespace: harness.namespace })).items.filter(
      job => job.spec.template.spec.nodeName === name,
    )
    assert.deepEqual(
      remaining.map(({ metadata }) => metadata.name),
      [],
    )
  })

test('names of the maximum length in Kubernetes work', async () => {
  const long = [...Array.from({ length: 4 }, (_, part) => `${part}`.repeat(60)), 'cluster'].join('.')
  await harness.addConfig(long, await harness.addNode(long))
  await harness.finishPod(await harness.endAgent(long))
  await harness.expectConfigured(long)
  await real.kube.delete(nodeConfigs, { namespace: harness.namespace, name: long })
  await harness.finishPod(await harness.endAgent(long))
  await waitUntilDeleted(harness, long)
})

test('a config that is deleted while the controller is stopped is cleaned up after its start', async () => {
  await configured(harness, 'deleted')
  await controller.stop()
  await real.kube.delete(nodeConfigs, { namespace: harness.namespace, name: 'deleted' })
  controller = await harness.startController({ LEADER_ELECT: 'true' })
  assert.equal(inputOf(await harness.endAgent('deleted')).mode, 'cleanup')
  await waitUntilDeleted(harness, 'deleted')
})

/** Each in its own namespace, because they wait for other components and not for each other. */
suite('in parallel', { concurrency: true }, () => {
  test('a namespace that rejects the agent shows in the status, and works once it allows it', async () => {
    const strict = await real.install('strict', { enforce: 'restricted' })
    const own = await strict.startController()
    try {
      await strict.addConfig('rejected', await strict.addNode('rejected'))
      const message = await eventually(
        async () => {
          const ready = (await strict.configOf('rejected'))?.status?.conditions?.find(({ type }) => type === 'Ready')
          assert.equal(ready?.reason, 'PodForbidden')
          return ready?.message ?? ''
        },
        { within },
      )
      assert.match(message, /violates PodSecurity "restricted/)
      await real.kube.patch(
        namespaces,
        { name: 'strict' },
        { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } },
      )
      await strict.finishPod(await strict.endAgent('rejected'))
      await strict.expectConfigured('rejected')
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
      // The controller ends with its Pod.
      await eventually(
        async () => {
          const pod = await real.kube.get(pods, { namespace: 'doomed', name: 'controller' })
          assert.ok(pod?.metadata.deletionTimestamp)
        },
        { within },
      )
      await own.stop('SIGTERM')
      // There is no kubelet, so the test ends and deletes the Pods. The namespace controller deletes Pods before other
      // objects, and retries after up to a minute.
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
    const env = { DRIFT_INTERVAL: '2s', DRIFT_POLICY: 'repair' }
    const own = await drifting.startController(env, undefined, { checkGapMs: 10 })
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
