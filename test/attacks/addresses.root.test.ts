/**
 * Attacks by addresses that the node needs elsewhere: nothing may become the node's that other machines answer to.
 */
import assert from 'node:assert/strict'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import { type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, outcomes } from './attack.ts'

const requestFor =
  (address: string, more: Partial<AgentInput> = {}) =>
  (node: RigNode) => ({
    interfaces: node.nics.map(nic =>
      requestedInterface(nic, 0, {
        address,
        cidr: `${address.replace(/\d+$/, '0')}/24`,
        gateway: address.replace(/\d+$/, '254'),
      }),
    ),
    ...more,
  })

/** The NIC stays as it was, and the node still reaches its gateway. */
const refusedFor =
  (message: RegExp): Attack['expect'] =>
  (result, node) => {
    assert.deepEqual(outcomes(result), ['Failed AddressConflict'], result.log)
    assert.match(result.report?.interfaces[0]?.message ?? '', message)
    assert.match(node.ip('-o', 'link'), /ens4/)
    assert.match(node.exec('ping', '-c1', '-W2', '10.0.0.1'), / 0% packet loss/)
  }

const neighbour =
  (...state: string[]) =>
  (node: RigNode) =>
    void node.ip('neigh', 'add', '10.0.0.53', 'lladdr', 'fa:16:3e:aa:00:53', 'dev', 'ens3', 'nud', ...state)

const cases: Attack[] = [
  {
    finding: 'F3',
    name: 'the gateway of the node',
    request: requestFor('10.0.0.1'),
    expect: refusedFor(/10\.0\.0\.1 is the next hop of the route to default on ens3/),
  },
  {
    finding: 'F3',
    name: 'the next hop of a multipath route in a table of others',
    prepare: node =>
      void node.ip(
        ...'route add 172.20.0.0/16 table 500 nexthop via 10.0.0.7 dev ens3 nexthop via 10.0.0.8 dev ens3'.split(' '),
      ),
    request: requestFor('10.0.0.8'),
    expect: refusedFor(/10\.0\.0\.8 is the next hop of the route to 172\.20\.0\.0\/16 on ens3/),
  },
  {
    finding: 'F3',
    name: 'the address of another Node',
    request: requestFor('10.0.0.53', { addressesOfNodes: [{ address: '10.0.0.53', nodeName: 'worker-2' }] }),
    expect: refusedFor(/10\.0\.0\.53 is the address of the Node worker-2/),
  },
  {
    finding: 'F3',
    name: 'a DNS server of the node',
    options: { files: { '/etc/resolv.conf': 'nameserver 127.0.0.53\nnameserver 10.0.0.2\n' } },
    request: requestFor('10.0.0.2'),
    expect: refusedFor(/10\.0\.0\.2 is a DNS server of this node/),
  },
  {
    finding: 'F3',
    name: 'an address of a Service',
    request: requestFor('10.96.0.10', { serviceCIDRs: ['10.96.0.0/16'] }),
    expect: refusedFor(/10\.96\.0\.10 is in the range of Services 10\.96\.0\.0\/16/),
  },
  {
    finding: 'F3',
    name: 'a machine that the node has talked to',
    prepare: neighbour('stale'),
    request: requestFor('10.0.0.53'),
    expect: refusedFor(/10\.0\.0\.53 is the address of the machine fa:16:3e:aa:00:53 on ens3/),
  },
  {
    finding: 'F3',
    name: 'a machine that no longer replies is no obstacle',
    prepare: neighbour('failed'),
    request: requestFor('10.0.0.53'),
    // The entry ages meanwhile.
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
  {
    finding: 'L3',
    name: 'a route to multicast addresses changes nothing',
    request: node => ({
      interfaces: node.nics.map((nic, index) =>
        requestedInterface(nic, index, { routes: [{ destination: '224.0.0.0/4', nexthop: nic.gateway }] }),
      ),
    }),
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed RouteInvalid'], result.log)
      assert.match(node.ip('-o', 'link'), /ens4/)
    },
  },
  ...['169.254.169.254/32', '127.0.0.53/8', '10.100.0.255/24', '10.100.0.0/24', '224.0.0.1/4', '0.0.0.0/24'].map(
    (cidr): Attack => ({
      finding: 'L1',
      name: `${cidr} is no address of a NIC`,
      request: node => ({
        interfaces: node.nics.map((nic, index) =>
          requestedInterface(nic, index, { address: cidr.split('/')[0] ?? '', cidr, gateway: nic.gateway }),
        ),
      }),
      expect: (result, node) => {
        assert.deepEqual([result.report?.verdict, result.report?.reason], ['Failed', 'InputInvalid'], result.log)
        assert.match(node.ip('-o', 'link'), /ens4/)
      },
    }),
  ),
]

attacks('addresses', cases)
