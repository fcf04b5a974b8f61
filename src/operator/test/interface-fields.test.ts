/**
 * Every field of a delivered interface: when it changes, the operator sends the node again, with the new value in the POST
 * body. A field that the comparison or the wire form forgets fails here; a field without a row does not compile.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type StubServer, startStubServer } from '../../../test/openstack/stub-server.ts'
import {
  type Interface,
  type InterfaceNames,
  interfaceFields,
  nameFields,
  type WireInterface,
} from '../../contract/interfaces.ts'
import { createHttp, type Http } from '../../http-client/client.ts'
import type { Port, Subnet } from '../cloud.ts'
import { deliver } from '../deliver/deliver.ts'
import type { DeliveredNode, Observed, SelectedSubnet } from '../plan/observed-state.ts'
import { aNode, aPort, observed, storage } from '../plan/plan.fixture.ts'
import { planNodes } from '../plan/plan.ts'
import type { UnsharedViola } from '../viola/delivered-list.ts'
import { withPostOnlySupport } from '../viola/legacy/post-only-viola.ts'
import { createViolaApi } from '../viola/viola-client.ts'

const routes = [{ destination: '10.30.0.0/16', nexthop: '10.1.0.254' }]
const subnet: Subnet = { ...storage, gateway: '10.1.0.1', routes }
const second: Subnet = { ...subnet, id: 'storage-6', cidr: 'fd00::/64', gateway: 'fd00::1', routes: [] }
const pairs = (...addresses: string[]) => ({
  enabled: true,
  allowedAddressPairs: addresses.map(ipAddress => ({ ipAddress, macAddress: 'fa:16:3e:00:00:01' })),
})
const port = aPort(1, { subnet, portSecurity: pairs('10.40.0.0/24') })
const both = [...port.addresses, { subnetId: second.id, address: 'fd00::11' }]

interface CloudChange {
  port?: Partial<Port>
  subnet?: Partial<SelectedSubnet>
  mtu?: number
  networkName?: string
}

/** The cloud before the change. The port has two addresses, so that every field is set. */
function cloudWith(change: CloudChange = {}): Partial<Observed> {
  const changed = { ...subnet, index: 0, alias: 'multinic0', ...change.subnet }
  const networkId = changed.networkId
  return {
    subnets: [changed, { ...second, networkId }],
    ports: [{ ...port, addresses: both, networkId, ...change.port }],
    networks: new Map([
      [networkId, { id: networkId, name: change.networkName ?? 'storage-net', mtu: change.mtu ?? 9_000 }],
    ]),
  }
}

interface Change {
  /** The cloud when the interface was delivered, if not the usual one: the change must concern one field only. */
  before?: Partial<Observed>
  given: Partial<Observed>
  /** The value in the POST body. */
  expected: unknown
  /** Position of the interface in the body. */
  at?: number
}

function withOneAddress(address: string, changed: Partial<Subnet> = {}): Partial<Observed> {
  return cloudWith({ port: { addresses: [{ subnetId: subnet.id, address }] }, subnet: changed })
}

const withNewPort = { ...cloudWith(), ports: [...(cloudWith().ports ?? []), aPort(2, { subnet })] }

