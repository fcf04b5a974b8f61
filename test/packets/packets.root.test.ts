/**
 * What a node with extra NICs sends and receives, behind clouds with and without filters and beside other programs' routes, after
 * the agent configured the NICs. The table is in `table.ts`.
 *
 * Prints a line for each case with what it saw.
 */
import { suite, test } from 'node:test'
import { families, layoutNames, nicOf } from './addresses.ts'
import { configure } from './configure.ts'
import { isPossible } from './expectations.ts'
import { createTestbed, type NamespaceTestbed } from './namespace-testbed.ts'
import { casesByState } from './pairwise.ts'
import { type Result, reportResults, runCases } from './run-cases.ts'
import { table } from './table.ts'

suite('packets', { concurrency: 2 }, () => {
  for (const layout of layoutNames.toReversed())
    test(`${layout}: packets arrive with the source and by the device of the table`, async () => {
      const testbed = await createTestbed(layout)
      try {
        await configure(testbed)
        const results: Result[] = wrongTables(testbed)
        for (const cases of casesByState(layout).values()) {
          const [one] = cases
          if (!one) continue
          testbed.setFilter(one.filter)
          testbed.setVpn(one.vpn)
          results.push(...(await runCases(testbed, cases)))
          testbed.setVpn('none')
        }
        reportResults(results)
      } finally {
        await testbed.remove()
      }
    })
})

/** The tables that the rules select for new packets of the node; `marked` packets as its chains mark them. */
function wrongTables(testbed: NamespaceTestbed): Result[] {
  return Object.entries(table).flatMap(([name, row]) => {
    if (!row.table || !isPossible(row, testbed.layout)) return []
    const nic = nicOf(row.bind ?? 'A', testbed.layout) ?? 0
    const number = { main: 254, nic: 100 + nic, primary: 110 }[row.table]
    return families.map(family => ({
      name: `${name} | IPv${family} | ${testbed.layout} | table`,
      expected: `${number}`,
      seen: testbed.lookup(family, row.bind, row.to, row.marked ? (nic + 1) << 3 : 0).split(' ')[0] ?? '',
    }))
  })
}
