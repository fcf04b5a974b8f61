/**
 * Attacks by devices: names that others have, and devices stacked on the NIC.
 */
import assert from 'node:assert/strict'
import { type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, configureAll, outcomes } from './attack.ts'

const macvlan = (node: RigNode, parent: string) => {
  node.ip('link', 'add', 'child0', 'link', parent, 'type', 'macvlan', 'mode', 'bridge')
  node.ip('link', 'set', 'child0', 'up')
}

const cases: Attack[] = [
  {
    finding: 'F4',
    name: 'an altname if<ifindex> on the primary does not move the primary',
    prepare: node => {
      const [nic] = JSON.parse(node.ip('-j', 'link', 'show', 'ens4')) as { ifindex: number }[]
      node.ip('link', 'property', 'add', 'dev', 'ens3', 'altname', `if${nic?.ifindex}`)
    },
    expect: result => assert.deepEqual(outcomes(result), ['Failed InterfaceNameInUse'], result.log),
  },
  {
    finding: 'F4',
    name: 'the same altname on another device prevents a removal',
    prepare: async node => {
      await configureAll(node)
      const [nic] = JSON.parse(node.ip('-j', 'link', 'show', 'multinic0')) as { ifindex: number }[]
      node.ip('link', 'property', 'add', 'dev', 'ens3', 'altname', `if${nic?.ifindex}`)
    },
    request: () => ({ mode: 'cleanup', interfaces: [] }),
    expect: (result, node) => {
      assert.deepEqual([result.report?.verdict, result.report?.reason], ['Failed', 'InterfaceNameInUse'], result.log)
      assert.match(node.ip('-o', 'link'), /multinic0/)
    },
  },
  {
    finding: 'F6',
    name: 'the parent of a foreign device is refused, and the child keeps its MTU and address',
    prepare: node => {
      node.ip('link', 'set', 'ens4', 'up')
      macvlan(node, 'ens4')
      node.ip('address', 'add', '10.77.0.1/24', 'dev', 'child0')
    },
    env: { PREFLIGHT_ALLOW_UP: 'true' },
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed LinkHasUpperDevices'], result.log)
      assert.match(result.report?.message ?? '', /child0/)
      assert.match(node.ip('-o', 'link', 'show', 'ens4'), /mtu 1500/)
    },
  },
  {
    finding: 'F6',
    name: 'a vxlan on the NIC is seen too, while the NIC is down',
    prepare: node =>
      void node.ip(
        'link',
        'add',
        'vx0',
        'type',
        'vxlan',
        'id',
        '7',
        'dev',
        'ens4',
        'remote',
        '10.100.0.9',
        'dstport',
        '4789',
      ),
    expect: result => assert.deepEqual(outcomes(result), ['Failed LinkHasUpperDevices'], result.log),
  },
  {
    finding: 'F6',
    name: 'a child of our NIC stays: addresses may change, a smaller MTU, another name and a removal are refused',
    options: { nics: 2 },
    prepare: async node => {
      await configureAll(node)
      macvlan(node, 'multinic0')
    },
    request: node => ({
      interfaces: node.nics.map((nic, index) =>
        requestedInterface(nic, index, index === 0 ? { address: '10.100.0.20' } : {}),
      ),
    }),
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured', 'Configured'], result.log)
      const [a, b] = node.nics
      assert.ok(a && b)
      const smaller = await node.agent({
        interfaces: [requestedInterface(a, 0, { address: '10.100.0.20', mtu: 1400 }), requestedInterface(b, 1)],
      })
      assert.deepEqual(outcomes(smaller), ['Failed LinkHasUpperDevices', 'Configured'], smaller.log)
      const exchanged = await node.agent({
        interfaces: [requestedInterface(b, 0), requestedInterface(a, 1, { address: '10.100.0.20' })],
      })
      assert.equal(exchanged.report?.verdict, 'Failed', exchanged.log)
      assert.match(exchanged.report?.message ?? '', /child0/)
      const removed = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.deepEqual(
        [removed.report?.verdict, removed.report?.reason],
        ['Failed', 'LinkHasUpperDevices'],
        removed.log,
      )
      assert.match(node.ip('-o', 'link', 'show', 'multinic0'), /UP.* mtu 1450/)
      node.ip('link', 'del', 'child0')
    },
    cleanup: false,
  },
  {
    finding: 'F6',
    name: 'a NIC under a macvlan of a Pod, which the node does not list, keeps its name, and so does the one that would take it',
    options: { nics: 2 },
    prepare: async node => {
      await configureAll(node)
      node.ip('link', 'add', 'net1', 'link', 'multinic0', 'netns', node.fabric, 'type', 'macvlan', 'mode', 'bridge')
      node.fabricIp('link', 'set', 'net1', 'up')
    },
    request: node => ({ interfaces: node.nics.map((nic, index) => requestedInterface(nic, 1 - index)) }),
    expect: async (result, node) => {
      assert.deepEqual(
        outcomes(result).toSorted(),
        ['Failed InterfaceNameInUse', 'Failed LinkHasUpperDevices'],
        result.log,
      )
      assert.match(result.report?.message ?? '', /uses multinic0 as lower device; stop the Pod first/)
      const request = { interfaces: node.nics.map((nic, index) => requestedInterface(nic, index)) }
      const kept = await node.agent(request)
      assert.deepEqual([kept.report?.verdict, kept.report?.changed], ['Configured', 0], kept.log)
      node.fabricIp('link', 'del', 'net1')
      const moved = await node.agent({ interfaces: node.nics.map((nic, index) => requestedInterface(nic, 1 - index)) })
      assert.deepEqual(outcomes(moved), ['Configured', 'Configured'], moved.log)
    },
  },
  {
    finding: 'L3',
    name: 'a removal does not guess which of two devices with one MAC address is ours',
    options: { nics: 2 },
    prepare: async node => {
      const [nic] = node.nics
      assert.ok(nic)
      const result = await node.agent({ interfaces: [requestedInterface(nic, 0)] })
      assert.equal(result.report?.verdict, 'Configured', result.log)
      node.ip('link', 'set', 'ens5', 'address', nic.macAddress)
      node.ip('link', 'set', 'ens5', 'up')
    },
    request: () => ({ mode: 'cleanup', interfaces: [] }),
    expect: (result, node) => {
      assert.deepEqual([result.report?.verdict, result.report?.reason], ['Failed', 'NicAmbiguous'], result.log)
      assert.match(node.ip('-o', 'link'), /multinic0/)
    },
  },
]

attacks('devices', cases)
