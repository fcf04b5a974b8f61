/** Names of providers, VMs, subnets and networks in the objects that Viola writes. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../test/support/viola.ts'
import { crdOf, kinds } from '../contract/crd.ts'
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
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

const providerNamesIn = ({ json }: { json: unknown }) =>
  violaListAnswer.parse(json).items.map(({ providerName }) => providerName)

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

test('a provider has the name of the routing: answers have the current one, and a new name alone writes nothing', async () => {
  const ROUTING_CONFIG = join(biz.dir, 'routing.yaml')
  const rename = (name: string) =>
    writeFileSync(
      ROUTING_CONFIG,
      JSON.stringify({ targets: [{ providerId: 'p1', name, kubeconfig: biz.api.kubeconfig }] }),
    )
  rename('Seoul 1')
  const routed = await aViola({ ROUTING_CONFIG })
  try {
    await routed.post([aNodeOf('routed')])
    const first = await existing('routed')
    assert.equal(first?.spec.providerName, 'Seoul 1')
    const listed = await routed.list('?nodeName=routed')
    assert.deepEqual(providerNamesIn(listed), ['Seoul 1'])

    rename('Seoul 2')
    assert.deepEqual(actions(await routed.post([aNodeOf('routed')])), ['routed unchanged'])
    assert.equal((await existing('routed'))?.metadata.resourceVersion, first?.metadata.resourceVersion)
    const etag = String(listed.headers['etag'])
    const renamed = await routed.list('?nodeName=routed', { headers: { 'if-none-match': etag } })
    assert.equal(renamed.status, 200, 'a list with another name is another version')
    assert.deepEqual(providerNamesIn(renamed), ['Seoul 2'])
    assert.equal(renamed.json.items[0].specHash, listed.json.items[0].specHash)

    assert.deepEqual(actions(await routed.post([aNodeOf('routed', 2)])), ['routed updated'])
    assert.equal((await existing('routed'))?.spec.providerName, 'Seoul 2')
    rename('')
    assert.deepEqual(providerNamesIn(await routed.list('?nodeName=routed')), [undefined])
  } finally {
    await routed.close()
  }
})

test('without a routing file VIOLA_PROVIDER_NAME is the name of every provider', async () => {
  const KUBECONFIG = biz.api.kubeconfig
  const one = await aViola({ KUBECONFIG, VIOLA_PROVIDER_NAME: 'Seoul 1' })
  try {
    await one.post([aNodeOf('single')])
    assert.equal((await existing('single'))?.spec.providerName, 'Seoul 1')
    assert.deepEqual(providerNamesIn(await one.list('?nodeName=single')), ['Seoul 1'])
  } finally {
    await one.close()
  }
  await assert.rejects(aViola({ KUBECONFIG, VIOLA_PROVIDER_NAME: 'a\u202eb' }), /VIOLA_PROVIDER_NAME: must be one line/)
  await assert.rejects(aViola({ KUBECONFIG, VIOLA_PROVIDER_NAME: 'a'.repeat(256) }), /VIOLA_PROVIDER_NAME: .*255/)
})

/** A cluster whose CRD does not know these fields. */
async function startOlderCluster(specNames: string[], interfaceNames: string[] = []): Promise<TargetCluster> {
  const older = await startTargetCluster()
  const crd = JSON.parse(JSON.stringify(crdOf(kinds.find(({ kind }) => kind === 'MultiNicNodeConfig') as never)))
  for (const version of crd.spec.versions) {
    const { spec } = version.schema.openAPIV3Schema.properties
    for (const name of specNames) delete spec.properties[name]
    for (const name of interfaceNames) delete spec.properties.interfaces.items.properties[name]
  }
  const { resourceVersion } = (await older.kube.get(crds, { name: crd.metadata.name }))?.metadata ?? {}
  await older.kube.replace(crds, { ...crd, metadata: { ...crd.metadata, resourceVersion } })
  return older
}

