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
