/**
 * The lifecycle of configs and of the controller, over HTTP: a deleted namespace, a new leader, Pods that never start, and
 * the number of writes per config.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type ControllerCluster,
  controllerHarness,
  startControllerCluster,
} from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { nodeConfigFinalizer, nodeConfigs } from '../contract/node-config.ts'
import { events, jobs, leases, namespaces, pods } from '../kube/resources.ts'
import type { EventObject, ObjectMeta } from '../kube/types.ts'
import { silent } from '../telemetry/log.ts'
import { aConfig, aJob, start } from './controller.fixture.ts'
import { createPodStartErrors } from './pod-start-errors.ts'

let cluster: ControllerCluster

before(async () => {
  cluster = await startControllerCluster()
})
after(() => cluster.close())

test('a config costs a finalizer, a Job and one status write, then nothing', async () => {
  const controller = await cluster.startController()
  try {
    const writes: string[] = []
    const stop = cluster.api.store.subscribe(event => {
      const kind = JSON.stringify(event).match(/multinicnodeconfigs|batch\/jobs/)?.[0]
      if (kind) writes.push(kind)
    })
    await cluster.addConfig('thrifty', await cluster.addNode('thrifty'))
    await cluster.finishPod(await cluster.endAgent('thrifty'))
    const { metadata } = await cluster.expectConfigured('thrifty')
    const [job] = await cluster.jobsOn('thrifty')
    await eventually(async () => assert.equal((await cluster.jobsOn('thrifty'))[0]?.status?.succeeded, 1))
    stop()
    assert.equal(writes.filter(kind => kind === 'multinicnodeconfigs').length, 3, 'create, finalizer, status')
    assert.equal((await cluster.configOf('thrifty'))?.metadata.resourceVersion, metadata.resourceVersion)
    assert.equal((await cluster.jobsOn('thrifty'))[0]?.metadata.uid, job?.metadata.uid)
  } finally {
    await controller.stop()
  }
})

test('the second replica continues where the first one stopped, and no Job runs twice', async () => {
  const env = { LEADER_ELECT: 'true' }
  const first = await cluster.startController(env)
  const names = ['r1', 'r2', 'r3', 'r4']
  await eventually(async () => {
    const lease = await cluster.kube.get(leases, { namespace: cluster.namespace, name: 'multinic-controller' })
    assert.ok(lease?.spec?.holderIdentity)
  })
  const second = await cluster.startController(env)
  try {
    for (const name of names) await cluster.addConfig(name, await cluster.addNode(name))
    await eventually(async () => assert.equal((await cluster.waitingPods()).length, names.length))
    await first.stop()
    for (const name of names) await cluster.endAgent(name)
    for (const name of names) await cluster.expectConfigured(name)
    for (const name of names) assert.equal((await cluster.jobsOn(name)).length, 1)
  } finally {
    await second.stop()
  }
})

test('a controller stops within a second', async () => {
  // A busy machine may exceed the limit once. A controller that waits for something exceeds it every time.
  let tries = 0
  await eventually(async () => {
    const name = `stopping-${++tries}`
    const controller = await cluster.startController()
    await cluster.addConfig(name, await cluster.addNode(name))
    await eventually(async () => assert.equal((await cluster.jobsOn(name)).length, 1))
    const stoppedAt = performance.now()
    await controller.stop()
    const took = performance.now() - stoppedAt
    await cluster.finishPod(await cluster.endAgent(name))
    assert.ok(took < 1_000, `${took} ms`)
  })
})

test('controller L12, M9: one read of the Events explains all Pods that do not start', async () => {
  const event = (uid: string, reason: string, message: string, seconds = 1): EventObject => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${uid}.${reason.toLowerCase()}`, namespace: cluster.namespace },
    involvedObject: {
      kind: reason === 'FailedCreate' ? 'Job' : 'Pod',
      name: uid,
      namespace: cluster.namespace,
      uid,
    },
    type: 'Warning',
    reason,
    message,
    lastTimestamp: `2026-01-01T00:00:0${seconds}Z`,
  })
  const messages: Record<string, [reason: string, expected: string, message: string]> = {
    security: [
      'FailedCreate',
      'PodForbidden',
      'Error creating: pods "w1" is forbidden: violates PodSecurity "restricted:latest"',
    ],
    quota: [
      'FailedCreate',
      'QuotaExceeded',
      'Error creating: pods "w1" is forbidden: exceeded quota: pods, used: pods=1',
    ],
    webhook: [
      'FailedCreate',
      'WebhookFailed',
      'Error creating: Internal error occurred: failed calling webhook "a.b.c": connection refused',
    ],
    denied: ['FailedCreate', 'WebhookFailed', 'Error creating: admission webhook "a.b.c" denied the request: no'],
    unread: [
      'FailedCreate',
      'QuotaExceeded',
      'Error creating: pods "w1" is forbidden: status unknown for quota: pods, resources: pods',
    ],
    other: ['FailedCreate', 'PodCreateFailed', 'Error creating: Timeout: request did not complete'],
    mount: ['FailedMount', 'MountFailed', 'hostPath type check failed: /etc/netplan is not a directory'],
    sandbox: ['FailedCreatePodSandBox', 'PodNotStarting', 'failed to start sandbox container'],
  }
  for (const [uid, [reason, , message]] of Object.entries(messages))
    await cluster.kube.create(events, event(uid, reason, message))
  await cluster.kube.create(events, event('security', 'FailedMount', 'older', 0))
  let lists = 0
  const kube = {
    list: ((...args: Parameters<typeof cluster.kube.list>) => {
      lists++
      return cluster.kube.list(...args)
    }) as typeof cluster.kube.list,
  }
  const errors = createPodStartErrors(kube, cluster.namespace, silent)
  const jobs = Object.keys(messages).map(uid => aJob(aConfig(), { uid, phase: 'waiting', createdAt: start }))
  assert.equal(errors.areDue(jobs, start + 1_000), false)
  assert.equal(errors.areDue(jobs, start + 6_000), true)
  await Promise.all(jobs.map(() => errors.readEvents(start + 6_000)))
  assert.equal(lists, 2)
  for (const [uid, [, reason, message]] of Object.entries(messages))
    assert.deepEqual(errors.of({ uid, podUids: [] }), { reason, message })
  assert.equal(errors.of({ uid: 'a-job-without-events', podUids: [] }), undefined)
  assert.equal(errors.of({ uid: 'a-job-with-a-pod', podUids: ['mount'] })?.reason, 'MountFailed')
  // Again before the Pod counts as not starting, then less often.
  assert.equal(errors.areDue(jobs, start + 10_000), false)
  assert.equal(errors.areDue(jobs, start + 10_990), true)
  await errors.readEvents(start + 61_000)
  assert.equal(errors.areDue(jobs, start + 70_000), false)
})

test('the status shows a node out of resources and a directory that cannot be mounted', async () => {
  const controller = await cluster.startController()
  const { kube, namespace } = cluster
  const podOn = async (node: string) => {
    await cluster.addConfig(node, await cluster.addNode(node))
    const first = async () => (await cluster.podsOn(node))[0] ?? assert.fail(`there is no Pod for ${node}`)
    return (await eventually(first)).metadata
  }
  const expectReady = (name: string, line: string) =>
    eventually(async () => {
      const { state, conditions } = (await cluster.configOf(name))?.status ?? {}
      const ready = conditions?.find(({ type }) => type === 'Ready')
      assert.equal(`${state} ${ready?.reason}: ${ready?.message}`, line)
    })
  /** The Job controller creates another Pod after a while. Once it runs, the error of the first one no longer counts. */
  const startNextPod = async ({ labels, ownerReferences }: ObjectMeta, node: string) => {
    const metadata = {
      name: `${node}-again`,
      namespace,
      ...(labels && { labels }),
      ...(ownerReferences && { ownerReferences }),
    }
    const spec = { nodeName: node, containers: [{ name: 'agent', image: 'multinic-agent:test' }] }
    await kube.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec })
    const agent = { name: 'agent', restartCount: 0, ready: true, image: '', imageID: '', state: { running: {} } }
    await kube.patchStatus(pods, { namespace, name: metadata.name }, { phase: 'Running', containerStatuses: [agent] })
    const [job] = await cluster.jobsOn(node)
    await expectReady(node, `InProgress Applying: ${job?.metadata.name} is running`)
  }
  try {
    const { name, uid = '' } = await podOn('unmounted')
    // A kubelet reports this in an Event while the Pod waits.
    await kube.create(events, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.mount`, namespace },
      involvedObject: { kind: 'Pod', name, namespace, uid },
      type: 'Warning',
      reason: 'FailedMount',
      message: 'hostPath type check failed: /etc/netplan is not a directory',
      lastTimestamp: '2026-01-01T00:00:01Z',
    })
    const full = await podOn('full')
    const rejected = { phase: 'Failed', reason: 'OutOfcpu', message: 'Node didn’t have enough resource: cpu' }
    await kube.patchStatus(pods, { namespace, name: full.name }, rejected)
    await expectReady('full', `InProgress NodeOutOfResources: OutOfcpu: ${rejected.message}`)
    await startNextPod(full, 'full')
    await expectReady(
      'unmounted',
      'InProgress MountFailed: hostPath type check failed: /etc/netplan is not a directory',
    )
  } finally {
    await controller.stop()
  }
})

test('a cleanup Job is gone before its config: nobody can restart it beside the agent of the next config', async () => {
  const controller = await cluster.startController()
  const deleted: (string | undefined)[] = []
  const stop = cluster.api.store.subscribe(({ type, object }) => {
    if (type === 'DELETED' && object.metadata.name.includes('again')) deleted.push(object.kind)
  })
  try {
    await cluster.addConfig('again', await cluster.addNode('again'))
    await cluster.finishPod(await cluster.endAgent('again'))
    await cluster.expectConfigured('again')
    await cluster.kube.delete(nodeConfigs, { namespace: cluster.namespace, name: 'again' })
    await eventually(async () => assert.equal((await cluster.jobsOn('again')).length, 1))
    // The Job controller has not counted the Pod: it is still Running.
    await cluster.endAgent('again')
    await eventually(async () => assert.equal(await cluster.configOf('again'), undefined))
    const kinds = deleted.filter(kind => kind !== 'Pod')
    assert.deepEqual(kinds, ['Job', 'Job', 'MultiNicNodeConfig'], 'the apply, the cleanup, the config')
  } finally {
    stop()
    await controller.stop()
  }
})

test('ended Jobs of a deleted config, which no TTL controller removes, are deleted after a while', async () => {
  const { kube, namespace } = cluster
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z')
  const endedJob = async (name: string, config: string, at: string) => {
    const template = { spec: { restartPolicy: 'OnFailure' as const, containers: [{ name: 'agent', image: 'agent' }] } }
    const labels = { 'app.kubernetes.io/name': 'multinic-agent' }
    const metadata = { name, namespace, labels, annotations: { 'multinic.io/config': config } }
    await kube.create(jobs, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { suspend: true, template } })
    const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime: at }]
    await kube.patchStatus(jobs, { namespace, name }, { completionTime: at, succeeded: 1, conditions })
  }
  await endedJob('ended-long-ago', 'deleted', hourAgo)
  await endedJob('ended-just-now', 'deleted', new Date().toISOString().replace(/\.\d+Z$/, 'Z'))
  const controller = await cluster.startController()
  const exists = async (name: string) => (await kube.get(jobs, { namespace, name })) !== undefined
  try {
    await eventually(async () => assert.equal(await exists('ended-long-ago'), false))
    assert.equal(await exists('ended-just-now'), true)
  } finally {
    await controller.stop()
  }
})

test('a controller that stops while its namespace is deleted removes all finalizers first', async () => {
  const namespace = 'terminating'
  await cluster.kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const harness = controllerHarness(cluster.kube, cluster.api.kubeconfig, namespace)
  const remaining = async () => (await cluster.kube.list(nodeConfigs, { namespace })).items.length
  for (let index = 0; index < 60; index++) {
    const { apiVersion, kind, spec } = aConfig({ name: `config-${index}` })
    const metadata = { name: `config-${index}`, namespace, finalizers: [nodeConfigFinalizer] }
    await cluster.kube.create(nodeConfigs, { apiVersion, kind, metadata, spec })
  }
  const controller = await harness.startController({}, silent, { workers: 1 })
  try {
    await cluster.kube.delete(namespaces, { name: namespace })
    await eventually(async () => assert.ok((await remaining()) < 60), { within: 30_000, every: 1 })
    await controller.stop()
    assert.equal(await remaining(), 0)
  } finally {
    await controller.stop()
  }
})

test('a deleted namespace takes its configs with it', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('last', await cluster.addNode('last'))
    await cluster.finishPod(await cluster.endAgent('last'))
    await cluster.expectConfigured('last')
    await cluster.kube.delete(namespaces, { name: cluster.namespace })
    await eventually(
      async () => {
        const { items } = await cluster.kube.list(nodeConfigs, { namespace: cluster.namespace })
        assert.deepEqual(
          items.map(({ metadata }) => metadata.name),
          [],
        )
      },
      { within: 30_000 },
    )
    const cleanups = (await cluster.kube.list(jobs, { namespace: cluster.namespace })).items.filter(
      job => job.metadata.labels?.['multinic.io/action'] === 'cleanup',
    )
    assert.deepEqual(cleanups, [])
  } finally {
    await controller.stop()
  }
})
