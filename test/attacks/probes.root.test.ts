/**
 * Attacks on the word Configured: NICs that cannot send, or that nobody answers.
 */
import assert from 'node:assert/strict'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import { type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, configureAll, outcomes } from './attack.ts'

function ipv6Only(node: RigNode): Partial<AgentInput> {
  const interfaces = node.nics.map((nic, index) => {
    const { address: _, cidr: __, ...rest } = requestedInterface(nic, index)
    return { ...rest, addresses: [nic.address6], gateway: nic.gateway6 }
  })
  return { interfaces }
}

function dualStack(node: RigNode): Partial<AgentInput> {
  const interfaces = node.nics.map((nic, index) => {
    const routes = [{ destination: '::/0', nexthop: nic.gateway6 }]
    return requestedInterface(nic, index, { addresses: [nic.address6], routes })
  })
  return { interfaces }
}

const cases: Attack[] = [
  {
    finding: 'F9',
    name: 'an IPv6-only NIC works with NETWORK_PROBE=required: its gateway is asked after DAD',
    request: ipv6Only,
    env: { NETWORK_PROBE: 'required' },
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
  {
    finding: 'F9',
    name: 'an IPv6-only NIC whose gateway does not reply fails with NETWORK_PROBE=required',
    prepare: node => void node.fabricIp('address', 'del', 'fd00::1/64', 'dev', 'br1'),
    request: ipv6Only,
    env: { NETWORK_PROBE: 'required' },
    expect: result => {
      assert.deepEqual(outcomes(result), ['Failed GatewayUnreachable'], result.log)
      assert.equal(result.report?.interfaces[0]?.message, 'no reply from fd00::1')
    },
  },
  {
    finding: 'F9',
    name: 'a dual-stack NIC is probed over IPv6 too',
    prepare: node => void node.fabricIp('address', 'del', 'fd00::1/64', 'dev', 'br1'),
    request: dualStack,
    env: { NETWORK_PROBE: 'required' },
    expect: result => {
      assert.deepEqual(outcomes(result), ['Failed GatewayUnreachable'], result.log)
      assert.equal(result.report?.interfaces[0]?.message, 'no reply from fd00::1')
    },
  },
  {
    finding: 'L4',
    name: 'a NIC without carrier fails',
    prepare: node => void node.fabricIp('link', 'set', 'p1', 'down'),
    expect: result => {
      assert.deepEqual(outcomes(result), ['Failed LinkDown'], result.log)
      assert.equal(result.report?.interfaces[0]?.message, 'link has no carrier')
    },
  },
  {
    finding: 'L4',
    name: 'a configured NIC that has lost its carrier is not Configured, and keeps its configuration',
    prepare: async node => {
      await configureAll(node)
      node.fabricIp('link', 'set', 'p1', 'down')
    },
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed LinkDown'], result.log)
      assert.deepEqual([result.report?.changed, result.report?.undone], [0, []])
      assert.match(node.ip('address', 'show', 'multinic0'), /10\.100\.0\.10\/24/)
    },
  },
  {
    finding: 'L4',
    name: 'a configured NIC whose gateway has gone fails with NETWORK_PROBE=required, and keeps its configuration',
    options: { nics: 2 },
    prepare: async node => {
      await configureAll(node)
      node.fabricIp('address', 'del', '10.100.0.1/24', 'dev', 'br1')
      node.ip('neigh', 'flush', 'all')
    },
    env: { NETWORK_PROBE: 'required' },
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed GatewayUnreachable', 'Configured'], result.log)
      assert.deepEqual([result.report?.changed, result.report?.undone], [0, []])
      assert.match(node.ip('address', 'show', 'multinic0'), /10\.100\.0\.10\/24/)
    },
  },
  {
    finding: 'L4',
    name: 'the gateway of a configured NIC is probed while another NIC changes',
    options: { nics: 2 },
    prepare: async node => {
      await configureAll(node)
      node.fabricIp('address', 'del', '10.100.0.1/24', 'dev', 'br1')
      node.ip('neigh', 'flush', 'all')
      node.ip('link', 'set', 'multinic1', 'mtu', '1400')
    },
    expect: result => {
      assert.deepEqual(outcomes(result), ['Configured', 'Configured'], result.log)
      assert.equal(result.report?.interfaces[0]?.message, 'no reply from 10.100.0.1')
      assert.ok(result.report?.changed)
    },
  },
]

attacks('probes', cases)
