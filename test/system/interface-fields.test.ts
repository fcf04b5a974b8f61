/**
 * Every field of an interface travels the whole way: the operator sends it, Viola applies it, the controller puts it into the
 * agent's input, the agent configures it, the inventory records it. One row per field changes that field alone.
 *
 * The functions are those of the components. Only HTTP and the Kubernetes API between them are left out.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeWithBothFamilies, settingsFrom } from '../../src/agent/agent.fixture.ts'
import { desiredNics } from '../../src/agent/desired.ts'
import { parseInput } from '../../src/agent/input.ts'
import { hostPaths } from '../../src/agent/paths.ts'
import { filesFor } from '../../src/agent/render/files.ts'
import { agentInputVariable } from '../../src/contract/agent-input.ts'
import {
  type Interface,
  type InterfaceNames,
  interfaceFields,
  nameFields,
  type WireInterface,
} from '../../src/contract/interfaces.ts'
import type { InventoryRecord, InventoryWrite } from '../../src/contract/inventory.ts'
import type { NodeConfig } from '../../src/contract/node-config.ts'
import type { ViolaNodeConfig } from '../../src/contract/viola.ts'
import { controllerConfig } from '../../src/controller/config.ts'
import { aNode as aKubernetesNode } from '../../src/controller/controller.fixture.ts'
import { agentJob } from '../../src/controller/job.ts'
import { requestedOf } from '../../src/controller/plan/requested.ts'
import { planWrite } from '../../src/inventory/plan.ts'
import { deliver } from '../../src/operator/deliver.ts'
import type { DeliveredNode, Observed } from '../../src/operator/observed-state.ts'
import { aPort, observed, planNodes, storage } from '../../src/operator/plan.fixture.ts'
import { createRecords } from '../../src/operator/records.ts'
import { toViolaNode as bodyOf, type NodeToWrite } from '../../src/operator/viola-client.ts'
import { silent } from '../../src/telemetry/log.ts'
import { appliedObject, toViolaNode } from '../../src/viola/plan.ts'
import { nodesFrom } from '../../src/viola/request.ts'

const providerId = 'biz-1'
const subnet = {
  ...storage,
  gateway: '10.1.0.254',
  routes: [{ destination: '10.9.0.0/16', nexthop: '10.1.0.253' }],
}
const port = aPort(1)
const networksWith = (mtu: number, name = 'storage-net') => new Map([['net-s', { id: 'net-s', name, mtu }]])
const base: Partial<Observed> = { subnets: [subnet], ports: [port], networks: networksWith(1500) }

interface Row {
  /** What the cloud reports, or the user requests, after the change. */
  cloud: Partial<Observed>
  expected: unknown
  /** IDs of OpenStack are recorded. The agent does not read them, so its input leaves them out. */
  onNode?: false
  /** No change of the cloud alters this field of a delivered interface: it is delivered anew. */
  fresh?: true
}

const rows: Record<Exclude<keyof Interface, keyof InterfaceNames>, Row> = {
  index: { cloud: { ports: [aPort(0), port] }, expected: 1, fresh: true },
  name: { cloud: { ports: [aPort(0), port] }, expected: 'multinic1', fresh: true },
  macAddress: { cloud: { ports: [{ ...port, macAddress: 'fa:16:3e:00:00:77' }] }, expected: 'fa:16:3e:00:00:77' },
  portId: {
    cloud: { ports: [{ ...port, id: 'port-77' }], portChecks: new Map([['port-1', 'detached']]) },
    expected: 'port-77',
  },
  address: {
    cloud: { ports: [{ ...port, addresses: [{ subnetId: subnet.id, address: '10.1.0.77' }] }] },
    expected: '10.1.0.77',
  },
  cidr: { cloud: { subnets: [{ ...subnet, cidr: '10.1.0.0/25' }] }, expected: '10.1.0.0/25' },
  mtu: { cloud: { networks: networksWith(9000) }, expected: 9000 },
  addresses: {
    cloud: { ports: [{ ...port, addresses: [...port.addresses, { subnetId: subnet.id, address: '10.1.0.78' }] }] },
    expected: ['10.1.0.1/24', '10.1.0.78/24'],
  },
  gateway: { cloud: { subnets: [{ ...subnet, gateway: '10.1.0.252' }] }, expected: '10.1.0.252' },
  routes: {
    cloud: { subnets: [{ ...subnet, routes: [{ destination: '10.8.0.0/16', nexthop: '10.1.0.253' }] }] },
    expected: [{ destination: '10.8.0.0/16', nexthop: '10.1.0.253' }],
  },
  networkId: {
    cloud: { subnets: [{ ...subnet, networkId: 'net-7' }], ports: [{ ...port, networkId: 'net-7' }] },
    expected: 'net-7',
    onNode: false,
  },
  subnetId: {
    cloud: {
      subnets: [{ ...subnet, id: 'storage-7' }],
      ports: [{ ...port, addresses: [{ subnetId: 'storage-7', address: '10.1.0.1' }] }],
    },
    expected: 'storage-7',
    onNode: false,
  },
  source: { cloud: { source: 'ns/other' }, expected: 'ns/other', onNode: false, fresh: true },
}