test('a cluster whose CRD is only older than the names of providers keeps the other names', async () => {
  const older = await startOlderCluster(['providerName'])
  const behind = await aViola({ KUBECONFIG: older.api.kubeconfig, VIOLA_PROVIDER_NAME: 'Seoul 1' })
  try {
    assert.deepEqual(actions(await behind.post([named('old-1', 1, 'storage')])), ['old-1 created'])
    const { spec } = (await older.kube.get(nodeConfigs, { namespace, name: 'old-1' })) ?? assert.fail('no object')
    assert.deepEqual([spec.providerName, spec.instanceName], [undefined, 'vm storage'])
    assert.equal(spec.interfaces[0]?.alias, 'storage')
  } finally {
    await behind.close()
    await older.close()
  }
})

test('a cluster whose CRD is older than the names gets the config without them', async () => {
  const older = await startOlderCluster(['instanceName', 'providerName'], ['subnetName', 'networkName', 'alias'])
  try {
    const behind = await aViola({ KUBECONFIG: older.api.kubeconfig, VIOLA_PROVIDER_NAME: 'Seoul 1' })
    try {
      const answer = await behind.post([named('old-1', 1, 'storage'), named('old-2', 1, 'storage')])
      assert.deepEqual(actions(answer), ['old-1 created', 'old-2 created'])
      assert.deepEqual(actions(await behind.post([named('old-1', 1, 'storage')])), ['old-1 unchanged'])
      const stored = await older.kube.get(nodeConfigs, { namespace, name: 'old-1' })
      assert.equal(stored?.spec.interfaces.length, 1)
      assert.equal(stored?.spec.instanceName, undefined)
      assert.equal(stored?.spec.providerName, undefined)
      assert.deepEqual(providerNamesIn(await behind.list('?nodeName=old-1')), ['Seoul 1'])
    } finally {
      await behind.close()
    }
  } finally {
    await older.close()
  }
})

const withPairs = (nodeName: string, count: number, ...pairs: string[]) => {
  const node = named(nodeName, count, 'storage')
  return { ...node, interfaces: node.interfaces.map(nic => ({ ...nic, allowedAddressPairs: pairs })) }
}
const pairsOf = (config: NodeConfig | undefined) =>
  config?.spec.interfaces.map(({ allowedAddressPairs }) => allowedAddressPairs)

test('allowed address pairs are stored as networks, and a change of them alone is written', async () => {
  assert.deepEqual(actions(await viola.post([withPairs('pairs-1', 1, '10.40.0.7', '10.40.0.7/32')])), [
    'pairs-1 created',
  ])
  assert.deepEqual(pairsOf(await existing('pairs-1')), [['10.40.0.7/32']])
  assert.deepEqual(actions(await viola.post([withPairs('pairs-1', 1, '10.40.0.7/32')])), ['pairs-1 unchanged'])
  assert.deepEqual(actions(await viola.post([withPairs('pairs-1', 1, '10.40.0.0/24')])), ['pairs-1 updated'])
  assert.deepEqual(actions(await viola.post([withPairs('pairs-1', 1)])), ['pairs-1 updated'])
  assert.deepEqual(pairsOf(await existing('pairs-1')), [undefined])
})

test('a cluster whose CRD is older than allowed address pairs gets the config without them, and keeps the names', async () => {
  for (const [missing, expected] of [
    [[], 'storage'],
    [['subnetName', 'networkName', 'alias'], undefined],
  ] as const) {
    const older = await startOlderCluster(missing.length > 0 ? ['instanceName', 'providerName'] : [], [
      'allowedAddressPairs',
      ...missing,
    ])
    const behind = await aViola({ KUBECONFIG: older.api.kubeconfig, VIOLA_PROVIDER_NAME: 'Seoul 1' })
    try {
      const answer = await behind.post([withPairs('old-1', 2, '10.40.0.7'), named('old-2', 1, 'storage')])
      assert.deepEqual(actions(answer), ['old-1 created', 'old-2 created'])
      const stored = await older.kube.get(nodeConfigs, { namespace, name: 'old-1' })
      assert.deepEqual(pairsOf(stored), [undefined, undefined])
      assert.equal(stored?.spec.interfaces[0]?.alias, expected)
      assert.deepEqual(actions(await behind.post([withPairs('old-1', 2, '10.40.0.7')])), ['old-1 unchanged'])
    } finally {
      await behind.close()
      await older.close()
    }
  }
})
