/**
 * The migration from a MultiNicBizConfig in consecutive steps: it configures three nodes, they are migrated and rolled back
 * during running pings, and errors are reported. The same tests run in the sandbox and with real servers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BizConfig, type BizNode, bizConfigs } from '../../src/contract/legacy/biz-config.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { jobs } from '../../src/kube/resources.ts'
import { type CommandResult, runner } from '../support/cli.ts'
import { eventually } from '../support/eventually.ts'
import { type Ping, startPing } from './ping.ts'

export interface MigratingNode {
  name: string
  /** System UUID. */
  id: string
  netns: string
  nics: { macAddress: string; portId: string; address: string; cidr: string; gateway: string; mtu: number }[]
}

export interface MigrationSetup {
  kube: KubeClient
  kubeconfig: string
  namespace: string
  nodes: MigratingNode[]
  /** Everything on a node that can change. */
  stateOf(node: string): Promise<unknown>
  /** Whether the server has admission policies. */
  hasPolicies: boolean
}

const within = 90_000
const name = 'production'

export function testMigration(setup: () => MigrationSetup): void {
  const key = () => ({ namespace: setup().namespace, name })
  const multinic = (...args: string[]): Promise<CommandResult> =>
    runner({ KUBECONFIG: setup().kubeconfig })('migrate', ...args)
  const biz = async (of = name): Promise<BizConfig> =>
    (await setup().kube.get(bizConfigs, { ...key(), name: of })) ?? assert.fail(`MultiNicBizConfig ${of} not found`)
  const states = () => Promise.all(setup().nodes.map(node => setup().stateOf(node.name)))

  /** Waits for `state reason` of each node. */
  const waitForStates = (of: string, ...lines: string[]) =>
    eventually(
      async () => {
        const statuses = (await biz(of)).status?.nodeStatuses ?? []
        assert.deepEqual(
          statuses.map(({ state, reason }) => [state, reason].filter(Boolean).join(' ')),
          lines,
          JSON.stringify(statuses),
        )
      },
      { within, every: 100 },
    )

  async function create(of: string, nodes: BizNode[]): Promise<void> {
    await setup().kube.create(bizConfigs, {
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

  /** The actions of all Jobs, by UID. */
  async function actions(): Promise<Map<string, string>> {
    const { items } = await setup().kube.list(jobs, { namespace: setup().namespace })
    return new Map(
      items.map(({ metadata }) => [metadata.uid ?? '', metadata.labels?.['multinic.io/action'] ?? 'unknown']),
    )
  }

  /** Pings through every NIC during the work: no packet is lost, no node changes, and only the expected Jobs are created. */
  async function withoutDisruption(work: () => Promise<void>, expected: string[]): Promise<void> {
    const [before, known] = [await states(), await actions()]
    const pings: Ping[] = []
    for (const { netns, nics } of setup().nodes)
      for (const { address, gateway } of nics) pings.push(await startPing(netns, address, gateway))
    const counts: Awaited<ReturnType<Ping['stop']>>[] = []
    try {
      await work()
    } finally {
      for (const ping of pings) counts.push(await ping.stop())
    }
    for (const { sent, received } of counts) {
      assert.ok(sent > 10, 'the ping was too short')
      assert.equal(received, sent, 'packets were lost')
    }
    assert.deepEqual(await states(), before)
    const created = [...(await actions())].filter(([uid]) => !known.has(uid)).map(([, action]) => action)
    assert.deepEqual(created, expected)
  }

  test('a BizConfig configures three nodes', async () => {
    await create(name, setup().nodes.map(entryOf))
    await waitForStates(name, 'Configured', 'Configured', 'Configured')
    const { status } = await biz()
    assert.deepEqual(status?.summary, { totalNodes: 3, configuredNodes: 3, failedNodes: 0, pendingNodes: 0 })
    for (const [index, node] of setup().nodes.entries())
      assert.deepEqual(
        status?.nodeStatuses?.[index]?.indexes,
        node.nics.map(({ macAddress }, number) => `${number} ${macAddress}`),
      )
  })

  test('migration loses no ping, changes nothing on the nodes and keeps names and indexes', async () => {
    await withoutDisruption(async () => {
      const { code, notes, error } = await multinic('apply')
      assert.equal(code, 0, `${error}${notes.join('\n')}`)
    }, ['check', 'check', 'check'])
    assert.equal((await multinic('verify')).code, 0)
    await waitForStates(name, ...setup().nodes.map(() => 'Configured OwnedByNodeConfig'))
    for (const { name: node, nics } of setup().nodes) {
      const config = await setup().kube.get(nodeConfigs, { ...key(), name: node })
      assert.deepEqual(
        config?.spec.interfaces.map(nic => `${nic.name} ${nic.macAddress}`),
        nics.map(({ macAddress }, number) => `multinic${number} ${macAddress}`),
      )
    }
  })

  test('a read-only BizConfig cannot be changed, or the change is ignored', async () => {
    const { code, error } = await multinic('apply', '--phase', '2')
    assert.equal(code, 0, error)
    const { nodeConfigs: nodes } = (await biz()).spec
    if (setup().hasPolicies) {
      // A new policy takes effect after a moment. Until then this changes only the informational specHash.
      let attempts = 0
      const change = () => setup().kube.patch(bizConfigs, key(), { spec: { specHash: `${++attempts}` } })
      await eventually(() => assert.rejects(change, /was migrated and is read-only/), { within, every: 500 })
      return
    }
    await setup().kube.patch(bizConfigs, key(), { spec: { nodeConfigs: nodes.slice(1) } })
    await eventually(
      async () => {
        const readOnly = (await biz()).status?.conditions?.find(({ type }) => type === 'ReadOnly')
        assert.equal(`${readOnly?.status} ${readOnly?.message}`, 'True a change to 1 node is ignored')
      },
      { within },
    )
    await setup().kube.patch(bizConfigs, key(), { spec: { nodeConfigs: nodes } })
  })

  test('rollback loses no ping and changes nothing on the nodes', async () => {
    await withoutDisruption(async () => {
      const { code, notes, error } = await multinic('rollback')
      assert.equal(code, 0, `${error}${notes.join('\n')}`)
    }, ['check', 'check', 'check'])
    await waitForStates(name, 'Configured', 'Configured', 'Configured')
    assert.deepEqual((await setup().kube.list(nodeConfigs, { namespace: setup().namespace })).items, [])
  })

  test('a node with both objects belongs to the MultiNicNodeConfig; the BizConfig reports it and its changes wait', async () => {
    const [first] = setup().nodes
    assert.ok(first)
    const metadata = { ...key(), name: first.name }
    await setup().kube.create(nodeConfigs, {
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicNodeConfig',
      metadata,
      spec: {
        nodeName: first.name,
        instanceId: first.id,
        interfaces: first.nics.map(({ gateway: _, ...nic }, id) => ({ ...nic, id, name: `multinic${id}`, mtu: 1400 })),
      },
    })
    await waitForStates(name, 'Configured OwnedByNodeConfig', 'Configured', 'Configured')
    const owned = await setup().stateOf(first.name)
    const known = (await actions()).size
    const edited = setup().nodes.map(entryOf)
    for (const nic of edited[0]?.interfaces ?? []) nic.mtu = 1300
    await setup().kube.patch(bizConfigs, key(), { spec: { nodeConfigs: edited } })
    await eventually(
      async () => assert.equal((await biz()).status?.observedGeneration, (await biz()).metadata.generation),
      {
        within,
      },
    )
    assert.deepEqual(await setup().stateOf(first.name), owned)
    assert.equal((await actions()).size, known, 'an agent was started')
    const planned = await multinic('plan')
    assert.equal(planned.code, 1)
    assert.match(planned.out, new RegExp(`! ${first.name} {2}has a MultiNicNodeConfig with another request`))
    await setup().kube.patch(bizConfigs, key(), { spec: { nodeConfigs: setup().nodes.map(entryOf) } })
  })

  test('a node that returns to a BizConfig with other values is reported as drifted and not changed', async () => {
    const [first] = setup().nodes
    assert.ok(first)
    const before = await setup().stateOf(first.name)
    await setup().kube.delete(nodeConfigs, { ...key(), name: first.name })
    await waitForStates(name, 'Failed Drifted', 'Configured', 'Configured')
    assert.deepEqual(await setup().stateOf(first.name), before)
    await setup().kube.patch(bizConfigs, key(), { metadata: { annotations: { 'multinic.io/retry': 'now' } } })
    await waitForStates(name, 'Configured', 'Configured', 'Configured')
  })

  test('a wrong attachedNodeId is reported, and no node is changed', async () => {
    const before = await states()
    const known = (await actions()).size
    const [first, second] = setup().nodes
    assert.ok(first && second)
    const wrongId = '6f1c2a10-ffff-4aaa-8bbb-00000000ffff'
    await create('wrong', [
      { ...entryOf(first), attachedNodeId: wrongId },
      { ...entryOf(second), attachedNodeId: 'i-0123456789abcdef0', attachedNodeName: 'missing' },
    ])
    await waitForStates('wrong', 'Pending WrongMachine', 'Pending NodeNotFound')
    assert.match((await biz('wrong')).status?.nodeStatuses?.[0]?.message ?? '', /has system UUID .*, not 6f1c2a10-ffff/)
    assert.deepEqual(await states(), before)
    assert.equal((await actions()).size, known)
    await setup().kube.delete(bizConfigs, { ...key(), name: 'wrong' })
  })

  test('deleting a BizConfig removes its NICs', async () => {
    await setup().kube.delete(bizConfigs, key())
    await eventually(async () => assert.equal(await setup().kube.get(bizConfigs, key()), undefined), { within })
    for (const { name: node } of setup().nodes)
      assert.doesNotMatch(JSON.stringify(await setup().stateOf(node)), /multinic0/)
  })
}
