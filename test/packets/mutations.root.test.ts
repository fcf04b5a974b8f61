/**
 * Whether the rows of the packet suite can fail: takes away one piece of the agent's work after another.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { families, type Layout } from './addresses.ts'
import { configure } from './configure.ts'
import { isPossible } from './expectations.ts'
import { type Mutation, mutations } from './mutations.ts'
import { createWorld, type NamespaceWorld } from './namespace-world.ts'
import { type Case, exceptionOfCase } from './pairwise.ts'
import { runCases } from './run-cases.ts'
import { table } from './table.ts'

/** As many as one world has time for. */
const perWorld = 7
const worlds = [...Map.groupBy(Object.entries(mutations), ([, { layout }]) => layout)].flatMap(([layout, entries]) =>
  Array.from({ length: Math.ceil(entries.length / perWorld) }, (_, part) => ({
    layout,
    part: part + 1,
    entries: entries.slice(part * perWorld, (part + 1) * perWorld),
  })),
)

suite('mutations', { concurrency: 2 }, () => {
  for (const { layout, part, entries } of worlds)
    test(`${layout}, part ${part}: the rows that need a piece of the rules fail without it`, async () => {
      const world = await createWorld(layout)
      try {
        await configure(world)
        world.setFilter('neutron')
        for (const [name, mutation] of entries) {
          const failed = await failedRows(world, mutation)
          console.log([`${name}:`, ...failed].join('\n  '))
          assert.deepEqual(failed, mutation.fails.toSorted(), name)
        }
        assert.deepEqual(await failedRows(world, { layout, change: () => () => {}, fails: [] }), [], 'all is back')
      } finally {
        await world.remove()
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

async function failedRows(world: NamespaceWorld, { layout, vpn = 'none', change, fails }: Mutation): Promise<string[]> {
  const cases = casesOf(layout).map(one => ({ ...one, vpn }))
  world.setVpn(vpn)
  const restore = change(world)
  try {
    const results = await runCases(world, cases, one => fails.includes(one.row) || fails.includes(nameIn(one)))
    const failed = cases.filter((_, index) => results[index]?.seen !== results[index]?.expected)
    const count = (all: readonly Case[], name: string) => all.filter(({ row }) => row === name).length
    const isWhole = ({ row }: Case) => count(failed, row) === count(cases, row)
    return [...new Set(failed.map(one => (isWhole(one) ? one.row : nameIn(one))))].toSorted()
  } finally {
    restore()
    world.setVpn('none')
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
