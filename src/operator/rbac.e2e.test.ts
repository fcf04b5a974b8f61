/**
 * The rights of the operator on a real API server with RBAC: it works with what config/rbac gives it, uses all of it, and
 * asks in vain for each right that is taken away. The real parts are of test/rigs/kubernetes/rig.ts.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Cloud, startCloud } from '../../sandbox/cloud/cloud.ts'
import { addPort, addServer, addSubnet, createCloudState, setPortStatus } from '../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import type { Answering } from '../../test/openstack/stub-server.ts'
import { startPostOnlyViola, startTellingViola } from '../../test/operator/viola-stubs.ts'
import {
  type AuditedCluster,
  type AuditedRequest,
  neededPermissions,
  permissionOf,
  startAuditedCluster,
  without,
} from '../../test/support/audited-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import type { Settings } from '../contract/settings.ts'
import { events, secrets } from '../kube/resources.ts'
import { silent } from '../telemetry/log.ts'
import { wellKnownSecret } from './credentials.ts'
import { runOperator } from './main.ts'

const within = 40_000
const world = createCloudState()
let cluster: AuditedCluster
let cloud: Cloud
let viola: Answering
let foreign: Answering

before(async () => {
  const server = addServer(world, 'worker-1')
  const subnet = addSubnet(world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  setPortStatus(world, addPort(world, { server, subnet }).id, 'ACTIVE')
  world.bus = { urls: ['amqp://127.0.0.1:9'], user: 'openstack', password: 'bus-password' }
  cloud = await startCloud(world, silent)
  viola = await startTellingViola()
  foreign = await startPostOnlyViola()
  cluster = await startAuditedCluster({
    file: 'operator_role.yaml',
    namespace: 'multinic-operator-system',
    account: 'multinic-operator',
  })
})

after(async () => {
  await cluster?.close()
  await cloud?.close()
  for (const stand of [viola, foreign]) await stand?.[Symbol.asyncDispose]()
})

interface Stage {
  namespace: string
  create(name: string, spec?: { subnetName?: string; settings?: Settings }): Promise<unknown>
  ready(name: string, expected: RegExp): Promise<void>
  remove(name: string): Promise<void>
  /** The operator ends, and another one takes its place. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** A namespace with its objects and an operator of its own, which sees no other. */
async function install(namespace: string, change = without('')): Promise<Stage> {
  const { kube } = cluster
  const kubeconfig = await cluster.installRbac(namespace, { change })
  const key = Buffer.from(world.provider.encryptKey).toString('base64')
  await kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: wellKnownSecret.name, namespace },
    data: { [wellKnownSecret.key]: key },
  })
  const start = () => {
    const end = new AbortController()
    const env = {
      KUBECONFIG: kubeconfig,
      OPERATOR_ADDR: '127.0.0.1:0',
      POD_NAMESPACE: namespace,
      WATCH_NAMESPACES: namespace,
      LEADER_ELECT: 'true',
      RABBITMQ_EVENTS_ENABLED: 'false',
      CONTRABASS_ENDPOINT: cloud.urls.contrabass,
      VIOLA_ENDPOINT: viola.url,
    }
    // Without a right it may not even start: that is then told by the audit log.
    const ended = runOperator({ env, log: silent, signal: end.signal }).catch(() => {})
    return async () => {
      end.abort()
      await ended
    }
  }
  let end = start()
  let over = false
  const at = (name: string) => ({ namespace, name })
  const config = (name: string) => kube.get(openstackConfigs, at(name))
  return {
    namespace,
    async create(name, { subnetName, settings } = {}) {
      const clusterId = `${namespace}-${name}`
      const made = openstackConfigFor(world, { name, vmNames: [...world.servers.keys()], subnetIDs: [], clusterId })
      const fast = { pollFastInterval: '200ms', pollSlowInterval: '200ms', pollErrorInterval: '200ms' }
      const { subnetIDs: _, ...spec } = made.spec
      await kube.create(openstackConfigs, {
        ...made,
        metadata: { name, namespace },
        spec: { ...spec, subnetName: subnetName ?? 'storage', settings: { ...spec.settings, ...fast, ...settings } },
      })
    },
    async ready(name, expected) {
      await eventually(
        async () => {
          const ready = (await config(name))?.status?.conditions?.find(one => one.type === 'Ready')
          assert.match(`${ready?.status} ${ready?.reason}`, expected)
        },
        { within, every: 100 },
      )
    },
    async remove(name) {
      await kube.delete(openstackConfigs, at(name))
      await eventually(async () => assert.equal(await config(name), undefined), { within, every: 100 })
    },
    async restart() {
      await end()
      if (!over) end = start()
    },
    async stop() {
      over = true
      await end()
    },
  }
}

