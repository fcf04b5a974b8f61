/** Which listed addresses are the node's own, and what follows from the others: nothing (F2). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { ownedNics } from '../backends/owned.ts'
import { hostPaths } from '../paths.ts'
import { type Plan, planRun } from '../plan/plan.ts'
import type { Observed } from '../state/observed.ts'
import {
  afterPlan,
  aLink,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  changesOf,
  macOf,
  primaryMac,
  settingsFrom,
} from '../test/agent.fixture.ts'
import { nodeAddressesOf } from './node-addresses.ts'

function planWith(nodeAddresses: readonly string[], observed: Observed, interfaces: readonly Interface[]): Plan {
  return planRun({ interfaces, nodeAddresses, settings: settingsFrom(), paths: hostPaths, observed })
}

const refusalsOf = ({ refused }: Plan) => [...refused.values()].map(({ reason, message }) => `${reason}: ${message}`)

/** The NIC is up with its requested address, as after DHCP. */
function leased(node: Observed, ifindex: number, cidr: string): Observed {
  const links = node.links.map(link => (link.ifindex === ifindex ? aLink({ ...link, up: true }) : link))
  return { ...node, links, addresses: [...node.addresses, anAddress(ifindex, cidr)] }
}

const addresses = ['fd00:100::10/64']
const dualStack = [anInterface(0, { addresses }), anInterface(1)]

test('a Node that lists the addresses of all ports after an attach changes nothing', () => {
  const node = afterPlan(aNode(2), dualStack)
  for (const listed of [
    ['10.0.0.10', '10.100.0.10', '10.101.0.10', 'fd00:100::10'],
    ['10.101.0.10', '10.100.0.10', 'fd00:100::10', '10.0.0.10'],
  ]) {
    const plan = planWith(listed, node, dualStack)
    assert.deepEqual([changesOf(plan), refusalsOf(plan)], [[], []], listed.join())
  }
})

test('a Node that lists the addresses of all ports before the first run changes nothing either', () => {
  const plan = planWith(['10.0.0.10', '10.100.0.10', '10.101.0.10'], aNode(2), dualStack)
  assert.deepEqual(changesOf(plan), changesOf(planWith(['10.0.0.10'], aNode(2), dualStack)))
})

test('an address that DHCP set first and the Node lists is not the address of the node', () => {
  const node = leased(aNode(1), 3, '10.100.0.10/24')
  assert.deepEqual(refusalsOf(planWith(['10.0.0.10', '10.100.0.10'], node, [anInterface(0)])), [])
  // The kernel selects the primary's default route.
  const second = aRoute(3, 'default', { gateway: '10.100.0.1', metric: 200 })
  const plan = planWith(['10.0.0.10', '10.100.0.10'], { ...node, routes: [...node.routes, second] }, [anInterface(0)])
  assert.ok(!refusalsOf(plan).some(text => text.startsWith('HasNodeAddress')))
})

const primaryPort = { macAddress: primaryMac, address: '10.0.0.10', cidr: '10.0.0.0/24', gateway: '10.0.0.1' }
const withoutDefault = { ...aNode(1), routes: [] }

const refused: Record<string, [listed: string[], node: Observed, expected: string, requested?: Partial<Interface>]> = {
  'the only listed address': [
    ['10.0.0.10'],
    withoutDefault,
    "HasNodeAddress: ens3 has the node's address 10.0.0.10/24",
    primaryPort,
  ],
  'the first listed address': [
    ['10.100.0.10', '10.0.0.10'],
    leased(aNode(1), 3, '10.100.0.10/24'),
    "HasNodeAddress: ens4 has the node's address 10.100.0.10/24",
  ],
  'the only listed IPv6 address': [
    ['10.0.0.10', 'FD00:0100:0::10'],
    leased(aNode(1), 3, 'fd00:100::10/64'),
    "HasNodeAddress: ens4 has the node's address fd00:100::10/64",
    { addresses },
  ],
}

for (const [name, [listed, node, expected, requested]] of Object.entries(refused))
  test(`${name} is refused as the primary port`, () => {
    assert.deepEqual(refusalsOf(planWith(listed, node, [anInterface(0, requested)])), [expected])
  })

test('the address on the NIC with the default route is one of the node, wherever it is listed', () => {
  const node = leased(aNode(1), 3, '10.100.0.10/24')
  const other = aLink({ ifindex: 9, name: 'vip0', macAddress: '02:00:00:00:00:09', up: true })
  const behind = { ...node, links: [...node.links, other], addresses: [...node.addresses, anAddress(9, '10.0.9.9/32')] }
  const listed = ['10.0.9.9', '10.100.0.10', '10.0.0.10']
  assert.deepEqual(nodeAddressesOf(listed, behind, []), ['10.0.9.9', '10.0.0.10'])
})

test('the record of a NIC that is gone does not make its address ours', () => {
  const configured = afterPlan(aNode(2), [anInterface(0)])
  const gone = {
    ...configured,
    links: configured.links.filter(({ macAddress }) => macAddress !== macOf(0)),
    addresses: [...aNode(2).addresses, anAddress(2, '10.100.0.10/24')],
  }
  const owned = ownedNics(gone, hostPaths)
  assert.deepEqual([owned.length, nodeAddressesOf(['10.100.0.10'], gone, owned)], [1, ['10.100.0.10']])
})
