/** Names of VMs, subnets and networks in the objects that Viola writes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../test/support/viola.ts'
import { crdOf, kinds } from '../contract/crd.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { violaListAnswer } from '../contract/viola.ts'
import { crds } from '../kube/resources.ts'

const namespace = 'multinic-system'
let biz: TargetCluster
let viola: Viola

before(async () => {
  biz = await startTargetCluster()
  viola = await aViola({ KUBECONFIG: biz.api.kubeconfig })
})
after(async () => {
  await viola.close()
  await biz.close()
})

const existing = (name: string) => biz.kube.get(nodeConfigs, { namespace, name })
const actions = (answer: { json: { results: { nodeName: string; action: string }[] } }) =>
  answer.json.results.map(({ nodeName, action }) => `${nodeName} ${action}`)

const named = (nodeName: string, count: number, name: string, alias = 'storage') => {
  const node = aNodeOf(nodeName, count, { instanceName: `vm ${name}` })
  const interfaces = node['interfaces'] as object[]
  const names = { subnetName: name, networkName: `${name}-net`, alias }
  return { ...node, interfaces: interfaces.map(nic => ({ ...nic, ...names })) }
}

test('experience M10: names are stored with the config, and names alone write nothing', async () => {
  await viola.post([named('named', 1, 'storage')])
  const first = await existing('named')
  assert.equal(first?.spec.instanceName, 'vm storage')
  assert.deepEqual(
    first?.spec.interfaces.map(({ subnetName, networkName, alias }) => [subnetName, networkName, alias]),
    [['storage', 'storage-net', 'storage']],
  )
  const [shown] = violaListAnswer.parse((await viola.list('?nodeName=named')).json).items
  assert.equal(shown?.instanceName, 'vm storage')
  assert.equal(shown?.interfaces[0]?.subnetName, 'storage')

  assert.deepEqual(actions(await viola.post([named('named', 1, 'renamed')])), ['named unchanged'])
  assert.equal((await existing('named'))?.metadata.resourceVersion, first?.metadata.resourceVersion)
  assert.deepEqual(actions(await viola.post([named('named', 2, 'renamed')])), ['named updated'])
  assert.equal((await existing('named'))?.spec.interfaces[0]?.subnetName, 'renamed')
})

test('a new alias alone is written, under the same hash: labels and objects of the cluster have it', async () => {
  const written = async (node: object) => {
    const { json } = await viola.post([node])
    return [json.results[0].action, json.results[0].specHash, (await existing('alias'))?.spec.interfaces[0]?.alias]
  }
  const [, hash] = await written(named('alias', 1, 'storage', 'multinic0'))
  assert.deepEqual(await written(named('alias', 1, 'storage', 'disks')), ['updated', hash, 'disks'])
  assert.deepEqual(await written(named('alias', 1, 'renamed', 'disks')), ['unchanged', hash, 'disks'])
  assert.deepEqual(await written(aNodeOf('alias', 1)), ['updated', hash, undefined])
})

test('a cluster whose CRD is older than the names gets the config without them', async () => {
  const older = await startTargetCluster()
  try {
    const crd = JSON.parse(JSON.stringify(crdOf(kinds.find(({ kind }) => kind === 'MultiNicNodeConfig') as never)))
    for (const version of crd.spec.versions) {
      const { spec } = version.schema.openAPIV3Schema.properties
      delete spec.properties.instanceName
      for (const name of ['subnetName', 'networkName', 'alias'])
        delete spec.properties.interfaces.items.properties[name]
    }
    const { resourceVersion } = (await older.kube.get(crds, { name: crd.metadata.name }))?.metadata ?? {}
    await older.kube.replace(crds, { ...crd, metadata: { ...crd.metadata, resourceVersion } })
    const behind = await aViola({ KUBECONFIG: older.api.kubeconfig })
    try {
      const answer = await behind.post([named('old-1', 1, 'storage'), named('old-2', 1, 'storage')])
      assert.deepEqual(actions(answer), ['old-1 created', 'old-2 created'])
      assert.deepEqual(actions(await behind.post([named('old-1', 1, 'storage')])), ['old-1 unchanged'])
      const stored = await older.kube.get(nodeConfigs, { namespace, name: 'old-1' })
      assert.equal(stored?.spec.interfaces.length, 1)
      assert.equal(stored?.spec.instanceName, undefined)
    } finally {
      await behind.close()
    }
  } finally {
    await older.close()
  }
})