const changes = {
  index: { given: withNewPort, at: 1, expected: 1 },
  name: { given: withNewPort, at: 1, expected: 'multinic1' },
  portId: { given: cloudWith({ port: { id: 'recreated' } }), expected: 'recreated' },
  macAddress: {
    before: cloudWith({ port: { portSecurity: pairs() } }),
    given: cloudWith({ port: { macAddress: 'fa:16:3e:ff:ff:ff', portSecurity: pairs() } }),
    expected: 'fa:16:3e:ff:ff:ff',
  },
  address: {
    before: withOneAddress('10.1.0.1'),
    given: withOneAddress('10.1.0.99'),
    expected: '10.1.0.99',
  },
  addresses: {
    given: cloudWith({ port: { addresses: [...both, { subnetId: second.id, address: 'fd00::12' }] } }),
    expected: ['10.1.0.1/24', 'fd00::11/64', 'fd00::12/64'],
  },
  cidr: {
    before: withOneAddress('10.1.0.1'),
    given: withOneAddress('10.1.0.1', { cidr: '10.1.0.0/16' }),
    expected: '10.1.0.0/16',
  },
  gateway: { given: cloudWith({ subnet: { gateway: '10.1.0.2' } }), expected: '10.1.0.2' },
  routes: {
    given: cloudWith({ subnet: { routes: [...routes, { destination: '10.31.0.0/16', nexthop: '10.1.0.253' }] } }),
    expected: [...routes, { destination: '10.31.0.0/16', nexthop: '10.1.0.253' }],
  },
  allowedAddressPairs: {
    given: cloudWith({ port: { portSecurity: pairs('10.40.0.0/24', 'fd40::7') } }),
    expected: ['10.40.0.0/24', 'fd40::7/128'],
  },
  mtu: { given: cloudWith({ mtu: 1_400 }), expected: 1_400 },
  networkId: { given: cloudWith({ subnet: { networkId: 'net-new' } }), expected: 'net-new' },
  subnetId: {
    given: cloudWith({
      subnet: { id: 'subnet-new' },
      port: { addresses: [{ subnetId: 'subnet-new', address: '10.1.0.1' }, ...both.slice(1)] },
    }),
    expected: 'subnet-new',
  },
  source: {
    given: {
      ...cloudWith(),
      vms: [],
      claims: [{ source: 'ns/other', vmIds: ['vm-1'], indexes: [], subnetIds: [subnet.id] }],
    },
    expected: 'ns/other',
  },
} satisfies Record<Exclude<keyof Interface, keyof InterfaceNames>, Change>

let server: StubServer
let http: Http
let viola: UnsharedViola

before(async () => {
  server = await startStubServer(() => ({ status: 200, body: { applied: 1, output: '', results: [] } }))
  http = createHttp({ service: 'viola', timeoutMs: 5_000 })
  const store = { list: async () => [], put: async () => {}, remove: async () => {} }
  const target = { endpoint: server.url, providerId: 'biz-1' }
  viola = withPostOnlySupport(createViolaApi({ http, ...target }), store, target)
})
after(async () => {
  await http?.close()
  await server?.[Symbol.asyncDispose]()
})

function deliveredFrom(cloud: Partial<Observed>): DeliveredNode {
  const [planned] = planNodes(observed(cloud)).nodes
  return aNode(planned?.interfaces ?? [])
}

test('every field of the delivered interface is set, and an unchanged cloud sends nothing', () => {
  const delivered = deliveredFrom(cloudWith())
  assert.deepEqual(
    Object.keys(delivered.interfaces[0] ?? {}).sort(),
    Object.keys({ ...interfaceFields, ...nameFields }).sort(),
  )
  const plan = planNodes(observed({ ...cloudWith(), delivered: [delivered] }))
  assert.deepEqual(
    plan.nodes.map(({ action }) => action),
    ['keep'],
  )
})

for (const [field, change] of Object.entries(changes) as [keyof typeof interfaceFields, Change][])
  test(`a change of ${field} is sent`, async () => {
    const delivered = deliveredFrom(change.before ?? cloudWith())
    const plan = planNodes(observed({ ...change.given, delivered: [delivered] }))
    assert.deepEqual(
      plan.nodes.map(({ action }) => action),
      ['send'],
    )
    await deliver(viola, plan.nodes, new AbortController().signal)
    const [node] = JSON.parse(server.requests.at(-1)?.body ?? '') as { interfaces: WireInterface[] }[]
    const sent = node?.interfaces[change.at ?? 0]
    assert.deepEqual(sent?.[interfaceFields[field]], change.expected)
    const before = change.at === undefined ? delivered.interfaces[0]?.[field] : undefined
    assert.notDeepEqual(before, change.expected)
  })

