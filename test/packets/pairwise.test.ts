import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, families, layoutNames } from './addresses.ts'
import { exceptionOfCase, pairsOf, possibleCases, selectCases } from './pairwise.ts'
import { core, table } from './table.ts'
import { vpnNames } from './vpns.ts'

const selected = selectCases()

test('the selected cases contain every possible pair of values', () => {
  const covered = new Set(selected.flatMap(pairsOf))
  assert.deepEqual(
    [...new Set(possibleCases().flatMap(pairsOf))].filter(pair => !covered.has(pair)),
    [],
  )
})

test('every core destination meets every VPN in both families', () => {
  const missing = core.flatMap(row =>
    vpnNames.flatMap(vpn =>
      families
        .filter(family => !selected.some(one => one.row === row && one.vpn === vpn && one.family === family))
        .map(family => `${row}, ${vpn}, IPv${family}`),
    ),
  )
  assert.deepEqual(missing, [])
})

test('every exception of a row is met by a case', () => {
  const met = new Set(selected.map(exceptionOfCase))
  const unmet = Object.entries(table).flatMap(([name, { except = [] }]) =>
    except.flatMap(({ because }, index) => (met.has(`${name} ${index}`) ? [] : [`${name}: ${because}`])),
  )
  assert.deepEqual(unmet, [])
})

test('no two names of a layout have the same address', () => {
  const names = ['P', 'A', 'A2', 'B', 'AP', 'VIP', 'VIP-P', 'VIP-D', 'client', 'covered', 'far', 'peer', 'pod'] as const
  for (const layout of layoutNames)
    for (const family of families) {
      const addresses = names.flatMap(name => addressOf(name, layout, family) ?? [])
      assert.equal(new Set(addresses).size, addresses.length, `${layout}, IPv${family}`)
    }
})
