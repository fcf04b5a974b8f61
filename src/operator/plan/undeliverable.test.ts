/** One port that its node cannot have holds up no other interface of the node. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { addPort, addServer, addSubnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { Interface } from '../../contract/interfaces.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import type { Network, Port, Subnet } from '../cloud.ts'
import type { Observed } from './observed-state.ts'
import { aNic, aNode, aPort, backup, detached, observed, outside, storage } from './plan.fixture.ts'
import { planNodes } from './plan.ts'

const { macAddress } = aPort(1)
/** Of port 1, in another network. */
const sameMac = (n: number, more: Partial<Port> = {}) => aPort(n, { subnet: backup, macAddress, ...more })
const sameAddress = (n: number) => aPort(n, { addresses: [{ subnetId: 'storage', address: '10.1.0.1' }] })
const both = (first: string, second: string) => [
  { subnetId: 'storage', address: first },
  { subnetId: 'storage', address: second },
]
const withMtu = (mtu: number, id = 'net-b') => new Map<string, Network>([[id, { id, name: '', mtu }]])
const subnet = (more: Partial<Subnet>): Subnet => ({ ...backup, ...more })
const manyRoutes = Array.from({ length: 65 }, (_, n) => ({ destination: `10.9.${n}.0/24`, nexthop: '10.2.0.1' }))
const nicAt = (n: number, index: number, more: Partial<Interface> = {}) => aNic(n, index, more)
const other = (source: string) => ({ source, vmIds: [], subnetIds: [], indexes: [] })

