/**
 * Every field of an interface travels the whole way: Neutron reports it, the operator sends it, Viola applies it, the
 * controller puts it into the agent's input, the agent writes it to the files of every backend and plans the change of the
 * kernel, the inventory records it. One row per field changes that field alone.
 *
 * The functions are those of the components. Neutron is a stub that returns the requested fields of its objects, as JSON. HTTP
 * and the Kubernetes API between the other components are left out.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseInput } from '../../src/agent/input.ts'
import { agentInputVariable } from '../../src/contract/agent-input.ts'
import { backendNames } from '../../src/contract/backend.ts'
import { fieldUses } from '../../src/contract/interface-fields.ts'
import {
  type Interface,
  type InterfaceNames,
  interfaceFields,
  nameFields,
  toWireInterface,
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
import { deliver } from '../../src/operator/deliver/deliver.ts'
import type { DeliveredNode, Observed } from '../../src/operator/plan/observed-state.ts'
import { planNodes } from '../../src/operator/plan/plan.ts'
import { createRecords } from '../../src/operator/record/records.ts'
import { toViolaNode as bodyOf, type NodeToWrite } from '../../src/operator/viola/viola-client.ts'
import { silent } from '../../src/telemetry/log.ts'
import { appliedObject, toViolaNode } from '../../src/viola/plan.ts'
import { nodesFrom } from '../../src/viola/request.ts'
import {
  configure,
  type Host,
  hostNames,
  hosts,
  nowhere,
  type PlannedNode,
  places,
  type Shown,
  shown,
  showsOn,
} from './agent-places.ts'
import {
  type Cloud,
  macAddress,
  type NeutronStub,
  network,
  older,
  port,
  startNeutron,
  subnet,
  withPort,
  withSubnet,
} from './neutron-stub.ts'

const providerId = 'biz-1'

/** Everywhere but in ifcfg files, which have address and prefix length apart. */
const addressIn = (cidr: string, n: number): Partial<Shown> => ({
  ...{ netplan: `- "${cidr}"`, networkd: `Address=${cidr}`, networkmanager: `address${n}=${cidr}` },
  kernel: `add address ${cidr}`,
})
/** Everywhere but in ifcfg files and in the kernel, which have the form of `ip route`. */
const routeIn = (to: string, via: string): Partial<Shown> => ({
  ...{ netplan: `to: "${to}"\n          via: "${via}"`, networkd: `Destination=${to}\nGateway=${via}` },
  networkmanager: `=${to},${via},`,
})

interface Row {
  /** What the cloud reports, or the user requests, after the change. */
  cloud: Partial<Cloud>
  expected: unknown
  /** Undefined: the agent does not read the field, so its input leaves it out. */
  node: Shown | undefined
  /** No change of the cloud alters this field of a delivered interface: it is delivered anew. */
  fresh?: true
}

