/**
 * The installed chart: all components from our images, as Pods on a real kubelet with their own ServiceAccounts. One port
 * passes through all of them.
 *
 * The rig has no CNI plugin, kube-proxy, DNS or scheduler: the components use the host network, and the test binds their Pods
 * to the node. The cloud is that of the sandbox.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { type Cloud, startCloud } from '../../sandbox/cloud/cloud.ts'
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  type Port,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { installEncryptKey, openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { writeImages } from '../../scripts/images.ts'
import { thisArchitecture } from '../../scripts/oci.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { violaPath } from '../../src/contract/viola.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { pods } from '../../src/kube/resources.ts'
import { silent } from '../../src/telemetry/log.ts'
import { type Helm, openHelm } from '../rigs/helm/rig.ts'
import { type ControlPlane, type RigNode, startControlPlane, startNode } from '../rigs/kubernetes/rig.ts'
import { eventually } from '../support/eventually.ts'

const root = join(import.meta.dirname, '../..')
const chart = join(root, 'deployments/helm')
const within = 180_000
const components = ['controller', 'operator', 'viola'] as const
const inventoryPort = 18081
const violaPort = 8083

let home: string
let helm: Helm
let cp: ControlPlane
let node: RigNode
let kube: KubeClient
let cloudState: CloudState
let cloud: Cloud
let port: Port
let vm: string
const scheduling = new AbortController()

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'multinic-deployed-'))
  helm = await openHelm(home)
  cp = await startControlPlane()
  kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  cloudState = createCloudState()
  cloud = await startCloud(cloudState, silent, new URL(cp.server).hostname)
  const server = addServer(cloudState, 'w1')
  vm = server.id
  const subnet = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 1450 })
  port = addPort(cloudState, { server, subnet, address: '10.10.0.10' })
  const images = join(home, 'images')
  await writeImages({ out: images, architecture: thisArchitecture(), tags: ['deployed'], compress: false })
  node = await startNode(cp, { name: 'w1', uuid: vm, macs: [port.macAddress] })
  await node.exec(join(root, 'scripts/images-load.sh'), [images], { env: { RUNTIME: 'ctr' } })
  void bindPods()
})
after(async () => {
  scheduling.abort()
  await node?.close()
  await kube?.close()
  await cloud?.close()
  await cp?.close()
  await rm(home, { recursive: true, force: true })
})

/** Binds all Pods to the only node, in place of a scheduler. */
async function bindPods(): Promise<void> {
  while (!scheduling.signal.aborted) {
    const { items } = await kube.list(pods, { namespace }).catch(() => ({ items: [] }))
    for (const { metadata } of items.filter(pod => pod.spec?.nodeName === undefined)) {
      const target = { apiVersion: 'v1', kind: 'Node', name: 'w1' }
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: metadata.name }, target }
      const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/binding`
      await kube.raw('POST', path, binding).catch(() => undefined)
    }
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}

/** Waits for an assertion; if it fails, adds the description and logs of our Pods to the error. */
async function soon(check: () => Promise<void>): Promise<void> {
  try {
    await eventually(check, { within, every: 250 })
  } catch (error) {
    const described = await cp.exec('kubectl', ['describe', 'pods', '--namespace', namespace], { check: false })
    const logs = await Promise.all(
      components.map(component => {
        const selector = ['--selector', `app.kubernetes.io/component=${component}`]
        return cp.exec('kubectl', ['logs', '--namespace', namespace, ...selector, '--tail=30'], { check: false })
      }),
    )
    throw new Error(`${error}\n${described.stdout}\n${logs.map(({ stdout }) => stdout).join('\n')}`)
  }
}

/** A token of the account that the chart creates for the command line. */
async function readerToken(): Promise<string> {
  const args = ['create', 'token', 'multinic-reader', '--audience=multinic', '--namespace', namespace]
  return (await cp.exec('kubectl', args)).stdout.trim()
}

async function inventory(path: string): Promise<unknown> {
  const { statusCode, body } = await request(`http://${node.address}:${inventoryPort}${path}`, {
    headers: { authorization: `Bearer ${await readerToken()}` },
    headersTimeout: 10_000,
  })
  assert.equal(statusCode, 200)
  return body.json()
}