/** All that the operator ever asks for, told apart so that one refusal does not hide another. */
const stories: Record<string, (stage: Stage) => Promise<unknown>> = {
  async 'a port is delivered and taken away, and the bus is put into a Secret'(stage) {
    await stage.create('main')
    await stage.ready('main', /^True/)
    const at = { namespace: stage.namespace, name: 'rabbitmq-main' }
    await eventually(async () => assert.ok(await cluster.kube.get(secrets, at)), { within })
    await stage.remove('main')
  },
  async 'a Viola with only the POST is kept books for'(stage) {
    await stage.create('foreign', { settings: { violaEndpoint: foreign.url } })
    await stage.ready('foreign', /^True/)
    await stage.remove('foreign')
  },
  /** The same is said twice, and once more by the next operator. */
  async 'a mistake comes and goes'(stage) {
    const choose = (subnetName: string) =>
      cluster.kube.patch(openstackConfigs, { namespace: stage.namespace, name: 'told' }, { spec: { subnetName } })
    const said = (count: number) =>
      eventually(
        async () => {
          const { items } = await cluster.kube.list(events, { namespace: stage.namespace })
          assert.ok((items.find(({ reason }) => reason === 'SubnetNotFound')?.count ?? 0) >= count)
        },
        { within, every: 250 },
      )
    await stage.create('told', { subnetName: 'nowhere' })
    await stage.ready('told', /^False SubnetNotFound/)
    await choose('storage')
    await stage.ready('told', /^True/)
    await choose('nowhere')
    await said(2)
    await stage.restart()
    await said(3)
  },
}

/** An operator that tells all stories, and may be stopped in the middle of them. */
function tellAll(stage: Stage): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled(Object.values(stories).map(story => story(stage)))
}

/** An apply that creates needs both rights; the log has it as a patch. */
function rightsUsed(asked: readonly AuditedRequest[]): Set<string> {
  const created = asked.filter(({ verb, code }) => verb === 'patch' && code === 201)
  return new Set([
    ...asked.map(permissionOf),
    ...created.map(({ resource }) => permissionOf({ verb: 'create', resource })),
  ])
}

test('the operator works with its rights, is never refused, and uses every one of them', async () => {
  const stage = await install('whole')
  const results = await tellAll(stage)
  await stage.stop()
  assert.deepEqual(
    results.flatMap(result => (result.status === 'rejected' ? [String(result.reason)] : [])),
    [],
  )
  await eventually(
    async () => {
      const asked = await cluster.requestsOf('whole')
      assert.deepEqual([...new Set(asked.filter(({ code }) => code === 403).map(permissionOf))], [])
      assert.deepEqual([...rightsUsed(asked)].sort(), cluster.permissions.toSorted())
    },
    { within: 10_000, every: 250 },
  )
})

test('each right that is taken away is missed', async t => {
  const missed = await neededPermissions(cluster.permissions, isMissed)
  t.diagnostic(`${missed.length} rights`)
  assert.deepEqual(missed.sort(), cluster.permissions.toSorted())
})

async function isMissed(right: string, namespace: string): Promise<boolean> {
  const stage = await install(namespace, without(right))
  void tellAll(stage)
  // An apply that may not create is refused as a patch.
  const signs = [right, right.replace(/^create (secrets|configmaps)$/, 'patch $1')]
  try {
    await eventually(
      async () => {
        const refused = (await cluster.requestsOf(namespace)).filter(({ code }) => code === 403)
        assert.ok(refused.some(one => signs.includes(permissionOf(one))))
      },
      { within, every: 250 },
    )
    return true
  } catch {
    return false
  } finally {
    await stage.stop()
  }
}
