/**
 * NetworkAttachmentDefinitions, end to end over HTTP (ATTACHMENT_NAMESPACES).
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { networkAttachmentCrd } from '../../../test/rigs/cni/rig.ts'
import { type ControllerCluster, startControllerCluster } from '../../../test/support/controller-cluster.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { nodeConfigs } from '../../contract/node-config.ts'
import { isConflict } from '../../kube/errors.ts'
import { crds, namespaces, networkAttachments } from '../../kube/resources.ts'

let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>
const settings = { ATTACHMENT_NAMESPACES: 'default, apps' }

before(async () => {
  cluster = await startControllerCluster()
  await cluster.kube
    .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } })
    .catch(() => 'exists already')
  controller = await cluster.startController(settings)
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

async function warnings(): Promise<string[]> {
  const answer = await fetch(`${controller.health}/readyz`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { warnings: string[] }).warnings
}

/** `namespace/name type master mtu ipam` of each definition. */
async function definitions(): Promise<string[]> {
  const { items } = await cluster.kube.list(networkAttachments)
  return items.map(({ metadata, spec }) => {
    const { type, master, mtu, ipam = {} } = JSON.parse(spec?.config ?? '{}')
    return [`${metadata.namespace}/${metadata.name}`, type, master, mtu, ipam.type].filter(Boolean).join(' ')
  })
}

const expectDefinitions = (...lines: string[]) =>
  eventually(async () => assert.deepEqual((await definitions()).toSorted(), lines.toSorted()))
const both = ['default/storage ipvlan multinic0 1450', 'apps/storage ipvlan multinic0 1450']
const inDefault = { namespace: 'default', name: 'storage' }

test('without the CRD the controller works and warns, and it goes on when the CRD appears', async () => {
  await cluster.addConfig('w1', await cluster.addNode('w1'), { aliases: ['storage'] })
  await cluster.finishPod(await cluster.endAgent('w1'))
  await cluster.expectConfigured('w1')
  await eventually(async () => assert.match(String(await warnings()), /CRD network-attachment-definitions.* is not in/))
  await cluster.kube.create(crds, networkAttachmentCrd)
  await eventually(async () => assert.deepEqual((await definitions()).toSorted(), both.toSorted()), { within: 20_000 })
  await eventually(async () => assert.deepEqual(await warnings(), []))
})

test('what a user adds to a definition survives a change of the network', async () => {
  const { spec } = (await cluster.kube.get(networkAttachments, inDefault)) ?? {}
  const config = JSON.stringify({ ...JSON.parse(spec?.config ?? '{}'), ipam: { type: 'whereabouts' } })
  await cluster.kube.patch(networkAttachments, inDefault, { spec: { config } })
  await cluster.setMtu('w1', 1400)
  await expectDefinitions('default/storage ipvlan multinic0 1400 whereabouts', 'apps/storage ipvlan multinic0 1400')
})

test('no edit of a user is lost while the controller writes', async () => {
  const current = async () => {
    const { metadata, spec } = (await cluster.kube.get(networkAttachments, inDefault)) ?? {}
    return { version: metadata?.resourceVersion, config: JSON.parse(spec?.config ?? '{}') }
  }
  const edit = async (round: number): Promise<void> => {
    const { version, config } = await current()
    const text = JSON.stringify({ ...config, ipam: { type: 'whereabouts', round } })
    const change = { metadata: { resourceVersion: version }, spec: { config: text } }
    await cluster.kube.patch(networkAttachments, inDefault, change).catch(error => {
      if (isConflict(error)) return edit(round)
      throw error
    })
  }
  for (let round = 0; round < 20; round++) {
    await Promise.all([cluster.setMtu('w1', 1401 + round), edit(round)])
    await eventually(async () => assert.equal((await current()).config.mtu, 1401 + round), { every: 5 })
    assert.equal((await current()).config.ipam.round, round)
  }
  await cluster.setMtu('w1', 1400)
})

test('a namespace that does not exist is reported, and does not stop the others', async () => {
  await controller.stop()
  controller = await cluster.startController({ ATTACHMENT_NAMESPACES: 'missing, apps', ATTACHMENT_PLUGIN: 'macvlan' })
  await eventually(async () =>
    assert.match(String(await warnings()), /cannot create missing\/storage: .*"missing" not found/),
  )
  await eventually(async () => assert.ok((await definitions()).includes('apps/storage macvlan multinic0 1400')))
  await controller.stop()
  controller = await cluster.startController(settings)
})

test('an edit of the master is undone, and a deleted definition comes back', async () => {
  const config = JSON.stringify({ type: 'ipvlan', master: 'eth0', mtu: 1400 })
  await cluster.kube.patch(networkAttachments, inDefault, { spec: { config } })
  await cluster.kube.delete(networkAttachments, { namespace: 'apps', name: 'storage' })
  await expectDefinitions('default/storage ipvlan multinic0 1400', 'apps/storage ipvlan multinic0 1400')
})

test('a definition of somebody else stays, and is reported until it goes', async () => {
  const { apiVersion, kind } = { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition' }
  const key = { namespace: 'apps', name: 'backup' }
  const config = '{"type":"bridge"}'
  await cluster.kube.create(networkAttachments, { apiVersion, kind, metadata: key, spec: { config } })
  await cluster.addConfig('w2', await cluster.addNode('w2'), { aliases: ['backup'] })
  await eventually(async () =>
    assert.match(String(await warnings()), /apps\/backup is not written: a definition without/),
  )
  assert.equal((await cluster.kube.get(networkAttachments, key))?.spec?.config, config)
  await cluster.kube.delete(networkAttachments, key)
  await eventually(async () => assert.deepEqual(await warnings(), []))
  await eventually(async () => assert.ok((await definitions()).includes('apps/backup ipvlan multinic0 1450')))
})

test('a definition goes with the last node of its network, also while no controller runs', async () => {
  await controller.stop()
  await cluster.kube.patch(
    nodeConfigs,
    { namespace: cluster.namespace, name: 'w2' },
    { metadata: { finalizers: null }, spec: { interfaces: [] } },
  )
  controller = await cluster.startController(settings)
  await expectDefinitions('default/storage ipvlan multinic0 1400', 'apps/storage ipvlan multinic0 1400')
})

test('definitions stay where the controller no longer keeps them: in another namespace, and without the setting', async () => {
  const kept = ['default/storage ipvlan multinic0 1400', 'apps/storage macvlan multinic0 1400']
  await controller.stop()
  controller = await cluster.startController({ ATTACHMENT_NAMESPACES: 'apps', ATTACHMENT_PLUGIN: 'macvlan' })
  await expectDefinitions(...kept)
  await controller.stop()
  controller = await cluster.startController()
  await cluster.addConfig('w3', await cluster.addNode('w3'), { aliases: ['extra'] })
  await cluster.finishPod(await cluster.endAgent('w3'))
  await cluster.expectConfigured('w3')
  await expectDefinitions(...kept)
})