test('helm installs all components, and they become ready', async () => {
  const ports = { controller: 8082, operator: 8081, viola: violaPort }
  const values = components.flatMap(component => [
    `${component}.enabled=true`,
    `${component}.hostNetwork=true`,
    `${component}.port=${ports[component]}`,
    `${component}.image.tag=deployed`,
    `${component}.image.pullPolicy=Never`,
  ])
  const settings = [
    'agent.image.tag=deployed',
    'agent.image.pullPolicy=Never',
    `operator.settings.CONTRABASS_ENDPOINT=${cloud.urls.contrabass}`,
    `operator.settings.VIOLA_ENDPOINT=http://127.0.0.1:${ports.viola}`,
  ]
  const set = [...values, ...settings].flatMap(value => ['--set', value])
  const { code, stderr } = await helm(
    ['install', 'multinic-agent', chart, '--namespace', namespace, '--create-namespace', ...set],
    cp.kubeconfig,
  )
  assert.equal(code, 0, stderr)
  await soon(async () => {
    const { stdout } = await cp.exec('kubectl', ['get', 'deployments', '--namespace', namespace, '--no-headers'])
    assert.equal(stdout.match(/ 1\/1 /g)?.length, components.length, stdout)
  })
})

test('an attached port becomes a NIC, and every component reports it', async () => {
  await installEncryptKey(kube, cloudState)
  const config = openstackConfigFor(cloudState, {
    name: 'main',
    vmNames: [vm],
    subnetIDs: [...cloudState.subnets.keys()],
    clusterId: 'here',
  })
  await kube.create(openstackConfigs, config)
  setPortStatus(cloudState, port.id, 'ACTIVE')
  await soon(async () => {
    const found = await kube.get(nodeConfigs, { namespace, name: 'w1' })
    assert.equal(found?.status?.state, 'Configured', JSON.stringify(found?.status))
  })
  const { stdout } = await node.exec('ip', ['-brief', 'address', 'show', 'multinic0'])
  assert.match(stdout, /10\.10\.0\.10\/24/)
  await soon(async () => {
    const record = (await inventory('/v1/inventory/node-configs/w1?providerId=here')) as { state: string }
    assert.equal(record.state, 'Configured')
  })
  await soon(async () => {
    const { status } = (await kube.get(openstackConfigs, { namespace, name: 'main' })) ?? {}
    const ready = status?.conditions?.find(({ type }) => type === 'NodesReady')
    assert.equal(ready?.status, 'True')
  })
})

test('without a token the inventory and Viola serve nobody', async () => {
  for (const [port, path] of [
    [inventoryPort, '/v1/inventory/node-configs'],
    [violaPort, violaPath],
  ] as const) {
    const headers = { 'x-provider-id': 'here' }
    const { statusCode, body } = await request(`http://${node.address}:${port}${path}`, { headers })
    await body.dump()
    assert.equal(statusCode, 401, path)
  }
})

test('the commands reach the inventory through the API server, with a token that may only read', async () => {
  await soon(async () => {
    const { code, stdout, stderr } = await cp.exec(join(root, 'bin/multinic'), ['status'], { check: false })
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /multinic0.*10\.10\.0\.10/)
  })
})

test('the doctor queries every component through the API server', async () => {
  // On a busy machine a late probe makes a component not ready for a moment, and the doctor reports it.
  await soon(async () => {
    const { code, stdout, stderr } = await cp.exec(join(root, 'bin/multinic'), ['doctor'], { check: false })
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /● multinic-agent-controller reports no warning/)
    assert.match(stdout, /● viola-api reports no warning/)
    for (const account of ['multinic-agent', 'multinic-operator', 'viola-api'])
      assert.match(stdout, new RegExp(`● ${account} has all required rights`))
  })
})

test('helm uninstall removes the components, but not the objects and the NIC', async () => {
  const { code, stderr } = await helm(
    ['uninstall', 'multinic-agent', '--namespace', namespace, '--wait'],
    cp.kubeconfig,
  )
  assert.equal(code, 0, stderr)
  assert.ok(await kube.get(nodeConfigs, { namespace, name: 'w1' }))
  assert.ok(await kube.get(openstackConfigs, { namespace, name: 'main' }))
  const { stdout } = await node.exec('ip', ['-brief', 'address', 'show', 'multinic0'])
  assert.match(stdout, /10\.10\.0\.10\/24/)
})
