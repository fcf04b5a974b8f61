/**
 * The rights of the controller on a real API server with RBAC: it works with what config/rbac gives it, uses all of it, and
 * asks in vain for each right that is taken away. The real parts are of test/rigs/kubernetes/rig.ts.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Lessen, missedOf, rightOf, without } from '../../test/support/audited-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type RealController, startRealController } from '../../test/support/real-controller.ts'
import { bizConfigs } from '../contract/legacy/biz-config.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { jobs, nodes } from '../kube/resources.ts'
import { aConfig } from './controller.fixture.ts'
import { agentJobName } from './job.ts'
import { requestedOf } from './plan/requested.ts'

type Stage = Awaited<ReturnType<RealController['install']>>
type Restart = () => Promise<void>

const within = 30_000
let real: RealController

before(async () => {
  real = await startRealController()
})

after(() => real?.close())

const settings = { LEADER_ELECT: 'true', NODE_CONDITION: 'true' }

/** All that the controller ever asks for, told apart so that one refusal does not hide another. */
const stories: Record<string, (stage: Stage, name: string, restart: Restart) => Promise<unknown>> = {
  async 'is configured, changed and removed'(stage, name) {
    await stage.addConfig(name, await stage.addNode(name))
    await stage.finishPod(await stage.endAgent(name))
    await stage.expectConfigured(name)
    await stage.changeSpec(name, 'another')
    await stage.finishPod(await stage.endAgent(name))
    await eventually(async () => assert.equal((await stage.configOf(name))?.status?.observedGeneration, 2), stage.waits)
    await real.kube.delete(nodeConfigs, { namespace: stage.namespace, name })
    await stage.finishPod(await stage.endAgent(name))
    await eventually(async () => assert.equal(await stage.configOf(name), undefined), stage.waits)
  },
  /** By a document for the whole cluster. */
  async 'is served from a MultiNicBizConfig'(stage, name) {
    const { kube, namespace } = stage
    const attachedNodeId = await stage.addNode(name)
    const interfaces = [{ macAddress: 'fa:16:3e:00:00:00', address: '192.168.0.10', cidr: '192.168.0.0/24', mtu: 1450 }]
    await kube.create(bizConfigs, {
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicBizConfig',
      metadata: { name, namespace },
      spec: { nodeConfigs: [{ attachedNodeId, interfaces }] },
    })
    await stage.finishPod(await stage.endAgent(name))
    await eventually(async () => {
      const { status } = (await kube.get(bizConfigs, { namespace, name })) ?? {}
      assert.equal(status?.nodeStatuses?.[0]?.state, 'Configured')
    }, stage.waits)
  },
  /** A Job of that name is there, and the watch does not show it. */
  async 'meets a stranger'(stage, name) {
    const { kube, namespace } = stage
    const instanceId = await stage.addNode(name)
    const annotations = { 'multinic.io/paused': 'true' }
    const { apiVersion, kind, spec } = aConfig({ name, instanceId, nics: 1 })
    const config = await kube.create(nodeConfigs, {
      apiVersion,
      kind,
      metadata: { name, namespace, annotations },
      spec,
    })
    const identity = { nodeName: name, generation: 1, configUid: config.metadata.uid ?? '', bootID: 'boot-1' }
    const job = agentJobName({ ...identity, specHash: requestedOf(config).specHash, action: 'apply', attempt: 0 })
    const containers = [{ name: 'stranger', image: 'stranger' }]
    const template = { spec: { restartPolicy: 'Never' as const, containers } }
    await kube.create(jobs, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: job, namespace },
      spec: { suspend: true, template },
    })
    await kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations: { 'multinic.io/paused': null } } })
    await eventually(async () => assert.ok((await stage.configOf(name))?.metadata.finalizers?.length), stage.waits)
  },
  /** Its Pod never runs, so its Events are asked for. */
  async 'waits for its Pod'(stage, name) {
    await stage.addConfig(name, await stage.addNode(name))
    const asks = async () => (await real.askedIn(stage.namespace)).some(one => rightOf(one) === 'list events')
    await eventually(async () => assert.ok(await asks()), { ...stage.waits, every: 500 })
  },
  /** The same is said twice, and once more by the next controller. */
  async 'comes and goes'(stage, name, restart) {
    const reason = async (wanted: string) =>
      eventually(async () => {
        const { conditions } = (await stage.configOf(name))?.status ?? {}
        assert.equal(conditions?.find(({ type }) => type === 'Ready')?.reason, wanted)
      }, stage.waits)
    await stage.addConfig(name, '6f1c2a10-0001-4aaa-8bbb-999999999999')
    for (let round = 0; round < 2; round++) {
      await reason('NodeNotFound')
      await stage.addNode(name)
      await reason('WrongMachine')
      await real.kube.delete(nodes, { name })
    }
    await reason('NodeNotFound')
    await restart()
    await stage.addNode(name)
    await reason('WrongMachine')
    await real.kube.delete(nodes, { name })
    await reason('NodeNotFound')
  },
}

/** A controller that tells all stories, and may be stopped in the middle of them: then nobody waits for their ends. */
async function tellAll(namespace: string, change?: Lessen) {
  const over = new AbortController()
  const { signal } = over
  const stage = await real.install(namespace, { ...(change && { change }), waits: { within, signal } })
  let controller = await stage.startController(settings)
  const restart = async () => {
    await controller.stop()
    if (signal.aborted) return
    controller = await stage.startController(settings)
    if (signal.aborted) await controller.stop()
  }
  const told = Object.values(stories).map((story, index) => story(stage, `${namespace}-${index}`, restart))
  const ended = Promise.allSettled(told)
  const stop = async () => {
    over.abort()
    await controller.stop()
    await ended
  }
  return { ended, stop }
}

test('the controller works with its permissions, is never denied, and uses all of them', async () => {
  const telling = await tellAll('whole')
  const results = await telling.ended
  await telling.stop()
  assert.deepEqual(
    results.flatMap(result => (result.status === 'rejected' ? [String(result.reason)] : [])),
    [],
  )
  await eventually(
    async () => {
      const asked = await real.askedIn('whole')
      assert.deepEqual([...new Set(asked.filter(({ code }) => code === 403).map(rightOf))], [])
      assert.deepEqual([...new Set(asked.map(rightOf))].sort(), real.rights.toSorted())
    },
    { within },
  )
})

test('each right that is taken away is missed', async t => {
  const missed = await missedOf(real.rights, isMissed)
  t.diagnostic(`${missed.length} rights`)
  assert.deepEqual(missed.sort(), real.rights.toSorted())
})

async function isMissed(right: string, namespace: string): Promise<boolean> {
  const telling = await tellAll(namespace, without(right))
  try {
    await eventually(
      async () => {
        const refused = (await real.askedIn(namespace)).filter(({ code }) => code === 403)
        assert.ok(refused.some(one => rightOf(one) === right))
      },
      { within: 2 * within, every: 250 },
    )
    return true
  } catch {
    return false
  } finally {
    await telling.stop()
  }
}
