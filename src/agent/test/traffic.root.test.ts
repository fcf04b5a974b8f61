/**
 * Policy routing with real traffic, behind a fabric that filters like a cloud: a packet that leaves by the wrong NIC is lost.
 *
 * Each case is sent and received, with bound sockets and without, with loose and with strict reverse path filters.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { pingStream } from '../../../test/rigs/host/cloud.ts'
import { kernelState, routesInTable } from '../../../test/rigs/host/kernel-state.ts'
import { type RigNode, withNode } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'
import {
  addPrimary6,
  configureLikeDecision55,
  lostPings,
  prepareTraffic,
  primaryAddresses,
  type TrafficCase,
  trafficCases,
} from './traffic.fixture.ts'

/** Of the reverse path filter of the node, and of the NICs alone. */
interface Filters {
  node: 'loose' | 'strict'
  nics: 'loose' | 'strict'
}

async function run(entry: TrafficCase, node: RigNode, filters: Filters): Promise<void> {
  if (filters.node === 'strict')
    node.exec('sh', '-c', 'for f in all default ens3; do echo 1 > /proc/sys/net/ipv4/conf/$f/rp_filter; done')
  const { interfaces, peers = {} } = prepareTraffic(entry, node)
  try {
    const input = { interfaces, nodeAddresses: primaryAddresses }
    const ran = await node.agent(input, { NETWORK_SET_RP_FILTER_LOOSE: String(filters.nics === 'loose') })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    await eventually(() => assert.doesNotMatch(node.ip('-6', 'address'), /tentative/))
    const unsent = filters.nics === 'strict' ? (entry.needLooseNics ?? []) : []
    const pings = entry.pings.filter(ping => !unsent.includes(ping))
    assert.deepEqual(await lostPings(node, pings, peers), [], ran.log)
  } finally {
    for (const peer of Object.values(peers)) peer.remove()
  }
}

suite('traffic', { concurrency: 2 }, () => {
  for (const [name, entry] of Object.entries(trafficCases)) {
    for (const filter of ['loose', 'strict'] as const)
      test(`${name}, ${filter} reverse path filter`, () =>
        withNode(entry.options, node => run(entry, node, { node: filter, nics: 'loose' })))
    const limit = entry.needLooseNics ? ', except between a NIC and the network of another device' : ''
    test(`${name}, strict reverse path filter of the NICs too${limit}`, () =>
      withNode(entry.options, node => run(entry, node, { node: 'strict', nics: 'strict' })))
  }
})

suite('traffic during an upgrade', () => {
  for (const filter of ['loose', 'strict'] as const)
    test(`the rules of decision 0055 are replaced without a lost ping, ${filter} reverse path filter`, () =>
      withNode({ nics: 2 }, node => withNode({ nics: 2 }, unused => upgrade(node, unused, filter))))
})

/** The node ends in the state of one that was not configured before. */
async function upgrade(node: RigNode, unused: RigNode, filter: string): Promise<void> {
  const entry = trafficCases['different subnets, and traffic between their networks']
  assert.ok(entry)
  if (filter === 'strict')
    node.exec('sh', '-c', 'for f in all default ens3; do echo 1 > /proc/sys/net/ipv4/conf/$f/rp_filter; done')
  const { interfaces, peers = {} } = prepareTraffic({ ...entry, prepare: withOlderRules(entry) }, node)
  try {
    const input = { interfaces, nodeAddresses: primaryAddresses }
    await eventually(() => assert.doesNotMatch(node.ip('-6', 'address'), /tentative/))
    const [peer] = Object.values(peers)
    assert.ok(peer)
    const streams = await Promise.all([
      ...['10.100.0.1', '10.101.0.1', '10.0.0.1', 'fd00::1', 'fd00:1::1'].map(to => pingStream(node.namespace, to)),
      ...[
        ['10.100.0.77', '10.100.0.10'],
        ['10.100.0.77', '10.101.0.10'],
        ['10.0.0.1', '10.100.0.10'],
        ['10.100.0.77', '10.0.0.10'],
        ['fd00::77', 'fd00::10'],
        ['fd00::77', 'fd00:1::10'],
      ].map(([to = '', from]) => pingStream(node.namespace, to, from)),
      ...['10.100.0.10', '10.101.0.10', '10.0.0.10', 'fd00::10', 'fd00:1::10', 'fd00:ff::10'].map(to =>
        pingStream(peer.namespace, to),
      ),
    ])
    const ran = await node.agent(input)
    const lost = await Promise.all(streams.map(stream => stream.stop()))
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(lost.flat(), [], `pings lost by stream: ${JSON.stringify(lost)} ${ran.log}`)
    assert.doesNotMatch(ran.log, /rename|link down/)
    addPrimary6(unused)
    const fresh = await unused.agent(input)
    assert.equal(fresh.report?.verdict, 'Configured', fresh.log)
    const stateOf = (vm: RigNode) => ({
      ...kernelState(vm),
      tables: [100, 101, 110].flatMap(table => routesInTable(vm, table)),
      tables6: vm
        .ip('-6', 'route', 'show', 'table', 'all')
        .split('\n')
        .filter(line => / table 1\d\d /.test(line)),
      nft: vm.exec('nft', 'list', 'ruleset'),
    })
    assert.deepEqual(stateOf(node), stateOf(unused))
    const again = await node.agent(input)
    assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
  } finally {
    for (const peer of Object.values(peers)) peer.remove()
  }
}

function withOlderRules(entry: TrafficCase): TrafficCase['prepare'] {
  return node => {
    const { peers = {} } = entry.prepare(node)
    return { interfaces: configureLikeDecision55(node), peers }
  }
}
