/**
 * Which rows run in which layout, cloud, VPN and family: every row beside every VPN in both families, and of all other values
 * every pair.
 *
 * Pure, and the same at every run.
 */
import { families, type Layout, layoutNames } from './addresses.ts'
import { type Conditions, exceptionOf, isPossible } from './expectations.ts'
import { filterNames } from './filters.ts'
import { table } from './table.ts'
import { vpnNames } from './vpns.ts'

export interface Case extends Conditions {
  row: string
}

/** The pairs of values of a case, as texts. */
export function pairsOf(one: Case): string[] {
  const values = Object.entries(one).map(([factor, value]) => `${factor} ${value}`)
  return values.flatMap((a, index) => values.slice(index + 1).map(b => `${a} | ${b}`))
}

/** Every case that can be run. */
export function possibleCases(): Case[] {
  return Object.entries(table).flatMap(([row, entry]) =>
    vpnNames.flatMap(vpn =>
      families.flatMap(family =>
        layoutNames
          .filter(layout => isPossible(entry, layout))
          .flatMap(layout => filterNames.map(filter => ({ row, layout, filter, vpn, family }))),
      ),
    ),
  )
}

/** For each row, VPN and family the case with most new pairs; and for each exception that none of these meets, one more. */
export function selectCases(): Case[] {
  const selected = pairwiseCases()
  const met = new Set(selected.map(exceptionOfCase))
  const more = possibleCases().filter(one => {
    const exception = exceptionOfCase(one)
    const isNew = !met.has(exception)
    met.add(exception)
    return isNew
  })
  return [...selected, ...more]
}

/** The row and the position of its exception; -1 is the row itself. */
export function exceptionOfCase(one: Case): string {
  const row = table[one.row]
  const exception = row && exceptionOf(row, one)
  return `${one.row} ${exception ? row.except?.indexOf(exception) : -1}`
}

function pairwiseCases(): Case[] {
  const covered = new Set<string>()
  const choices = Map.groupBy(possibleCases(), ({ row, vpn, family }) => `${row} ${vpn} ${family}`)
  let turn = 0
  return [...choices.values()].map(cases => {
    // Cases with equally many new pairs take turns.
    const rotated = [...cases.slice(turn % cases.length), ...cases.slice(0, turn % cases.length)]
    turn += 5
    const news = rotated.map(one => pairsOf(one).filter(pair => !covered.has(pair)).length)
    const best = rotated[news.indexOf(Math.max(...news))]
    if (!best) throw new Error('a row is possible in no layout')
    for (const pair of pairsOf(best)) covered.add(pair)
    return best
  })
}

/** By what has to be set up once. */
export function casesByState(layout: Layout): Map<string, Case[]> {
  return Map.groupBy(
    selectCases().filter(one => one.layout === layout),
    ({ filter, vpn }) => `${filter}, ${vpn}`,
  )
}
