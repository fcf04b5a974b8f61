/**
 * A restore of etcd from a backup, under a running operator and under a running Viola. Both reach their API server through a
 * load balancer that lets nobody in before the server is ready.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { stringify } from 'yaml'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import {
  createConfig,
  installDefinitions,
  installEncryptKey,
  openstackConfigFor,
} from '../../sandbox/lifecycle/install.ts'
import type { NodeConfig } from '../../src/contract/node-config.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import {
  type OpenstackConfig,
  openstackConfigAnnotations,
  openstackConfigs,
} from '../../src/contract/openstack-config.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { secrets } from '../../src/kube/resources.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { runViola } from '../../src/viola/main.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import { eventually } from '../support/eventually.ts'
import { type FrozenProxy, startFrozenProxy } from '../support/frozen-proxy.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from './environment.ts'

/** A component may notice a restore so late. */
const within = 120_000
/** Nothing polls during the test. */
const rarely = { pollFastInterval: '30m', pollSlowInterval: '30m', pollErrorInterval: '1s' }

let lines: string[]
let environment: OperatorEnvironment
let cp: ControlPlane
let proxy: FrozenProxy
let kube: KubeClient
/** Of the load balancer. */
let kubeconfig: string
let workers: Server[]
let subnets: Record<'storage' | 'backup' | 'other', Subnet>

beforeEach(async () => {
  lines = []
  environment = await startOperatorEnvironment(createLog({}, { write: line => void lines.push(line) }))
  cp = await startControlPlane()
  proxy = await startFrozenProxy(cp.server)
  kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  kubeconfig = join(cp.dir, 'load-balancer')
  const config = (await cp.exec('cat', [cp.kubeconfig])).stdout
  await writeFile(kubeconfig, config.replace(cp.server, proxy.url.replace('http:', 'https:')), { mode: 0o600 })
  await installDefinitions(kube)
  const { cloudState } = environment
  subnets = {
    storage: addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 }),
    backup: addSubnet(cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1500 }),
    other: addSubnet(cloudState, { name: 'other', cidr: '10.30.0.0/24', mtu: 1500 }),
  }
  workers = ['worker-1', 'worker-2'].map(name => addServer(cloudState, name))
  for (const server of workers) for (const subnet of Object.values(subnets)) attach(server, subnet)
})
afterEach(async () => {
  await environment?.close()
  await kube?.close()
  await proxy?.close()
  await cp?.close()
})

function attach(server: Server, subnet: Subnet): void {
  setPortStatus(environment.cloudState, addPort(environment.cloudState, { server, subnet }).id, 'ACTIVE')
}

function aConfig(name: string, subnet: Subnet): OpenstackConfig {
  const vmNames = workers.map(one => one.name)
  const made = openstackConfigFor(environment.cloudState, { name, vmNames, subnetIDs: [subnet.id], clusterId })
  return { ...made, spec: { ...made.spec, settings: { ...made.spec.settings, ...rarely } } }
}

async function synced(at: KubeClient, name: string): Promise<OpenstackConfig> {
  return eventually(
    async () => {
      const found = await at.get(openstackConfigs, { namespace, name })
      assert.equal(found?.status?.nodes?.total, workers.length)
      assert.equal(found?.status?.lastError, undefined)
      return found ?? assert.fail()
    },
    { within },
  )
}

/** The names of the interfaces, by subnet. */
function numbersOf(nodes: readonly NodeConfig[]): Record<string, string[]> {
  const nameOf = (id: string | undefined) => Object.values(subnets).find(one => one.id === id)?.name
  return Object.fromEntries(
    nodes.map(({ spec }) => [
      spec.nodeName,
      spec.interfaces.map(nic => `${nic.name} ${nameOf(nic.subnetId)} ${nic.source?.split('/')[1]}`),
    ]),
  )
}

/** A server without traffic has so few versions that it soon has more than before the restore. */
async function restore(): Promise<void> {
  const names = Array.from({ length: 500 }, (_, n) => ({ name: `later-${n}`, namespace: 'default' }))
  await Promise.all(names.map(metadata => kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata })))
  proxy.freeze()
  await cp.restore()
  proxy.thaw()
}

async function waitForRestoreIn(component: string): Promise<void> {
  await eventually(() => assert.ok(lines.some(line => line.includes('was restored from a backup')), component), {
    within,
  })
}

