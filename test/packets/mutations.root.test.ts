/**
 * Whether the rows of the packet suite can fail: takes away one piece of the agent's work after another.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { families, type Layout } from './addresses.ts'
import { configure } from './configure.ts'
import { isPossible } from './expectations.ts'
import { type Mutation, mutations } from './mutations.ts'
import { createTestbed, type NamespaceTestbed } from './namespace-testbed.ts'
import { type Case, exceptionOfCase } from './pairwise.ts'
import { runCases } from './run-cases.ts'
import { table } from './table.ts'

/** As many as one testbed has time for. */
const perTestbed = 7
const testbeds = [...Map.groupBy(Object.entries(mutations), ([, { layout }]) => layout)].flatMap(([layout, entries]) =>
  Array.from({ length: Math.ceil(entries.length / perTestbed) }, (_, part) => ({
    layout,
    part: part + 1,
    entries: entries.slice(part * perTestbed, (part + 1) * perTestbed),
  })),
)

suite('mutations', { concurrency: 2 }, () => {
  for (const { layout, part, entries } of testbeds)
    test(`${layout}, part ${part}: the rows that need a piece of the rules fail without it`, async () => {
      const testbed = await createTestbed(layout)
      try {
        await configure(testbed)
        testbed.setFilter('neutron')
        for (const [name, mutation] of entries) {
          const failed = await failedRows(testbed, mutation)
          console.log([`${name}:`, ...failed].join('\n  '))
          assert.deepEqual(failed, mutation.fails.toSorted(), name)
        }
        assert.deepEqual(await failedRows(testbed, { layout, change: () => () => {}, fails: [] }), [], 'all is back')
      } finally {
        await testbed.remove()
      }
    })

  test('every row fails without one of the pieces', () => {
    const failing = new Set(Object.values(mutations).flatMap(({ fails }) => fails.map(withoutFamily)))
    assert.deepEqual(
      Object.keys(table).filter(row => !failing.has(row)),
      [],
    )
  })
})

async function failedRows(
  testbed: NamespaceTestbed,
  { layout, vpn = 'none', change, fails }: Mutation,
): Promise<string[]> {
  const cases = casesOf(layout).map(one => ({ ...one, vpn }))
  testbed.setVpn(vpn)
  const restore = change(testbed)
  try {
    const results = await runCases(testbed, cases, one => fails.includes(one.row) || fails.includes(nameIn(one)))
    const failed = cases.filter((_, index) => results[index]?.seen !== results[index]?.expected)
    const count = (all: readonly Case[], name: string) => all.filter(({ row }) => row === name).length
    const isWhole = ({ row }: Case) => count(failed, row) === count(cases, row)
    return [...new Set(failed.map(one => (isWhole(one) ? one.row : nameIn(one))))].toSorted()
  } finally {
    restore()
    testbed.setVpn('none')
  }
}

function casesOf(layout: Layout): Case[] {
  return (
    Object.entries(table)
      .filter(([, row]) => isPossible(row, layout))
      .flatMap(([row]) =>
        families.map(family => ({ row, layout, filter: 'neutron' as const, vpn: 'none' as const, family })),
      )
      // What is lost with all pieces has nothing to lose.
      .filter(one => exceptionOfCase(one).endsWith(' -1'))
  )
}

const nameIn = ({ row, family }: Case) => `IPv${family}: ${row}`
const withoutFamily = (name: string) => name.replace(/^IPv[46]: /, '')
