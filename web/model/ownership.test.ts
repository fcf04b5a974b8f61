import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Holder, HoldersAnswer } from '../../src/contract/inventory.ts'
import { ownerAt, ownershipsOf } from './ownership.ts'

const hour = (of: number) => new Date(Date.UTC(2026, 0, 1, of)).toISOString()
const holder = (nodeName: string, from: number, to?: number): Holder => ({
  ...{ kind: 'address', value: '10.0.0.7', providerId: 'p1', nodeName, interface: 'multinic2', from: hour(from) },
  ...(to === undefined ? {} : { to: hour(to) }),
})
const now = Date.parse(hour(20))
const verdictOf = (answer: HoldersAnswer, at = '') => {
  const { verdict, owner } = ownerAt(answer, at, now)
  return [verdict, owner?.nodeName]
}

test('experience H3: the server says who had a value, and only the server says never', () => {
  const known: HoldersAnswer = { holders: [holder('b', 9), holder('a', 1, 5)], never: false }
  assert.deepEqual(
    ownershipsOf(known).map(({ nodeName, nic, to }) => [nodeName, nic, to === undefined]),
    [
      ['a', 'multinic2', false],
      ['b', 'multinic2', true],
    ],
  )
  assert.deepEqual(verdictOf(known), ['assigned', 'b'])
  assert.deepEqual(verdictOf(known, hour(10)), ['wasAssigned', 'b'])
  assert.deepEqual(verdictOf(known, hour(3)), ['wasAssigned', 'a'])
  assert.deepEqual(verdictOf(known, hour(7)), ['notAssigned', undefined])
  assert.deepEqual(verdictOf({ holders: [], never: true }), ['never', undefined])
  assert.deepEqual(verdictOf({ holders: [], never: false, keptSince: hour(8) }), ['notSince', undefined])
  assert.deepEqual(verdictOf({ ...known, keptSince: hour(8) }, hour(7)), ['notKnown', undefined])
  assert.deepEqual(verdictOf({ ...known, keptSince: hour(6) }, hour(7)), ['notAssigned', undefined])
  const long = { ...known, more: true }
  assert.deepEqual(verdictOf(long, hour(0)), ['notKnown', undefined], 'before the oldest that is listed')
  assert.equal(ownerAt(long, hour(0), now).since, Date.parse(hour(5)))
  assert.deepEqual(verdictOf(long, hour(7)), ['notAssigned', undefined])
})