interface Travelled {
  posted: ViolaNodeConfig
  applied: NodeConfig
  input: WireInterface[]
  /** Kernel state and files of both backends. */
  node: string
  record: InventoryRecord
  changedInHistory: boolean
}

for (const [field, row] of Object.entries(rows) as [keyof typeof rows, Row][])
  test(`${field} travels from the cloud to the node and into the history`, async () => {
    const before = await travel(observed(base))
    const delivered: DeliveredNode[] = row.fresh ? [] : [deliveredNode(before.applied)]
    const after = await travel(observed({ ...base, delivered, ...row.cloud }), before.record)

    const wire = interfaceFields[field]
    const value = (interfaces: readonly WireInterface[]) => ofPort(interfaces, row)?.[wire]
    assert.notDeepEqual(value(before.posted.interfaces), row.expected, 'the row changes nothing')
    assert.deepEqual(value(after.posted.interfaces), row.expected, 'operator → Viola')
    assert.deepEqual(value(after.applied.spec.interfaces), row.expected, 'Viola → MultiNicNodeConfig')
    assert.deepEqual(value(after.input), row.onNode === false ? undefined : row.expected, 'controller → agent')
    assert.equal(after.node === before.node, row.onNode === false, 'agent → node')
    assert.deepEqual(value(after.record.config.interfaces), row.expected, 'operator → inventory')
    assert.ok(after.changedInHistory, 'inventory → history')
  })

const named: Record<keyof InterfaceNames, Partial<Observed>> = {
  subnetName: { subnets: [{ ...subnet, name: 'renamed' }] },
  networkName: { networks: networksWith(1500, 'renamed') },
  alias: { subnets: [{ ...subnet, index: 0, alias: 'renamed' }] },
}

for (const [field, cloud] of Object.entries(named) as [keyof InterfaceNames, Partial<Observed>][])
  test(`experience M10: ${field} travels into the object and the inventory, and never to the agent`, async () => {
    const before = await travel(observed(base))
    const after = await travel(observed({ ...base, ...cloud }))
    const value = (interfaces: readonly WireInterface[]) => interfaces[0]?.[nameFields[field]]
    assert.equal(value(after.posted.interfaces), 'renamed', 'operator → Viola')
    assert.equal(value(after.applied.spec.interfaces), 'renamed', 'Viola → MultiNicNodeConfig')
    assert.equal(value(after.record.config.interfaces), 'renamed', 'operator → inventory')
    assert.deepEqual(after.input, before.input, 'controller → agent')
    assert.equal(after.applied.spec.specHash, before.applied.spec.specHash)
    assert.deepEqual(
      planNodes(observed({ ...base, ...cloud, delivered: [deliveredNode(before.applied)] })).nodes.map(
        ({ action }) => action,
      ),
      ['keep'],
    )
  })

test('an unchanged cloud is not sent again', async () => {
  const before = await travel(observed(base))
  const { nodes } = planNodes(observed({ ...base, delivered: [deliveredNode(before.applied)] }))
  assert.deepEqual(
    nodes.map(({ action }) => action),
    ['keep'],
  )
})

