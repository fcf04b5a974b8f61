/**
 * Attacks on the guard of the primary: a cloud provider that lists the addresses of every port as the node's.
 */
import assert from 'node:assert/strict'
import type { RigNode } from '../rigs/host/node.ts'
import { type Attack, attacks, configureAll, outcomes, requestAll } from './attack.ts'

/** Every InternalIP of the Node. */
const listingAll = (node: RigNode, ...before: string[]) => ({
  ...requestAll(node),
  nodeAddresses: [...before, ...node.nics.map(({ address }) => address)],
})

/** The NIC is up with the requested address, as after DHCP. */
function setAddress(node: RigNode): void {
  const [nic] = node.nics
  node.ip('link', 'set', nic?.name ?? '', 'up')
  node.ip('address', 'add', `${nic?.address}/24`, 'dev', nic?.name ?? '')
}

const cases: Attack[] = [
  {
    finding: 'F2',
    name: 'a Node that lists the addresses of all NICs after the attach changes nothing, and the networks stay reachable',
    options: { nics: 2 },
    prepare: configureAll,
    request: node => listingAll(node, '10.0.0.10'),
    expect({ report, log }, node) {
      assert.deepEqual([report?.verdict, report?.changed], ['Configured', 0], log)
      for (const [index, { gateway }] of node.nics.entries())
        assert.match(node.ip('route', 'get', gateway), new RegExp(`dev multinic${index} `))
    },
  },
  {
    finding: 'F2',
    name: 'an address that DHCP set first and the Node lists is not the address of the node',
    prepare: setAddress,
    request: node => listingAll(node, '10.0.0.10'),
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
  {
    finding: 'F2',
    name: 'the first listed address is the node’s own, and its NIC is refused as the primary',
    prepare: setAddress,
    request: node => ({ ...listingAll(node), nodeAddresses: [node.nics[0]?.address ?? '', '10.0.0.10'] }),
    expect: result => assert.deepEqual(outcomes(result), ['Failed HasNodeAddress'], result.log),
  },
  {
    finding: 'F2',
    name: 'the address on the NIC with the default route is the node’s own, wherever it is listed',
    prepare: setAddress,
    ours: () => [],
    request: node => ({
      interfaces: [{ ...primaryPort, id: 0, name: 'multinic0' }],
      nodeAddresses: [node.nics[0]?.address ?? '', '10.0.0.10'],
    }),
    expect: result =>
      assert.match(outcomes(result).join(), /^Failed (CarriesDefaultRoute|HasNodeAddress)$/, result.log),
  },
]

const primaryPort = { macAddress: 'fa:16:3e:ff:00:00', address: '10.0.0.10', cidr: '10.0.0.0/24', gateway: '10.0.0.1' }

attacks('addresses of the node', cases)