test('etcd of the management cluster is restored: every object is synced, and no NIC goes or changes its number', async t => {
  await installEncryptKey(kube, environment.cloudState)
  const force = (name: string, value: string) =>
    kube.patch(
      openstackConfigs,
      { namespace, name },
      { metadata: { annotations: { [openstackConfigAnnotations.forceReconcile]: value } } },
    )
  await environment.startOperator({ KUBECONFIG: kubeconfig })
  for (const [name, subnet] of [
    ['main', subnets.storage],
    ['deleted', subnets.backup],
  ] as const) {
    await createConfig(kube, aConfig(name, subnet))
    await synced(kube, name)
  }
  const both = ['multinic0 storage main', 'multinic1 backup deleted']
  await eventually(async () =>
    assert.deepEqual(numbersOf(await environment.nodes()), { 'worker-1': both, 'worker-2': both }),
  )
  // An edit of the status wakes nobody.
  await kube.patchStatus(openstackConfigs, { namespace, name: 'main' }, { lastError: 'Old: of the backup' })
  await cp.backUp()

  const [worker] = workers as [Server]
  attach(worker, subnets.storage)
  await force('main', 'today')
  await eventually(async () => assert.equal((await environment.nodes())[0]?.spec.interfaces.length, 3), { within })
  await createConfig(kube, aConfig('later', subnets.other))
  await synced(kube, 'later')
  await kube.delete(openstackConfigs, { namespace, name: 'deleted' })
  const left = {
    'worker-1': ['multinic0 storage main', 'multinic2 storage main', 'multinic3 other later'],
    'worker-2': ['multinic0 storage main', 'multinic2 other later'],
  }
  await eventually(async () => assert.deepEqual(numbersOf(await environment.nodes()), left), { within })
  await restore()
  const restoredAt = performance.now()
  await waitForRestoreIn('operator')
  const { status } = await synced(kube, 'main')
  t.diagnostic(`synced ${((performance.now() - restoredAt) / 1_000).toFixed(0)} s after the restore`)
  assert.deepEqual(status?.heldRemovals, undefined)
  await synced(kube, 'deleted')
  assert.equal(await kube.get(openstackConfigs, { namespace, name: 'later' }), undefined)
  await eventually(async () =>
    assert.deepEqual(numbersOf(await environment.nodes()), {
      'worker-1': ['multinic0 storage main', 'multinic1 backup deleted', ...left['worker-1'].slice(1)],
      'worker-2': ['multinic0 storage main', 'multinic1 backup deleted', ...left['worker-2'].slice(1)],
    }),
  )
})

test('etcd of a Biz cluster is restored: Viola serves what it has, and the operator delivers what it lacks', async t => {
  const viola = await startViola()
  await environment.startOperator({ VIOLA_ENDPOINT: viola.url })
  await environment.create({ name: 'main', subnetIDs: [subnets.storage.id], settings: rarely })
  await synced(environment.kube, 'main')
  await cp.backUp()
  await environment.create({ name: 'later', subnetIDs: [subnets.other.id], settings: rarely })
  await synced(environment.kube, 'later')
  const nodes = async () => numbersOf((await kube.list(nodeConfigs, { namespace })).items)
  const delivered = await nodes()
  await restore()
  const restoredAt = performance.now()
  assert.notDeepEqual(await nodes(), delivered)
  await eventually(async () => assert.deepEqual(await nodes(), delivered), { within })
  t.diagnostic(`delivered ${((performance.now() - restoredAt) / 1_000).toFixed(0)} s after the restore`)
  await viola.stop()
})

async function startViola() {
  const routing = join(cp.dir, 'routing.yaml')
  const targets = [{ providerId: clusterId, namespace, kubeconfig }]
  await writeFile(routing, stringify({ strict: true, targets }), { mode: 0o600 })
  const stop = new AbortController()
  const listening = Promise.withResolvers<string>()
  const runs = runViola({
    env: {
      LISTEN_ADDR: '127.0.0.1:0',
      KUBECONFIG: kubeconfig,
      ROUTING_CONFIG: routing,
      VIOLA_TOKENS_FILE: environment.caller.tokensFile,
    },
    log: createLog({ component: 'viola' }, { write: line => void lines.push(line) }),
    signal: stop.signal,
    onListen: listening.resolve,
  })
  runs.catch(listening.reject)
  return {
    url: await listening.promise,
    async stop() {
      stop.abort()
      await runs
    },
  }
}
