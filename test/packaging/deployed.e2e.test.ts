/**
 * The installed chart: one port passes through all components, and helm uninstall leaves the NIC.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { violaPath } from '../../src/contract/viola.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import type { Helm } from '../rigs/helm/rig.ts'
import type { ControlPlane, RigNode } from '../rigs/kubernetes/rig.ts'
import { chart, type Deployed, ports, release, root, startDeployed, tag } from './deployed.fixture.ts'

let deployed: Deployed
let cp: ControlPlane
let node: RigNode
let kube: KubeClient
let helm: Helm

before(async () => {
  deployed = await startDeployed()
  cp = deployed.cp
  node = deployed.node
  kube = deployed.kube
  helm = deployed.helm
})
after(() => deployed?.close())

/** A token of the account that the chart creates for the command line. */
async function readerToken(): Promise<string> {
  const args = ['create', 'token', 'multinic-reader', '--audience=multinic', '--namespace', namespace]
  return (await cp.exec('kubectl', args)).stdout.trim()
}

async function inventory(path: string): Promise<unknown> {
  const { statusCode, body } = await request(`http://${node.address}:${ports.inventory}${path}`, {
    headers: { authorization: `Bearer ${await readerToken()}` },
    headersTimeout: 10_000,
  })
  assert.equal(statusCode, 200)
  return body.json()
}

test('helm installs all components, and they become ready', async () => {
  await deployed.deploy(['install', release, chart, '--create-namespace', ...deployed.values(tag)])
})

test('an attached port becomes a NIC, and every component reports it', async () => {
  await deployed.configureNic()
  await deployed.soon(async () => {
    const record = (await inventory('/v1/inventory/node-configs/w1?providerId=here')) as { state: string }
    assert.equal(record.state, 'Configured')
  })
  await deployed.soon(async () => {
    const { status } = (await kube.get(openstackConfigs, { namespace, name: 'main' })) ?? {}
    const ready = status?.conditions?.find(({ type }) => type === 'NodesReady')
    assert.equal(ready?.status, 'True')
  })
})

test('without a token the inventory and Viola serve nobody', async () => {
  for (const [port, path] of [
    [ports.inventory, '/v1/inventory/node-configs'],
    [ports.viola, violaPath],
  ] as const) {
    const headers = { 'x-provider-id': 'here' }
    const { statusCode, body } = await request(`http://${node.address}:${port}${path}`, { headers })
    await body.dump()
    assert.equal(statusCode, 401, path)
  }
})

async function assertStatus(): Promise<void> {
  const { code, stdout, stderr } = await cp.exec(join(root, 'bin/multinic'), ['status'], { check: false })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /multinic0.*10\.10\.0\.10/)
}

test('the commands reach the inventory through the API server, with a token that may only read', () =>
  deployed.soon(assertStatus))

test('the doctor queries every component through the API server', async () => {
  // On a busy machine a late probe makes a component not ready for a moment, and the doctor reports it.
  await deployed.soon(async () => {
    const { code, stdout, stderr } = await cp.exec(join(root, 'bin/multinic'), ['doctor'], { check: false })
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /● multinic-agent-controller reports no warning/)
    assert.match(stdout, /● viola-api reports no warning/)
    for (const account of ['multinic-agent', 'multinic-operator', 'viola-api'])
      assert.match(stdout, new RegExp(`● ${account} has all required rights`))
  })
})

test('the inventory in the operator serves HTTPS as soon as the chart names a Secret, and the commands verify it', async () => {
  const { cert, key } = await cp.authority.issue('inventory', '/CN=inventory', {
    subjectAltName: `DNS:multinic-inventory.${namespace}`,
    extendedKeyUsage: 'serverAuth',
  })
  const files = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': cp.authority.cert }
  const from = Object.entries(files).map(([name, file]) => `--from-file=${name}=${file}`)
  await cp.exec('kubectl', ['create', 'secret', 'generic', 'inventory-tls', '--namespace', namespace, ...from])
  await deployed.deploy([
    ...['upgrade', release, chart, ...deployed.values(tag)],
    ...['--set', 'inventory.tlsSecret=inventory-tls'],
  ])
  // The embedded database of the former Pod is lost, so that the next sync writes the record again.
  await deployed.soon(assertStatus)
  await assert.rejects(inventory('/v1/inventory/node-configs'), /other side closed|ECONNRESET/)
})

test('helm uninstall removes the components, but not the objects and the NIC', async () => {
  const { code, stderr } = await helm(['uninstall', release, '--namespace', namespace, '--wait'], cp.kubeconfig)
  assert.equal(code, 0, stderr)
  assert.ok(await kube.get(nodeConfigs, { namespace, name: 'w1' }))
  assert.ok(await kube.get(openstackConfigs, { namespace, name: 'main' }))
  const { stdout } = await node.exec('ip', ['-brief', 'address', 'show', 'multinic0'])
  assert.match(stdout, /10\.10\.0\.10\/24/)
})
