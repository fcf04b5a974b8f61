/**
 * The way out of the older document, as one story: a MultiNicBizConfig gives three nodes their NICs, they are migrated and
 * given back under running pings, and what is wrong is told. The same on the sandbox and on real servers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BizConfig, type BizNode, bizConfigs } from '../../src/contract/legacy/biz-config.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { jobs } from '../../src/kube/resources.ts'
import { type Ran, runner } from '../support/cli.ts'
import { eventually } from '../support/eventually.ts'
import { type Ping, startPing } from './ping.ts'

export interface MigratingNode {
  name: string
  /** Its SystemUUID. */
  id: string
  netns: string
  nics: { macAddress: string; portId: string; address: string; cidr: string; gateway: string; mtu: number }[]
}

export interface MigrationStage {
  kube: KubeClient
  kubeconfig: string
  namespace: string
  nodes: MigratingNode[]
  /** All of a node that anybody could have changed. */
  stateOf(node: string): Promise<unknown>
  /** Whether the server refuses what a policy forbids. */
  hasPolicies: boolean
}

const within = 90_000
const name = 'production'

export function migrates(stage: () => MigrationStage): void {
  const key = () => ({ namespace: stage().namespace, name })
  const multinic = (...words: string[]): Promise<Ran> => runner({ KUBECONFIG: stage().kubeconfig })('migrate', ...words)
  const biz = async (of = name): Promise<BizConfig> =>
    (await stage().kube.get(bizConfigs, { ...key(), name: of })) ?? assert.fail(`${of} is gone`)
  const states = () => Promise.all(stage().nodes.map(node => stage().stateOf(node.name)))

  /** `state reason` of each node. */
  const whenTold = (of: string, ...lines: string[]) =>
    eventually(
      async () => {
        const told = (await biz(of)).status?.nodeStatuses ?? []
        assert.deepEqual(
          told.map(({ state, reason }) => [state, reason].filter(Boolean).join(' ')),
          lines,
          JSON.stringify(told),
        )
      },
      { within, every: 100 },
    )

  async function create(of: string, nodes: BizNode[]): Promise<void> {
    await stage().kube.create(bizConfigs, {
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicBizConfig',
      metadata: { ...key(), name: of },
      spec: { providerId: 'biz-1', nodeConfigs: nodes },
    })
  }

  const entryOf = ({ id, name: attachedNodeName, nics }: MigratingNode): BizNode => ({
    attachedNodeId: id,
    attachedNodeName,
    interfaces: nics.map(({ gateway: _, ...nic }) => nic),
  })

  /** Jobs by their uid, and what each was for. */
  async function actions(): Promise<Map<string, string>> {
    const { items } = await stage().kube.list(jobs, { namespace: stage().namespace })
    return new Map(
      items.map(({ metadata }) => [metadata.uid ?? '', metadata.labels?.['multinic.io/action'] ?? 'of nobody']),
    )
  }

  /** Pings through every NIC while something is done: not one packet may be lost, and no agent may change anything. */
  async function untouched(what: () => Promise<void>, expected: string[]): Promise<void> {
    const [before, known] = [await states(), await actions()]
    const pings: Ping[] = []
    for (const { netns, nics } of stage().nodes)
      for (const { address, gateway } of nics) pings.push(await startPing(netns, address, gateway))
    const counts: Awaited<ReturnType<Ping['stop']>>[] = []
    try {
      await what()
    } finally {
      for (const ping of pings) counts.push(await ping.stop())
    }
    for (const { sent, received } of counts) {
      assert.ok(sent > 10, 'the ping was not long enough to tell anything')
      assert.equal(received, sent, 'packets were lost')
    }
    assert.deepEqual(await states(), before)
    const made = [...(await actions())].filter(([uid]) => !known.has(uid)).map(([, action]) => action)
    assert.deepEqual(made, expected)
  }

  test('a BizConfig gives three nodes their NICs', async () => {
    await create(name, stage().nodes.map(entryOf))
    await whenTold(name, 'Configured', 'Configured', 'Configured')
    const { status } = await biz()
    assert.deepEqual(status?.summary, { totalNodes: 3, configuredNodes: 3, failedNodes: 0, pendingNodes: 0 })
    for (const [index, node] of stage().nodes.entries())
      assert.deepEqual(
        status?.nodeStatuses?.[index]?.numbers,
        node.nics.map(({ macAddress }, number) => `${number} ${macAddress}`),
      )
  })

  test('they are migrated under running pings: nothing is lost, nothing is changed, names and numbers are equal', async () => {
    await untouched(async () => {
      const { code, notes, error } = await multinic('apply')
      assert.equal(code, 0, `${error}${notes.join('\n')}`)
    }, ['check', 'check', 'check'])
    assert.equal((await multinic('verify')).code, 0)
    await whenTold(name, ...stage().nodes.map(() => 'Configured OwnedByNodeConfig'))
    for (const { name: node, nics } of stage().nodes) {
      const config = await stage().kube.get(nodeConfigs, { ...key(), name: node })
      assert.deepEqual(
        config?.spec.interfaces.map(nic => `${nic.name} ${nic.macAddress}`),
        nics.map(({ macAddress }, number) => `multinic${number} ${macAddress}`),
      )
    }
  })

  test('a document that is read-only cannot be changed, or the change is ignored', async () => {
    const { code, error } = await multinic('apply', '--phase', '2')
    assert.equal(code, 0, error)
    const { nodeConfigs: nodes } = (await biz()).spec
    if (stage().hasPolicies) {
      // The server takes a moment to know a new policy; until then a hint is changed, which harms nobody.
      let tries = 0
      const change = () => stage().kube.patch(bizConfigs, key(), { spec: { specHash: `${++tries}` } })
      await eventually(() => assert.rejects(change, /was migrated and is read-only/), { within, every: 500 })
      return
    }
    await stage().kube.patch(bizConfigs, key(), { spec: { nodeConfigs: nodes.slice(1) } })
    await eventually(
      async () => {
        const said = (await biz()).status?.conditions?.find(({ type }) => type === 'ReadOnly')
        assert.equal(`${said?.status} ${said?.message}`, 'True a change to 1 node is ignored')
      },
      { within },
    )
    await stage().kube.patch(bizConfigs, key(), { spec: { nodeConfigs: nodes } })
  })

  test('they are given back under running pings, and again nothing is lost or changed', async () => {
    await untouched(async () => {
      const { code, notes, error } = await multinic('rollback')
      assert.equal(code, 0, `${error}${notes.join('\n')}`)
    }, ['check', 'check', 'check'])
    await whenTold(name, 'Configured', 'Configured', 'Configured')
    assert.deepEqual((await stage().kube.list(nodeConfigs, { namespace: stage().namespace })).items, [])
  })

  test('a node with both has one owner, the MultiNicNodeConfig; the document is told, and its edit of the node waits', async () => {
    const [first] = stage().nodes
    assert.ok(first)
    const metadata = { ...key(), name: first.name }
    await stage().kube.create(nodeConfigs, {
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicNodeConfig',
      metadata,
      spec: {
        nodeName: first.name,
        instanceId: first.id,
        interfaces: first.nics.map(({ gateway: _, ...nic }, id) => ({ ...nic, id, name: `multinic${id}`, mtu: 1400 })),
      },
    })
    await whenTold(name, 'Configured OwnedByNodeConfig', 'Configured', 'Configured')
    const owned = await stage().stateOf(first.name)
    const known = (await actions()).size
    const edited = stage().nodes.map(entryOf)
    for (const nic of edited[0]?.interfaces ?? []) nic.mtu = 1300
    await stage().kube.patch(bizConfigs, key(), { spec: { nodeConfigs: edited } })
    await eventually(
      async () => assert.equal((await biz()).status?.observedGeneration, (await biz()).metadata.generation),
      {
        within,
      },
    )
    assert.deepEqual(await stage().stateOf(first.name), owned)
    assert.equal((await actions()).size, known, 'an agent was sent')
    const planned = await multinic('plan')
    assert.equal(planned.code, 1)
    assert.match(planned.out, new RegExp(`! ${first.name} {2}has a MultiNicNodeConfig with another request`))
    await stage().kube.patch(bizConfigs, key(), { spec: { nodeConfigs: stage().nodes.map(entryOf) } })
  })

  test('a node that comes back with other values than its document asks for is told, and left as it is', async () => {
    const [first] = stage().nodes
    assert.ok(first)
    const before = await stage().stateOf(first.name)
    await stage().kube.delete(nodeConfigs, { ...key(), name: first.name })
    await whenTold(name, 'Failed Drifted', 'Configured', 'Configured')
    assert.deepEqual(await stage().stateOf(first.name), before)
    await stage().kube.patch(bizConfigs, key(), { metadata: { annotations: { 'multinic.io/retry': 'now' } } })
    await whenTold(name, 'Configured', 'Configured', 'Configured')
  })

  test('a wrong attachedNodeId is told, and no node is touched', async () => {
    const before = await states()
    const known = (await actions()).size
    const [first, second] = stage().nodes
    assert.ok(first && second)
    const strange = '6f1c2a10-ffff-4aaa-8bbb-00000000ffff'
    await create('wrong', [
      { ...entryOf(first), attachedNodeId: strange },
      { ...entryOf(second), attachedNodeId: 'i-0123456789abcdef0', attachedNodeName: 'nobody' },
    ])
    await whenTold('wrong', 'Pending WrongMachine', 'Pending NodeNotFound')
    assert.match((await biz('wrong')).status?.nodeStatuses?.[0]?.message ?? '', /has system UUID .*, not 6f1c2a10-ffff/)
    assert.deepEqual(await states(), before)
    assert.equal((await actions()).size, known)
    await stage().kube.delete(bizConfigs, { ...key(), name: 'wrong' })
  })

  test('a document that is deleted takes its NICs away', async () => {
    await stage().kube.delete(bizConfigs, key())
    await eventually(async () => assert.equal(await stage().kube.get(bizConfigs, key()), undefined), { within })
    for (const { name: node } of stage().nodes)
      assert.doesNotMatch(JSON.stringify(await stage().stateOf(node)), /multinic0/)
  })
}