const cases: Record<string, [given: Partial<Observed>, nodes: string[], verdicts: string[]]> = {
  'of two new ports with one MAC address the older one is delivered': [
    { ports: [aPort(3), sameMac(2), aPort(1)] },
    ['worker-1 multinic0=port-1 10.1.0.1 multinic1=port-3 10.1.0.3'],
    ['port-2 MacNotUnique: port port-1 of the same VM has the same MAC address fa:16:3e:00:00:01'],
  ],
  'the order of subnets does not decide which of two ports is delivered': [
    { ports: [aPort(1, { createdAt: '2026-11-16T00:00:00Z' }), sameMac(2)] },
    ['worker-1 multinic0=port-2 10.2.0.2'],
    ['port-1 MacNotUnique: port port-2 of the same VM has the same MAC address fa:16:3e:00:00:01'],
  ],
  'a delivered port keeps its MAC address, even if the other port is older': [
    { ports: [aPort(5, { macAddress }), sameMac(2), aPort(9)], delivered: [aNode([nicAt(5, 3, { macAddress })])] },
    ['worker-1 multinic0=port-9 10.1.0.9 multinic3=port-5 10.1.0.5'],
    ['port-2 MacNotUnique: port port-5 (multinic3) of the same VM has the same MAC address fa:16:3e:00:00:01'],
  ],
  'a delivered port of another object keeps its MAC address': [
    {
      ports: [aPort(1), sameMac(2)],
      delivered: [aNode([nicAt(1, 0, { source: 'ns/x' })])],
      claims: [other('ns/x')],
    },
    [],
    [
      'port-2 MacNotUnique: port port-1 (multinic0) of the same VM has the same MAC address fa:16:3e:00:00:01',
      'port-1 SelectedByOther: multinic0 of ns/x',
    ],
  ],
  'a port outside the subnets with the MAC address of a delivered one is not managed': [
    { ports: [aPort(1), outside(2, { macAddress })], delivered: [aNode([nicAt(1, 0)])] },
    [],
    ['port-2 NotSelected: the port has no address in a selected subnet'],
  ],
  'a port with the MAC address of a port that is removed takes its place': [
    {
      ports: [sameMac(2)],
      delivered: [aNode([nicAt(1, 0, { macAddress: 'fa:16:3e:00:00:01', portId: 'port-1', source: 'ns/main' })])],
      portChecks: detached(1),
    },
    ['worker-1 multinic0=port-2 10.2.0.2'],
    [],
  ],
  'of three ports with one MAC address one is delivered, as a port that was created again': [
    {
      ports: [aPort(7, { macAddress }), aPort(8, { macAddress })],
      delivered: [aNode([nicAt(1, 0)])],
    },
    ['worker-1 multinic0=port-8 10.1.0.8'],
    ['port-7 MacNotUnique: port port-8 (multinic0) of the same VM has the same MAC address fa:16:3e:00:00:01'],
  ],
  'one MAC address on two VMs is no conflict': [
    {
      vms: [
        { entry: 'vm-1', id: 'vm-1', state: 'found', name: 'worker-1' },
        { entry: 'vm-2', id: 'vm-2', state: 'found', name: 'worker-2' },
      ],
      ports: [aPort(1), sameMac(2, { serverId: 'vm-2' })],
    },
    ['worker-1 multinic0=port-1 10.1.0.1', 'worker-2 multinic0=port-2 10.2.0.2'],
    [],
  ],
  'of two new ports with one address the older one is delivered': [
    { ports: [sameAddress(4), sameAddress(2), aPort(3)] },
    ['worker-1 multinic0=port-2 10.1.0.1 multinic1=port-3 10.1.0.3'],
    ['port-4 AddressNotUnique: port port-2 of the same VM has the same address 10.1.0.1'],
  ],
  'every address of a port counts': [
    {
      ports: [aPort(1), aPort(2, { addresses: both('10.1.0.2', '10.1.0.7') }), aPort(7)],
      delivered: [aNode([nicAt(1, 0)])],
    },
    ['worker-1 multinic0=port-1 10.1.0.1 multinic1=port-2 10.1.0.2'],
    ['port-7 AddressNotUnique: port port-2 of the same VM has the same address 10.1.0.7'],
  ],
  'a delivered interface does not get the address of another one, and everything else is delivered': [
    {
      ports: [aPort(1), sameAddress(2), aPort(3)],
      delivered: [aNode([nicAt(1, 0), nicAt(2, 1)])],
    },
    ['worker-1 multinic0=port-1 10.1.0.1 multinic1=port-2 10.1.0.2 multinic2=port-3 10.1.0.3'],
    [
      'port-2 AddressNotUnique: multinic1 stays as it is: port port-1 (multinic0) of the same VM has the same address 10.1.0.1',
    ],
  ],
  'of two delivered interfaces that get one address, the older port gets it': [
    {
      ports: [
        aPort(1, { addresses: [{ subnetId: 'storage', address: '10.1.0.9' }] }),
        aPort(2, { addresses: [{ subnetId: 'storage', address: '10.1.0.9' }] }),
      ],
      delivered: [aNode([nicAt(1, 0), nicAt(2, 1)])],
    },
    ['worker-1 multinic0=port-1 10.1.0.9 multinic1=port-2 10.1.0.2'],
    [
      'port-2 AddressNotUnique: multinic1 stays as it is: port port-1 (multinic0) of the same VM has the same address 10.1.0.9',
    ],
  ],
  'an update that needs the address of one that is refused is refused too': [
    {
      ports: [
        aPort(1),
        aPort(2, { addresses: [{ subnetId: 'storage', address: '10.1.0.1' }] }),
        aPort(3, { addresses: [{ subnetId: 'storage', address: '10.1.0.2' }] }),
      ],
      delivered: [aNode([nicAt(1, 0), nicAt(2, 1), nicAt(3, 2)])],
    },
    [],
    [
      'port-2 AddressNotUnique: multinic1 stays as it is: port port-1 (multinic0) of the same VM has the same address 10.1.0.1',
      'port-3 AddressNotUnique: multinic2 stays as it is: port port-2 (multinic1) of the same VM has the same address 10.1.0.2',
    ],
  ],
  'a port that gets the MAC address of an interface whose port is missing becomes no second interface': [
    {
      ports: [aPort(1, { macAddress: aPort(2).macAddress, addresses: aPort(2).addresses }), aPort(3)],
      delivered: [aNode([nicAt(1, 0), nicAt(2, 1)])],
    },
    ['worker-1 multinic0=port-1 10.1.0.1 multinic1=port-2 10.1.0.2 multinic2=port-3 10.1.0.3'],
    [
      'port-1 MacNotUnique: multinic0 stays as it is: port port-2 (multinic1) of the same VM has the same MAC address fa:16:3e:00:00:02',
      'port-2 MacNotUnique: multinic1 stays as it is: port port-1 (multinic0) of the same VM has the same MAC address fa:16:3e:00:00:02',
    ],
  ],
  'two interfaces may exchange their addresses': [
    {
      ports: [
        aPort(1, { addresses: [{ subnetId: 'storage', address: '10.1.0.2' }] }),
        aPort(2, { addresses: [{ subnetId: 'storage', address: '10.1.0.1' }] }),
      ],
      delivered: [aNode([nicAt(1, 0), nicAt(2, 1)])],
    },
    ['worker-1 multinic0=port-1 10.1.0.2 multinic1=port-2 10.1.0.1'],
    [],
  ],
  'a network whose MTU is too small': [
    { ports: [aPort(1), aPort(2, { subnet: backup })], networks: withMtu(60) },
    ['worker-1 multinic0=port-1 10.1.0.1'],
    ['port-2 PortInvalid: mtu: 60 is not a whole number from 68 to 9216'],
  ],
  'a network whose MTU becomes too large': [
    {
      ports: [aPort(1), aPort(3, { subnet: backup })],
      delivered: [aNode([nicAt(1, 0, { mtu: 1500 })])],
      networks: withMtu(65_520, 'net-s'),
    },
    ['worker-1 multinic0=port-1 10.1.0.1 multinic1=port-3 10.2.0.3'],
    ['port-1 PortInvalid: multinic0 stays as it is: mtu: 65520 is not a whole number from 68 to 9216'],
  ],
  'an address outside its subnet': [
    { ports: [aPort(1), aPort(2, { addresses: [{ subnetId: 'storage', address: '10.7.0.2' }] })] },
    ['worker-1 multinic0=port-1 10.1.0.1'],
    ['port-2 PortInvalid: address: 10.7.0.2 is outside 10.1.0.0/24'],
  ],
  'an address that no interface can have': [
    { ports: [aPort(1), aPort(2, { addresses: [{ subnetId: 'storage', address: '10.1.0.255' }] })] },
    ['worker-1 multinic0=port-1 10.1.0.1'],
    ['port-2 PortInvalid: address: 10.1.0.255 is the broadcast address of 10.1.0.0/24'],
  ],
  'a subnet with more routes than an interface can have': [
    { subnets: [storage, subnet({ routes: manyRoutes })], ports: [aPort(1), aPort(2, { subnet: backup })] },
    ['worker-1 multinic0=port-1 10.1.0.1'],
    ['port-2 PortInvalid: routes: Too big: expected array to have <=64 items'],
  ],
  'a subnet with a route to another address family': [
    {
      subnets: [storage, subnet({ routes: [{ destination: 'fd00::/64', nexthop: '10.2.0.1' }] })],
      ports: [aPort(1), aPort(2, { subnet: backup })],
    },
    ['worker-1 multinic0=port-1 10.1.0.1'],
    ['port-2 PortInvalid: routes: 10.2.0.1 and fd00::/64 must be of the same address family'],
  ],
  'a MAC address that is none': [
    { ports: [aPort(1), aPort(2, { macAddress: '80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:31:78:f2' })] },
    ['worker-1 multinic0=port-1 10.1.0.1'],
    [
      'port-2 PortInvalid: macAddress: "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:31:78:f2" is not a MAC address; write six hex pairs with colons',
    ],
  ],
}

