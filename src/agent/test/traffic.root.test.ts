/**
 * Policy routing with real traffic, behind a fabric that filters like a cloud: a packet that leaves by the wrong NIC is lost.
 *
 * Each case is sent and received, with bound sockets and without, with loose and with strict reverse path filters.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type RigNode, withNode } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { lostPings, prepareTraffic, primaryAddresses, type TrafficCase, trafficCases } from './traffic.fixture.ts'

async function run(entry: TrafficCase, node: RigNode, filter: 'loose' | 'strict'): Promise<void> {
  if (filter === 'strict')
    node.exec('sh', '-c', 'for f in all default ens3; do echo 1 > /proc/sys/net/ipv4/conf/$f/rp_filter; done')
  const { interfaces, peers = {} } = prepareTraffic(entry, node)
  try {
    const input = { interfaces, nodeAddresses: primaryAddresses }
    const ran = await node.agent(input)
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    await eventually(() => assert.doesNotMatch(node.ip('-6', 'address'), /tentative/))
    assert.deepEqual(await lostPings(node, entry.pings, peers), [], ran.log)
  } finally {
    for (const peer of Object.values(peers)) peer.remove()
  }
}

suite('traffic', { concurrency: 2 }, () => {
  for (const [name, entry] of Object.entries(trafficCases))
    for (const filter of ['loose', 'strict'] as const)
      test(`${name}, ${filter} reverse path filter`, () => withNode(entry.options, node => run(entry, node, filter)))
})