const renames: Record<keyof InterfaceNames, { given: Partial<Observed>; expected: string }> = {
  subnetName: { given: cloudWith({ subnet: { name: 'renamed' } }), expected: 'renamed' },
  networkName: { given: cloudWith({ networkName: 'renamed' }), expected: 'renamed' },
  alias: { given: cloudWith({ subnet: { alias: 'renamed' } }), expected: 'renamed' },
}

for (const [field, { given, expected }] of Object.entries(renames) as [
  keyof InterfaceNames,
  (typeof renames)['alias'],
][])
  test(`experience M10: a change of ${field} alone is not sent, and travels with the next delivery`, async () => {
    const delivered = deliveredFrom(cloudWith())
    assert.notEqual(delivered.interfaces[0]?.[field], expected)
    const alone = planNodes(observed({ ...given, delivered: [delivered] }))
    assert.deepEqual(
      alone.nodes.map(({ action }) => action),
      ['keep'],
    )
    const ports = [...(given.ports ?? []), aPort(2, { subnet })]
    const next = planNodes(observed({ ...given, ports, delivered: [delivered] }))
    await deliver(viola, next.nodes, new AbortController().signal)
    const [node] = JSON.parse(server.requests.at(-1)?.body ?? '') as { interfaces: WireInterface[] }[]
    assert.equal(node?.interfaces[0]?.[field], expected)
  })

test('experience M10: the VM is sent with its name, and a renamed VM alone is not sent', async () => {
  const vm = { entry: 'vm-1', id: 'vm-1', state: 'found', name: 'worker-1', serverName: 'web server' } as const
  const first = planNodes(observed({ ...cloudWith(), vms: [vm] }))
  await deliver(viola, first.nodes, new AbortController().signal)
  const [node] = JSON.parse(server.requests.at(-1)?.body ?? '') as { instanceName?: string }[]
  assert.equal(node?.instanceName, 'web server')

  const delivered = aNode(first.nodes[0]?.interfaces ?? [], { instanceName: 'web server' })
  const renamed = { ...vm, serverName: 'database' }
  const plan = planNodes(observed({ ...cloudWith(), vms: [renamed], delivered: [delivered] }))
  assert.deepEqual(
    plan.nodes.map(({ action, instanceName }) => ({ action, instanceName })),
    [{ action: 'keep', instanceName: 'database' }],
  )
})

test('a name of a tenant is one line without control characters, at most 255 long', () => {
  const name = `a\n\u001b[31mb\u202e${'c'.repeat(300)}`
  const [planned] = planNodes(observed(cloudWith({ subnet: { name }, networkName: ' \t' }))).nodes
  const [nic] = planned?.interfaces ?? []
  assert.match(nic?.subnetName ?? '', /^a \\u001b\[31mb\\u202ec+…$/)
  assert.equal(nic?.subnetName?.length, 255)
  assert.equal(nic?.networkName, undefined)
  const [short] = planNodes(observed(cloudWith({ subnet: { name: 'a\u001b[31mb' }, networkName: 'a\u202eb' }))).nodes
  assert.equal(short?.interfaces[0]?.subnetName, 'a\\u001b[31mb')
  assert.equal(short?.interfaces[0]?.networkName, 'a\\u202eb')
})

test('only the interface with the index of its subnet has the alias', () => {
  const two = { ...cloudWith(), ports: [...(cloudWith().ports ?? []), aPort(2, { subnet })] }
  const [planned] = planNodes(observed(two)).nodes
  assert.deepEqual(
    planned?.interfaces.map(({ name, alias, subnetName }) => [name, alias, subnetName]),
    [
      ['multinic0', 'multinic0', 'storage'],
      ['multinic1', undefined, 'storage'],
    ],
  )
})