const rows: Record<Exclude<keyof Interface, keyof InterfaceNames>, Row> = {
  index: {
    cloud: { ports: [older, port] },
    expected: 1,
    fresh: true,
    // The index of the interface is in its names, and in the number of its routing table.
    node: shown('101', {
      ...{
        common: '/91-multinic1.conf',
        netplan: 'table: 101',
        networkd: 'Table=101',
        networkmanager: 'route-table=101',
      },
      ...{ ifcfg: 'IPV4_ROUTE_TABLE=101', 'ifcfg of NetworkManager': 'IPV4_ROUTE_TABLE=101', kernel: 'lookup 101' },
    }),
  },
  name: {
    cloud: { ports: [older, port] },
    expected: 'multinic1',
    fresh: true,
    node: shown('DEVICE=multinic1', {
      ...{ common: 'Name=multinic1', netplan: 'set-name: "multinic1"', networkd: 'Name=multinic1' },
      ...{ networkmanager: 'interface-name=multinic1', kernel: 'rename ens4 to multinic1' },
    }),
  },
  macAddress: {
    cloud: withPort({ mac_address: 'fa:16:3e:00:00:77' }),
    expected: 'fa:16:3e:00:00:77',
    node: shown('HWADDR=fa:16:3e:00:00:77', {
      ...{ common: 'MACAddress=fa:16:3e:00:00:77', netplan: 'macaddress: "fa:16:3e:00:00:77"' },
      ...{ networkd: 'MACAddress=fa:16:3e:00:00:77', networkmanager: 'mac-address=fa:16:3e:00:00:77' },
      kernel: 'rename ens6 to multinic0',
    }),
  },
  portId: {
    cloud: { ...withPort({ id: 'port-77' }), known: { portChecks: new Map([['port-1', 'detached']]) } },
    expected: 'port-77',
    node: { ...nowhere, common: 'AlternativeName=port-77', netplan: 'port port-77', kernel: 'altname port-77' },
  },
  address: {
    cloud: withPort({ fixed_ips: [{ subnet_id: 'storage', ip_address: '10.1.0.77' }] }),
    expected: '10.1.0.77',
    node: shown('IPADDR=10.1.0.77', addressIn('10.1.0.77/24', 1)),
  },
  cidr: {
    cloud: withSubnet({ cidr: '10.1.0.0/25' }),
    expected: '10.1.0.0/25',
    node: shown('PREFIX=25', { ...addressIn('10.1.0.1/25', 1), common: '10.1.0.0/25' }),
  },
  mtu: {
    cloud: { network: { ...network, mtu: 9000 } },
    expected: 9000,
    // Of the two files on a host with Netplan, networkd uses its own.
    node: shown('mtu=9000', { netplan: null, networkd: 'MTUBytes=9000', kernel: 'mtu 1500 to 9000' }),
  },
  addresses: {
    cloud: withPort({
      fixed_ips: [
        { subnet_id: 'storage', ip_address: '10.1.0.1' },
        { subnet_id: 'storage', ip_address: '10.1.0.78' },
      ],
    }),
    expected: ['10.1.0.1/24', '10.1.0.78/24'],
    node: shown('IPADDR1=10.1.0.78', addressIn('10.1.0.78/24', 2)),
  },
  gateway: {
    cloud: withSubnet({ gateway_ip: '10.1.0.252' }),
    expected: '10.1.0.252',
    node: shown('0.0.0.0/0 via 10.1.0.252', routeIn('0.0.0.0/0', '10.1.0.252')),
  },
  routes: {
    cloud: withSubnet({ host_routes: [{ destination: '10.8.0.0/16', nexthop: '10.1.0.253' }] }),
    expected: [{ destination: '10.8.0.0/16', nexthop: '10.1.0.253' }],
    node: shown('10.8.0.0/16 via 10.1.0.253', { ...routeIn('10.8.0.0/16', '10.1.0.253'), common: '10.8.0.0/16' }),
  },
  allowedAddressPairs: {
    cloud: withPort({
      allowed_address_pairs: [
        { ip_address: 'fd40::7', mac_address: macAddress },
        { ip_address: '10.1.0.50', mac_address: macAddress },
        { ip_address: '10.40.0.0/24', mac_address: macAddress },
        { ip_address: '10.41.0.0/24', mac_address: 'fa:16:3e:00:00:99' },
        { ip_address: 'unreadable', mac_address: macAddress },
        { ip_address: null },
      ],
    }),
    expected: ['10.40.0.0/24', 'fd40::7/128'],
    node: { ...nowhere, common: '10.40.0.0/24 : goto from0', kernel: '10.40.0.0/24 : goto from0' },
  },
  networkId: {
    cloud: {
      ...withPort({ network_id: 'net-7' }),
      subnet: { ...subnet, network_id: 'net-7' },
      network: { ...network, id: 'net-7' },
    },
    expected: 'net-7',
    node: undefined,
  },
  subnetId: {
    cloud: {
      ...withPort({ fixed_ips: [{ subnet_id: 'storage-7', ip_address: '10.1.0.1' }] }),
      subnet: { ...subnet, id: 'storage-7' },
    },
    expected: 'storage-7',
    node: undefined,
  },
  source: { cloud: { known: { source: 'ns/other' } }, expected: 'ns/other', node: undefined, fresh: true },
}

let neutron: NeutronStub

before(async () => {
  neutron = await startNeutron()
})
after(() => neutron[Symbol.asyncDispose]())

interface Travelled {
  posted: ViolaNodeConfig
  applied: NodeConfig
  input: WireInterface[]
  /** As the agent parsed it. */
  requested: Interface[]
  /** On a node of each kind. */
  nodes: Record<Host, PlannedNode>
  record: InventoryRecord
  changedInHistory: boolean
}

for (const [field, row] of Object.entries(rows) as [keyof typeof rows, Row][])
  test(`${field} travels from the cloud to the node and into the history`, async () => {
    const before = await travel(await neutron.observe())
    const delivered: DeliveredNode[] = row.fresh ? [] : [deliveredNode(before.applied)]
    const after = await travel({ ...(await neutron.observe(row.cloud)), delivered }, before.record)

    const wire = interfaceFields[field]
    const value = (interfaces: readonly WireInterface[]) => ofPort(interfaces, row)?.[wire]
    assert.notDeepEqual(value(before.posted.interfaces), row.expected, 'the row changes nothing')
    assert.deepEqual(value(after.posted.interfaces), row.expected, 'operator → Viola')
    assert.deepEqual(value(after.applied.spec.interfaces), row.expected, 'Viola → MultiNicNodeConfig')
    const onNode = row.node && row.expected
    assert.deepEqual(value(after.input), onNode, 'controller → agent')
    assert.deepEqual(value(after.requested.map(toWireInterface)), onNode, 'agent → request')
    for (const host of hostNames) showsOn(host, row.node ?? nowhere, before.nodes[host], after.nodes[host])
    assert.deepEqual(value(after.record.config.interfaces), row.expected, 'operator → inventory')
    assert.ok(after.changedInHistory, 'inventory → history')
  })

