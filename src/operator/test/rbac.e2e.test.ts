/**
 * The rights of the operator on a real API server with RBAC: the rights in config/rbac are sufficient, and each is needed.
 * test/rigs/kubernetes/rig.ts starts the API server.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Cloud, startCloud } from '../../../sandbox/cloud/cloud.ts'
import { addPort, addServer, addSubnet, createCloudState, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../../sandbox/lifecycle/install.ts'
import type { StubServer } from '../../../test/openstack/stub-server.ts'
import { startPostOnlyViolaStub, startViolaStub } from '../../../test/operator/viola-stubs.ts'
import {
  type AuditedCluster,
  type AuditedRequest,
  neededPermissions,
  permissionOf,
  startAuditedCluster,
  without,
} from '../../../test/support/audited-cluster.ts'
import { eventually, type WaitOptions } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import type { Settings } from '../../contract/settings.ts'
import { events, secrets } from '../../kube/resources.ts'
import { silent } from '../../telemetry/log.ts'
import { wellKnownSecret } from '../clouds/credentials.ts'
import { runOperator } from '../main.ts'

const within = 40_000
const cloudState = createCloudState()
let cluster: AuditedCluster
let cloud: Cloud
let viola: StubServer
let postOnly: StubServer

before(async () => {
  const server = addServer(cloudState, 'worker-1')
  const subnet = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  setPortStatus(cloudState, addPort(cloudState, { server, subnet }).id, 'ACTIVE')
  cloudState.bus = { urls: ['amqp://127.0.0.1:9'], user: 'openstack', password: 'bus-password' }
  cloud = await startCloud(cloudState, silent)
  viola = await startViolaStub()
  postOnly = await startPostOnlyViolaStub()
  cluster = await startAuditedCluster({
    files: ['operator_role.yaml', 'operator_secrets_role.yaml'],
    account: 'multinic-operator',
  })
})

after(async () => {
  await cluster?.close()
  await cloud?.close()
  for (const stub of [viola, postOnly]) await stub?.[Symbol.asyncDispose]()
})

interface Installation {
  namespace: string
  /** Until the installation is stopped. */
  waiting: WaitOptions
  create(name: string, spec?: { subnetName?: string; settings?: Settings }): Promise<unknown>
  ready(name: string, expected: RegExp): Promise<void>
  remove(name: string): Promise<void>
  /** Stops the operator and starts another one. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** A namespace with its own operator, which watches no other namespace. */
async function install(namespace: string, change = without('')): Promise<Installation> {
  const { kube } = cluster
  const kubeconfig = await cluster.installRbac(namespace, { change })
  const key = Buffer.from(cloudState.provider.encryptKey).toString('base64')
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
    // Without a right it may fail to start. The audit log shows that.
    const ended = runOperator({ env, log: silent, signal: end.signal }).catch(() => {})
    return async () => {
      end.abort()
      await ended
    }
  }
  let end = start()
  const over = new AbortController()
  const waiting = { within, every: 100, signal: over.signal }
  const at = (name: string) => ({ namespace, name })
  const config = (name: string) => kube.get(openstackConfigs, at(name))
  return {
    namespace,
    waiting,
    async create(name, { subnetName, settings } = {}) {
      const clusterId = `${namespace}-${name}`
      const made = openstackConfigFor(cloudState, {
        name,
        vmNames: [...cloudState.servers.keys()],
        subnetIDs: [],
        clusterId,
      })
      const fast = { pollFastInterval: '200ms', pollSlowInterval: '200ms', pollErrorInterval: '200ms' }
      const { subnetIDs: _, ...spec } = made.spec
      await kube.create(openstackConfigs, {
        ...made,
        metadata: { name, namespace },
        spec: { ...spec, subnetName: subnetName ?? 'storage', settings: { ...spec.settings, ...fast, ...settings } },
      })
    },
    async ready(name, expected) {
      await eventually(async () => {
        const ready = (await config(name))?.status?.conditions?.find(one => one.type === 'Ready')
        assert.match(`${ready?.status} ${ready?.reason}`, expected)
      }, waiting)
    },
    async remove(name) {
      await kube.delete(openstackConfigs, at(name))
      await eventually(async () => assert.equal(await config(name), undefined), waiting)
    },
    async restart() {
      await end()
      if (!over.signal.aborted) end = start()
    },
    async stop() {
      over.abort()
      await end()
    },
  }
}

