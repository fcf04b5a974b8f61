/**
 * The permissions of the controller on a real API server with RBAC: it works with those of config/rbac, uses all of them, and
 * is denied when one is missing. The servers come from test/rigs/kubernetes/rig.ts.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { installMultus } from '../../test/rigs/cni/rig.ts'
import { type ChangeRules, neededPermissions, permissionOf, without } from '../../test/support/audited-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type RealController, startRealController } from '../../test/support/real-controller.ts'
import { bizConfigs } from '../contract/legacy/biz-config.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { jobs, networkAttachments, nodes } from '../kube/resources.ts'
import { aConfig } from './controller.fixture.ts'
import { agentJobName } from './job.ts'
import { requestedOf } from './plan/requested.ts'

type Harness = Awaited<ReturnType<RealController['install']>>
type Restart = () => Promise<void>

const within = 30_000
let real: RealController

before(async () => {
  real = await startRealController({
    options: ['node_condition', 'node_labels', 'network_attachments'].map(name => `controller_${name}.yaml`),
  })
  await installMultus(real.cp)
})

after(() => real?.close())

const settings = { LEADER_ELECT: 'true', NODE_CONDITION: 'true', NODE_LABELS: 'true' }

/** Together these use every permission. They run separately, so that one denial does not hide another. */
const scenarios: Record<string, (harness: Harness, name: string, restart: Restart) => Promise<unknown>> = {
  async 'is configured, changed and removed'(harness, name) {
    const instanceId = await harness.addNode(name)
    const notReady = { key: 'multinic.io/not-ready', effect: 'NoSchedule' }
    await real.kube.patch(nodes, { name }, { spec: { taints: [notReady] } })
    await harness.addConfig(name, instanceId, { aliases: ['storage'] })
    await harness.finishPod(await harness.endAgent(name))
    await harness.expectConfigured(name)
    await eventually(async () => {
      const { metadata, spec } = (await real.kube.get(nodes, { name })) ?? {}
      assert.equal(metadata?.labels?.['network.multinic.io/storage'], 'ready')
      assert.deepEqual(spec?.taints?.filter(({ key }) => key === notReady.key) ?? [], [])
    }, harness.waits)
    const attachment = async () => {
      const found = await real.kube.get(networkAttachments, { namespace: harness.namespace, name: 'storage' })
      return found && JSON.parse(found.spec?.config ?? '').mtu
    }
    await eventually(async () => assert.equal(await attachment(), 1450), harness.waits)
    await harness.setMtu(name, 1400)
    await eventually(async () => assert.equal(await attachment(), 1400), harness.waits)
    await harness.finishPod(await harness.endAgent(name))
    await eventually(
      async () => assert.equal((await harness.configOf(name))?.status?.observedGeneration, 2),
      harness.waits,
    )
    await real.kube.delete(nodeConfigs, { namespace: harness.namespace, name })
    await harness.finishPod(await harness.endAgent(name))
    await eventually(async () => assert.equal(await harness.configOf(name), undefined), harness.waits)
    await eventually(async () => assert.equal(await attachment(), undefined), harness.waits)
  },
  /** One BizConfig for the whole cluster. */
  async 'is configured by a MultiNicBizConfig'(harness, name) {
    const { kube, namespace } = harness
    const attachedNodeId = await harness.addNode(name)
    const interfaces = [{ macAddress: 'fa:16:3e:00:00:00', address: '192.168.0.10', cidr: '192.168.0.0/24', mtu: 1450 }]
    await kube.create(bizConfigs, {
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicBizConfig',
      metadata: { name, namespace },
      spec: { nodeConfigs: [{ attachedNodeId, interfaces }] },
    })
    await harness.finishPod(await harness.endAgent(name))
    await eventually(async () => {
      const { status } = (await kube.get(bizConfigs, { namespace, name })) ?? {}
      assert.equal(status?.nodeStatuses?.[0]?.state, 'Configured')
    }, harness.waits)
  },
  /** A foreign Job has the name, and the watch does not show it. */
  async 'finds a foreign Job'(harness, name) {
    const { kube, namespace } = harness
    const instanceId = await harness.addNode(name)
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
    const containers = [{ name: 'foreign', image: 'foreign' }]
    const template = { spec: { restartPolicy: 'Never' as const, containers } }
    await kube.create(jobs, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: job, namespace },
      spec: { suspend: true, template },
    })
    await kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations: { 'multinic.io/paused': null } } })
    await eventually(async () => assert.ok((await harness.configOf(name))?.metadata.finalizers?.length), harness.waits)
  },
  /** Its Pod never runs, so the controller lists Events. */
  async 'waits for its Pod'(harness, name) {
    await harness.addConfig(name, await harness.addNode(name))
    const listsEvents = async () =>
      (await real.requestsOf(harness.namespace)).some(one => permissionOf(one) === 'list events')
    await eventually(async () => assert.ok(await listsEvents()), { ...harness.waits, every: 500 })
  },
  /** The same Event is recorded twice, and once more by the next controller. */
  async 'comes and goes'(harness, name, restart) {
    const reason = async (expected: string) =>
      eventually(async () => {
        const { conditions } = (await harness.configOf(name))?.status ?? {}
        assert.equal(conditions?.find(({ type }) => type === 'Ready')?.reason, expected)
      }, harness.waits)
    await harness.addConfig(name, '6f1c2a10-0001-4aaa-8bbb-999999999999')
    for (let round = 0; round < 2; round++) {
      await reason('NodeNotFound')
      await harness.addNode(name)
      await reason('WrongMachine')
      await real.kube.delete(nodes, { name })
    }
    await reason('NodeNotFound')
    await restart()
    await harness.addNode(name)
    await reason('WrongMachine')
    await real.kube.delete(nodes, { name })
    await reason('NodeNotFound')
  },
}

