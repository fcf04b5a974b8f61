/** The slot of a NIC: its index when it is first configured, for as long as the NIC is there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnedNic } from '../state/ownership.ts'
import { macOf } from '../test/agent.fixture.ts'
import { slotsOf } from './slots.ts'

/** A NIC with a record; without a slot, a NIC that is known by its files alone. */
const owned = (nic: number, index: number, slot?: number): OwnedNic => ({
  ...{ index, macAddress: macOf(nic), rules: new Set<string>(), tables: new Set<number>() },
  ...(slot === undefined
    ? {}
    : {
        record: {
          ...{ version: 1 as const, id: index, mac: macOf(nic), table: 100 + index, addresses: [], rules: [] },
          ...{ mainRoutes: [], marked: { name: `multinic${index}`, slot, sources: [], networks: [] } },
        },
      }),
})

type Numbers = [nic: number, number: number][]
const cases: Record<string, [indexes: Numbers, known: OwnedNic[], expected: Numbers]> = {
  'a new NIC has the slot of its index': [
    [
      [0, 0],
      [1, 7],
    ],
    [],
    [
      [0, 0],
      [1, 7],
    ],
  ],
  'a NIC keeps its slot when its index changes': [[[0, 3]], [owned(0, 0, 0)], [[0, 0]]],
  'NICs that exchange their indexes keep their slots': [
    [
      [0, 1],
      [1, 0],
    ],
    [owned(0, 0, 0), owned(1, 1, 1)],
    [
      [0, 0],
      [1, 1],
    ],
  ],
  'a NIC that is known by its files alone has the slot of its index': [[[0, 3]], [owned(0, 5)], [[0, 3]]],
  'a new NIC whose slot another one has gets the first free one': [
    [
      [1, 0],
      [0, 3],
    ],
    [owned(0, 0, 0)],
    [
      [0, 0],
      [1, 1],
    ],
  ],
  'a new NIC does not take the slot of the index of another new one': [
    [
      [2, 1],
      [1, 0],
      [0, 3],
    ],
    [owned(0, 1, 1)],
    [
      [0, 1],
      [1, 0],
      [2, 2],
    ],
  ],
  'of two records with one slot the first NIC has it': [
    [
      [0, 4],
      [1, 5],
    ],
    [owned(0, 4, 6), owned(1, 5, 6)],
    [
      [0, 6],
      [1, 5],
    ],
  ],
  'a slot that does not exist is not used': [
    [
      [0, 4],
      [1, 5],
    ],
    [owned(0, 4, 10), owned(1, 5, -1)],
    [
      [0, 4],
      [1, 5],
    ],
  ],
  'the slot of a NIC that is not there is free': [[[1, 0]], [owned(0, 0, 0)], [[1, 0]]],
}
for (const [name, [indexes, known, expected]] of Object.entries(cases))
  test(`${name}`, () => {
    const nics = indexes.map(([nic, index]) => ({ macAddress: macOf(nic), index }))
    assert.deepEqual([...slotsOf(nics, known)].sort(), expected.map(([nic, slot]) => [macOf(nic), slot]).sort())
  })

test('ten NICs have ten slots, whatever indexes their records have', () => {
  const nics = Array.from({ length: 10 }, (_, nic) => ({ macAddress: macOf(nic), index: nic }))
  const slots = slotsOf(nics, [owned(3, 9, 9), owned(4, 0, 8), owned(5, 1, 8)])
  assert.deepEqual(
    [...slots.values()].sort((a, b) => a - b),
    nics.map(({ index }) => index),
  )
})
