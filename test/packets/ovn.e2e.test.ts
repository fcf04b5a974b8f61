/**
 * The rows of the packet suite behind the port security of real OVN, also beside every VPN.
 *
 * Prints a line for each case with what it saw.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOvn } from '../rigs/ovn/rig.ts'
import { families, type Layout, layoutNames, nicOf } from './addresses.ts'
import { configure } from './configure.ts'
import { securedPorts } from './filters.ts'
import { createTestbed, type NamespaceTestbed } from './namespace-testbed.ts'
import { type Case, selectCases } from './pairwise.ts'
import { type Result, reportResults, runCases } from './run-cases.ts'
import { withoutChains } from './sabotage.ts'

for (const layout of layoutNames)
  test(`OVN, ${layout}: packets arrive with the source and by the device of the table`, () =>
    withOvn(layout, async testbed => {
      await configure(testbed)
      const results: Result[] = []
      // The router between the networks is there, so OVN is the cloud of the filter `neutron`.
      const cases = selectCases().filter(one => one.layout === layout && one.filter === 'neutron')
      for (const [vpn, group] of Map.groupBy(cases, one => one.vpn)) {
        testbed.setVpn(vpn)
        results.push(...(await runCases(testbed, group)))
        testbed.setVpn('none')
      }
      reportResults(results)
    }))

test('OVN drops replies of a NodePort that leave by the primary NIC, as they do without the tables of the agent', () =>
  withOvn('one NIC', async testbed => {
    await configure(testbed)
    withoutChains()(testbed)
    const rows = [
      'a client behind the gateway reaches a NodePort Local at A',
      'a far client reaches a NodePort Local at P',
    ]
    const cases = rows.flatMap(row =>
      families.map((family): Case => ({ row, layout: 'one NIC', filter: 'neutron', vpn: 'none', family })),
    )
    const results = await runCases(testbed, cases, ({ row }) => row === rows[0])
    assert.deepEqual(
      results.map(({ seen }) => seen),
      ['lost, by ens3', 'lost, by ens3', 'from far by ens3', 'from far by ens3'],
    )
  }))

async function withOvn(layout: Layout, work: (testbed: NamespaceTestbed) => Promise<void>): Promise<void> {
  const testbed = await createTestbed(layout)
  try {
    testbed.setFilter('none')
    const ovn = await startOvn(testbed.node.fabric)
    try {
      for (const name of ['ens3', ...testbed.node.nics.map(nic => nic.name)])
        testbed.onNode('ethtool', '--offload', name, 'tx', 'off')
      const secured = securedPorts(layout, testbed.fabricPorts, nicOf('VIP-D', layout) ?? 0)
      await ovn.connect(
        testbed.fabricPorts.map((port, index) => ({
          ...port,
          ...secured[index],
          addresses: secured[index]?.addresses ?? [],
        })),
      )
      await work(testbed)
    } finally {
      await ovn.stop()
    }
  } finally {
    await testbed.remove()
  }
}
