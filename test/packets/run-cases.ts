/** Sends the packets of cases and compares what became of them with what the table expects. */
import assert from 'node:assert/strict'
import { expectedOf, type Row, seenOf } from './expectations.ts'
import type { Case } from './pairwise.ts'
import { table } from './table.ts'
import type { Testbed } from './testbed.ts'

export interface Result {
  name: string
  expected: string
  seen: string
}

/** Milliseconds until a packet counts as lost. The second try waits for a repeated SYN. */
const lostAfter = 500
const deliveredWithin = 1_700

export function nameOfCase({ row, layout, filter, vpn, family }: Case): string {
  return `${row} | IPv${family} | ${layout} | ${filter} | ${vpn}`
}

/** `testbed` has the filter and the VPN of all cases. `mayFail`: these are not tried again. */
export async function runCases(
  testbed: Testbed,
  cases: readonly Case[],
  mayFail: (one: Case) => boolean = () => false,
  rows: Readonly<Record<string, Row>> = table,
): Promise<Result[]> {
  const first = await outcomes(testbed, cases, lostAfter, rows)
  const wrong = cases.filter((one, index) => first[index]?.seen !== first[index]?.expected && !mayFail(one))
  // A busy machine may be late: only what stays wrong is wrong.
  const second = new Map<Case, Result>()
  for (const [index, result] of (await outcomes(testbed, wrong, deliveredWithin, rows)).entries()) {
    const one = wrong[index]
    if (one) second.set(one, result)
  }
  return cases.flatMap((one, index) => second.get(one) ?? first[index] ?? [])
}

async function outcomes(
  testbed: Testbed,
  cases: readonly Case[],
  within: number,
  rows: Readonly<Record<string, Row>>,
): Promise<Result[]> {
  if (cases.length === 0) return []
  const pairs = cases.map(one => ({ one, row: rowOf(one.row, rows) }))
  const sent = await testbed.send(
    pairs.map(({ one, row: { from, bind, to, port, udp } }) => ({
      from,
      bind,
      to,
      port,
      udp,
      family: one.family,
      within,
    })),
  )
  return pairs.map(({ one, row }, index) => ({
    name: nameOfCase(one),
    expected: expectedOf(row, one),
    seen: sent[index] ? seenOf(sent[index]) : 'nothing',
  }))
}

export const wrongOf = (results: readonly Result[]) => results.filter(({ expected, seen }) => expected !== seen)

/** Prints a line for each; fails when one is wrong. */
export function reportResults(results: readonly Result[]): void {
  for (const { name, seen, expected } of results)
    console.log(seen === expected ? `ok   ${name}: ${seen}` : `FAIL ${name}: ${seen}; expected: ${expected}`)
  const wrong = wrongOf(results)
  assert.deepEqual(wrong, [], `${wrong.length} of ${results.length} rows`)
}

export function rowOf(name: string, rows: Readonly<Record<string, Row>> = table): Row {
  const row = rows[name]
  if (!row) throw new Error(`no row "${name}"`)
  return row
}