test('a field that the agent gets shows somewhere, and one that ends in its plan is found missing', async () => {
  for (const [field, use] of Object.entries(fieldUses)) {
    const { node } = rows[field as keyof typeof rows]
    assert.equal(node !== undefined, use === 'agent', field)
    if (node) assert.ok(Object.values(node).some(Boolean), `${field} shows nowhere`)
  }
  const { nodes } = await travel(await neutron.observe())
  for (const host of hostNames)
    assert.throws(() => showsOn(host, shown('192.0.2.53'), nodes[host], nodes[host]), /192.0.2.53 is not in/)
})

test('every place is one of a host', () => {
  assert.deepEqual(new Set(hostNames.flatMap(host => hosts[host].places)), new Set(places))
})

test('every backend has a host', () => {
  assert.deepEqual(new Set(hostNames.map(host => hosts[host].env)), new Set(backendNames))
})

const named: Record<keyof InterfaceNames, Partial<Cloud>> = {
  subnetName: withSubnet({ name: 'renamed' }),
  networkName: { network: { ...network, name: 'renamed' } },
  alias: { selected: { index: 0, alias: 'renamed' } },
}

for (const [field, change] of Object.entries(named) as [keyof InterfaceNames, Partial<Cloud>][])
  test(`experience M10: ${field} travels into the object and the inventory, and never to the agent`, async () => {
    const before = await travel(await neutron.observe())
    const renamed = await neutron.observe(change)
    const after = await travel(renamed)
    const value = (interfaces: readonly WireInterface[]) => interfaces[0]?.[nameFields[field]]
    assert.equal(value(after.posted.interfaces), 'renamed', 'operator → Viola')
    assert.equal(value(after.applied.spec.interfaces), 'renamed', 'Viola → MultiNicNodeConfig')
    assert.equal(value(after.record.config.interfaces), 'renamed', 'operator → inventory')
    assert.deepEqual(after.input, before.input, 'controller → agent')
    assert.equal(after.applied.spec.specHash, before.applied.spec.specHash)
    assert.deepEqual(
      planNodes({ ...renamed, delivered: [deliveredNode(before.applied)] }).nodes.map(({ action }) => action),
      ['keep'],
    )
  })

test('an unchanged cloud is not sent again', async () => {
  const before = await travel(await neutron.observe())
  const { nodes } = planNodes({ ...(await neutron.observe()), delivered: [deliveredNode(before.applied)] })
  assert.deepEqual(
    nodes.map(({ action }) => action),
    ['keep'],
  )
})

test('pairs that say nothing about the NIC leave no trace: the node config and its hash are those without pairs', async () => {
  const covered = await travel(await neutron.observe())
  const without = await travel(await neutron.observe(withPort({ allowed_address_pairs: [] })))
  const unknown = await travel(await neutron.observe(withPort({ allowed_address_pairs: undefined })))
  for (const { applied, input } of [covered, unknown]) {
    assert.deepEqual(applied.spec, without.applied.spec)
    assert.deepEqual(input, without.input)
  }
  assert.ok(!JSON.stringify(without.applied).includes('allowedAddressPairs'))
})

/** The interface of the port, whatever its index; the row of portId gives it a new ID. */
function ofPort(interfaces: readonly WireInterface[], { expected }: Row): WireInterface | undefined {
  return interfaces.find(({ portId }) => portId === 'port-1' || portId === expected)
}

async function travel(seen: Observed, recorded?: InventoryRecord): Promise<Travelled> {
  const posted = await send(seen)
  const applied = apply(posted)
  const input = agentInputOf(applied)
  const { request, errors } = parseInput(input)
  assert.deepEqual(errors, [])
  const requested = request?.interfaces ?? []
  return {
    posted,
    applied,
    input: JSON.parse(input).interfaces,
    requested,
    nodes: Object.fromEntries(hostNames.map(host => [host, configure(host, requested)])) as Travelled['nodes'],
    ...(await record(applied, recorded)),
  }
}

async function send(seen: Observed): Promise<ViolaNodeConfig> {
  const posts: ViolaNodeConfig[] = []
  const nodes = planNodes(seen).nodes.filter(({ action }) => action === 'send')
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