/** The interface of the port, whatever its index; the row of portId gives it a new ID. */
function ofPort(interfaces: readonly WireInterface[], { expected }: Row): WireInterface | undefined {
  return interfaces.find(({ portId }) => portId === 'port-1' || portId === expected)
}

async function travel(cloud: Observed, recorded?: InventoryRecord): Promise<Travelled> {
  const posted = await send(cloud)
  const applied = apply(posted)
  const input = agentInputOf(applied)
  return {
    posted,
    applied,
    input: JSON.parse(input).interfaces,
    node: configure(input),
    ...(await record(applied, recorded)),
  }
}

async function send(cloud: Observed): Promise<ViolaNodeConfig> {
  const posts: ViolaNodeConfig[] = []
  const nodes = planNodes(cloud).nodes.filter(({ action }) => action === 'send')
  const viola = {
    post: async (batch: readonly NodeToWrite[]) => {
      posts.push(...batch.map(bodyOf))
      return { results: new Map() }
    },
    remove: async () => 'removed' as const,
  }
  await deliver(viola, nodes, AbortSignal.timeout(1_000))
  return JSON.parse(JSON.stringify(posts[0] ?? assert.fail('nothing was sent')))
}

function apply(posted: ViolaNodeConfig): NodeConfig {
  const { nodes, errors } = nodesFrom([posted], providerId)
  assert.deepEqual(errors, [])
  const { metadata, spec } = appliedObject(nodes[0] ?? assert.fail('no node'), { providerId })
  const object = { ...metadata, namespace: 'multinic-system', uid: 'u-1', generation: 1 }
  return JSON.parse(
    JSON.stringify({ apiVersion: 'multinic.io/v1', kind: 'MultiNicNodeConfig', metadata: object, spec }),
  )
}

/** The node config as the operator reads it back from Viola. */
function deliveredNode(applied: NodeConfig): DeliveredNode {
  const { specHash, generation } = toViolaNode(applied)
  const { interfaces } = requestedOf(applied)
  return {
    nodeName: applied.spec.nodeName,
    instanceId: applied.spec.instanceId ?? '',
    specHash,
    generation,
    interfaces,
  }
}

function agentInputOf(config: NodeConfig): string {
  const { interfaces, specHash } = requestedOf(config)
  const node = { ...aKubernetesNode(), name: config.spec.nodeName }
  const request = { config, node, interfaces, specHash, action: 'apply', attempt: 0, takesSlot: false } as const
  const job = agentJob(request, controllerConfig({ AGENT_IMAGE: 'multinic-agent:dev' }).agent)
  const variables = job.spec.template.spec.containers[0]?.env ?? []
  return variables.find(({ name }) => name === agentInputVariable)?.value ?? assert.fail('no input')
}

function configure(input: string): string {
  const { request, errors } = parseInput(input)
  assert.deepEqual(errors, [])
  const nics = desiredNics(request?.interfaces ?? [], settingsFrom(), nodeWithBothFamilies)
  const observed = { directories: Object.values(hostPaths), managers: {} }
  const files = nics.flatMap(nic =>
    (['netplan', 'networkmanager'] as const).map(backend => filesFor(backend, nic, hostPaths, observed)),
  )
  return JSON.stringify({ nics, files })
}

async function record(
  applied: NodeConfig,
  before?: InventoryRecord,
): Promise<Pick<Travelled, 'record' | 'changedInHistory'>> {
  const writes: InventoryWrite[] = []
  const put = async (some: InventoryWrite[]) => {
    writes.push(...some)
    return true
  }
  const records = createRecords({ put }, () => new Date('2026-01-01T00:00:00Z'))
  records.note(providerId, deliveredNode(applied), 'test')
  await records.flush(silent)
  const change = planWrite(before, writes[0] ?? assert.fail('nothing was recorded'), '2026-01-01T00:00:00Z')
  assert.ok(change?.after, 'the record is the same')
  return {
    record: change.after,
    changedInHistory: change.inHistory && change.what !== 'status',
  }
}