/** Together they use all rights. They are separate so that one refusal does not hide another. */
const scenarios: Record<string, (installation: Installation) => Promise<unknown>> = {
  async 'deliver and remove a port, and write the Secret of the bus'(installation) {
    await installation.create('main')
    await installation.ready('main', /^True/)
    const at = { namespace: installation.namespace, name: 'rabbitmq-main' }
    await eventually(async () => assert.ok(await cluster.kube.get(secrets, at)), installation.waiting)
    await installation.remove('main')
  },
  async 'store deliveries for a Viola with only POST'(installation) {
    await installation.create('post-only', { settings: { violaEndpoint: postOnly.url } })
    await installation.ready('post-only', /^True/)
    await installation.remove('post-only')
  },
  /** The same Event is recorded twice, and once more by the next operator. */
  async 'record Events of an error that returns'(installation) {
    const select = (subnetName: string) =>
      cluster.kube.patch(
        openstackConfigs,
        { namespace: installation.namespace, name: 'errors' },
        { spec: { subnetName } },
      )
    const waitForEvents = (count: number) =>
      eventually(async () => {
        const { items } = await cluster.kube.list(events, { namespace: installation.namespace })
        assert.ok((items.find(({ reason }) => reason === 'SubnetNotFound')?.count ?? 0) >= count)
      }, installation.waiting)
    await installation.create('errors', { subnetName: 'nowhere' })
    await installation.ready('errors', /^False SubnetNotFound/)
    await select('storage')
    await installation.ready('errors', /^True/)
    await select('nowhere')
    await waitForEvents(2)
    await installation.restart()
    await waitForEvents(3)
  },
}

/** Runs all scenarios. The operator may be stopped meanwhile. */
function runAll(installation: Installation): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled(Object.values(scenarios).map(scenario => scenario(installation)))
}

/**
 * An apply that creates an object needs both rights. The audit log shows it as a patch. Every account may read discovery, which
 * has no resource.
 */
function rightsUsed(all: readonly AuditedRequest[]): Set<string> {
  const requests = all.filter(({ resource }) => resource !== '')
  const created = requests.filter(({ verb, code }) => verb === 'patch' && code === 201)
  return new Set([
    ...requests.map(permissionOf),
    ...created.map(({ resource }) => permissionOf({ verb: 'create', resource })),
  ])
}

test('the rights of the operator are sufficient, and it uses all of them', async () => {
  const installation = await install('whole')
  const results = await runAll(installation)
  await installation.stop()
  assert.deepEqual(
    results.flatMap(result => (result.status === 'rejected' ? [String(result.reason)] : [])),
    [],
  )
  await eventually(
    async () => {
      const requests = await cluster.requestsOf('whole')
      assert.deepEqual([...new Set(requests.filter(({ code }) => code === 403).map(permissionOf))], [])
      assert.deepEqual([...rightsUsed(requests)].sort(), cluster.permissions.toSorted())
    },
    { within: 10_000, every: 250 },
  )
})

test('each right of the operator is needed', async t => {
  const missed = await neededPermissions(cluster.permissions, isMissed)
  t.diagnostic(`${missed.length} rights`)
  assert.deepEqual(missed.sort(), cluster.permissions.toSorted())
})

async function isMissed(right: string, namespace: string): Promise<boolean> {
  const installation = await install(namespace, without(right))
  const ended = runAll(installation)
  // An apply without the right to create is refused as a patch.
  const signs = [right, right.replace('create configmaps', 'patch configmaps')]
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
    await installation.stop()
    await ended
  }
}