/** Runs all scenarios. `stop` ends them early. */
async function runScenarios(namespace: string, change?: ChangeRules) {
  const abort = new AbortController()
  const { signal } = abort
  const harness = await real.install(namespace, { ...(change && { change }), waits: { within, signal } })
  const env = { ...settings, ATTACHMENT_NAMESPACES: namespace }
  let controller = await harness.startController(env)
  const restart = async () => {
    await controller.stop()
    if (signal.aborted) return
    controller = await harness.startController(env)
    if (signal.aborted) await controller.stop()
  }
  const running = Object.values(scenarios).map((scenario, index) => scenario(harness, `${namespace}-${index}`, restart))
  const ended = Promise.allSettled(running)
  const stop = async () => {
    abort.abort()
    await controller.stop()
    await ended
  }
  return { ended, stop }
}

test('the controller works with its permissions, is never denied, and uses all of them', async () => {
  const run = await runScenarios('whole')
  const results = await run.ended
  await run.stop()
  assert.deepEqual(
    results.flatMap(result => (result.status === 'rejected' ? [String(result.reason)] : [])),
    [],
  )
  await eventually(
    async () => {
      const requests = await real.requestsOf('whole')
      assert.deepEqual([...new Set(requests.filter(({ code }) => code === 403).map(permissionOf))], [])
      // Every account may read discovery, which has no resource.
      const used = requests.filter(({ resource }) => resource !== '').map(permissionOf)
      assert.deepEqual([...new Set(used)].sort(), real.permissions.toSorted())
    },
    { within },
  )
})

test('the controller needs each of its permissions', async t => {
  const needed = await neededPermissions(real.permissions, isNeeded)
  t.diagnostic(`${needed.length} permissions`)
  assert.deepEqual(needed.sort(), real.permissions.toSorted())
})

async function isNeeded(permission: string, namespace: string): Promise<boolean> {
  const run = await runScenarios(namespace, without(permission))
  try {
    await eventually(
      async () => {
        const denied = (await real.requestsOf(namespace)).filter(({ code }) => code === 403)
        assert.ok(denied.some(one => permissionOf(one) === permission))
      },
      { within: 2 * within, every: 250 },
    )
    return true
  } catch {
    return false
  } finally {
    await run.stop()
  }
}