for (const [name, [given, nodes, verdicts]] of Object.entries(cases))
  test(name, () => {
    const plan = planNodes(observed(given))
    const sent = plan.nodes.filter(({ action }) => action === 'send')
    const texts = sent.map(({ nodeName, interfaces }) =>
      [nodeName, ...interfaces.map(nic => `${nic.name}=${nic.portId} ${nic.address}`)].join(' '),
    )
    const reported = plan.verdicts
      .filter(({ reason }) => reason !== 'Selected')
      .map(({ portId, reason, message }) => `${portId} ${reason}: ${message}`)
    assert.deepEqual([texts, reported], [nodes, verdicts])
  })

let environment: OperatorEnvironment | undefined
afterEach(async () => {
  await environment?.close()
  environment = undefined
})

test('two ports with one MAC address on a VM hold up neither its other ports nor its changes, and the status names them', async () => {
  environment = await startOperatorEnvironment()
  const { cloudState, create, config, nodes, startOperator } = environment
  const [first, second] = ['10.10.0.0/24', '10.20.0.0/24'].map((cidr, n) =>
    addSubnet(cloudState, { name: `net-${n}`, cidr, mtu: 1500 }),
  )
  assert.ok(first && second)
  const server = addServer(cloudState, 'worker-1')
  const attach = (to: typeof first, address: string) => {
    const port = addPort(cloudState, { server, subnet: to, address })
    setPortStatus(cloudState, port.id, 'ACTIVE')
    return port
  }
  const delivered = attach(first, '10.10.0.10')
  await startOperator()
  await create({})
  const interfaces = async () => (await nodes()).flatMap(({ spec }) => spec.interfaces)
  await eventually(async () => assert.equal((await interfaces()).length, 1))

  const rival = attach(second, '10.20.0.10')
  rival.macAddress = delivered.macAddress
  const good = attach(second, '10.20.0.11')
  first.gatewayIp = '10.10.0.254'
  const force = { 'multinic.io/force-reconcile': '1' }
  await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations: force } })
  await eventually(async () => {
    const [one, two, ...more] = await interfaces()
    assert.deepEqual([one?.portId, one?.gateway, two?.portId, more], [delivered.id, '10.10.0.254', good.id, []])
    const { conditions, ports } = (await config()).status ?? {}
    const degraded = conditions?.find(({ type }) => type === 'Degraded')
    assert.equal(degraded?.reason, 'MacNotUnique', JSON.stringify(conditions))
    assert.match(
      degraded?.message ?? '',
      new RegExp(`port ${delivered.id} \\(multinic0\\) of the same VM has the same MAC`),
    )
    assert.match(JSON.stringify(ports), new RegExp(rival.id))
  })
})
