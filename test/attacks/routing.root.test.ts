/**
 * Attacks on routing: packets with a foreign source keep their way.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { diskOf, requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, configureAll, outcomes, requestAll } from './attack.ts'

const cases: Attack[] = [
  {
    finding: 'F1',
    name: 'three NICs in one subnet: each packet leaves by the NIC of its source, and those of the node by the primary NIC',
    options: { nics: 3, oneSubnet: true },
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured', 'Configured', 'Configured'], result.log)
      for (const [index, nic] of node.nics.entries())
        assert.match(node.ip('route', 'get', nic.gateway, 'from', nic.address), new RegExp(`dev multinic${index} `))
      assert.match(node.ip('route', 'get', '10.100.0.1'), /dev multinic0 .*src 10\.100\.0\.10/)
      assert.match(node.ip('route', 'get', '10.100.0.1', 'from', '10.0.0.10'), /dev ens3/)
    },
  },
  {
    finding: 'F1',
    name: 'a foreign rule that diverts packets of the NIC stays, and the NIC is not reported as configured',
    prepare: node => void node.ip('rule', 'add', 'from', '10.100.0.10', 'lookup', 'main', 'priority', '500'),
    expect: result => {
      assert.deepEqual(outcomes(result), ['Failed VerifyFailed'], result.log)
      assert.match(
        result.report?.interfaces[0]?.message ?? '',
        /packets from 10\.100\.0\.10 to 192\.0\.2\.1 leave by ens3, table 254, expected by multinic0/,
      )
    },
  },
  {
    finding: 'F1',
    name: 'packets of a configured NIC are checked while a new NIC is missing',
    options: { nics: 2 },
    prepare: async node => {
      const [first] = requestAll(node).interfaces ?? []
      await node.agent({ interfaces: first ? [first] : [] })
      node.ip('rule', 'add', 'from', '10.100.0.10', 'lookup', 'main', 'priority', '500')
      node.ip('link', 'delete', 'ens5')
    },
    // The rig takes the rule for one of ours.
    cleanup: false,
    expect: result => {
      assert.deepEqual(outcomes(result), ['Failed VerifyFailed', 'Pending NicMissing'], result.log)
      assert.match(
        result.report?.interfaces[0]?.message ?? '',
        /packets from 10\.100\.0\.10 to 192\.0\.2\.1 leave by ens3/,
      )
    },
  },
  {
    finding: 'F1',
    name: "a foreign rule that moves packets from the node's address to our table is reported",
    prepare: async node => {
      await configureAll(node)
      node.ip('rule', 'add', 'to', '10.100.0.0/24', 'lookup', '100', 'priority', '500')
    },
    request: node => ({ ...requestAll(node), mode: 'check' }),
    // The rig takes the rule for one of ours.
    cleanup: false,
    expect: result => {
      assert.equal(result.report?.verdict, 'Drifted', result.log)
      assert.match(
        result.report?.message ?? '',
        /packets from 10\.0\.0\.10 to 10\.100\.0\.1 leave by multinic0, expected by another device/,
      )
    },
  },
  {
    finding: 'F1',
    name: 'the rules of Cilium, Calico and wg-quick stay, and ours work beside them',
    options: { nics: 3, oneSubnet: true },
    prepare: node => {
      const rules = [
        // Cilium: its proxy, and the local table after it.
        ['add', 'pref', '9', 'fwmark', '0x200/0xf00', 'lookup', '2004'],
        ['add', 'pref', '100', 'lookup', 'local'],
        ['del', 'pref', '0', 'lookup', 'local'],
        // Calico with WireGuard.
        ['add', 'pref', '99', 'not', 'fwmark', '0x100000/0x100000', 'lookup', '1'],
        // wg-quick with a default route.
        ['add', 'pref', '32764', 'lookup', 'main', 'suppress_prefixlength', '0'],
        ['add', 'pref', '32765', 'not', 'fwmark', '0xca6c', 'lookup', '51820'],
      ]
      for (const family of ['-4', '-6']) for (const rule of rules) node.ip(family, 'rule', ...rule)
      node.ip('route', 'add', '10.244.0.0/16', 'dev', 'ens3', 'table', '1')
      node.ip('route', 'add', 'default', 'via', '10.0.0.1', 'dev', 'ens3', 'table', '51820')
    },
    request: node => ({
      interfaces: node.nics.map((nic, index) => requestedInterface(nic, index, { addresses: [nic.address6] })),
    }),
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured', 'Configured', 'Configured'], result.log)
      for (const [index, nic] of node.nics.entries())
        for (const [to, from = ''] of [
          [nic.gateway, nic.address],
          [nic.gateway6, nic.address6.split('/')[0]],
        ])
          assert.match(node.ip('route', 'get', to ?? '', 'from', from), new RegExp(`dev multinic${index} `))
      assert.match(node.ip('route', 'get', '10.100.0.77'), /dev multinic0 /)
      assert.match(node.ip('route', 'get', '192.0.2.1'), /dev ens3 table 51820/)
    },
  },
  {
    finding: 'F1',
    name: "the node's default route comes after the agent, on a NIC that is not hardware: the next run uses it",
    prepare: node => void node.ip('route', 'del', 'default'),
    // It sets the default route.
    cleanup: false,
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      assert.match(node.exec('nft', 'list', 'set', 'ip', 'multinic', 'wires'), /"ens3"/)
      node.ip('route', 'add', 'default', 'via', '10.0.0.1', 'dev', 'ens3')
      const later = await node.agent({ ...requestAll(node), mode: 'check' })
      assert.match(
        later.report?.message ?? '',
        /packets from 10\.0\.0\.10 to 10\.100\.0\.1 leave by multinic0/,
        later.log,
      )
      const again = await node.agent(requestAll(node))
      assert.deepEqual(outcomes(again), ['Configured'], again.log)
    },
  },
  {
    finding: 'F2',
    name: '5,000 routes of a routing daemon are no drift, and neither rules nor files depend on them',
    options: { nics: 3 },
    prepare: configureAll,
    request: node => ({ ...requestAll(node), mode: 'check' }),
    expect: async (result, node) => {
      assert.equal(result.report?.verdict, 'InSync', result.log)
      const stateOf = () => [node.ip('rule'), node.exec('nft', 'list', 'table', 'ip', 'multinic'), diskOf(node)]
      const before = stateOf()
      const lines = Array.from(
        { length: 5_000 },
        (_, at) => `route add 10.${200 + (at >> 8)}.${at & 255}.0/24 via 10.0.0.1 proto bird`,
      )
      writeFileSync(node.path('routes'), `${lines.join('\n')}\n`)
      node.ip('-batch', node.path('routes'))
      const check = await node.agent({ ...requestAll(node), mode: 'check' })
      assert.equal(check.report?.verdict, 'InSync', check.log)
      assert.equal((await node.agent(requestAll(node))).report?.changed, 0)
      assert.deepEqual(stateOf(), before)
      node.ip('route', 'flush', 'proto', 'bird')
    },
  },
  {
    finding: 'F13',
    name: 'a second router for one destination is refused, not left out',
    request: node => ({
      interfaces: node.nics.map((nic, index) =>
        requestedInterface(nic, index, {
          routes: [
            { destination: '172.16.0.0/12', nexthop: '10.100.0.2' },
            { destination: '172.16.0.0/12', nexthop: '10.100.0.3' },
          ],
        }),
      ),
    }),
    expect: result => assert.deepEqual(outcomes(result), ['Failed RouteInvalid'], result.log),
  },
]

attacks('routing', cases)
