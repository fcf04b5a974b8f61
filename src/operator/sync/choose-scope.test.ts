/** When a sync reads what. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noHints } from '../events/hints.ts'
import type { Inspection } from '../observe/inspection.ts'
import type { Snapshot } from '../observe/snapshots.ts'
import { chooseScope, type Occasion } from './choose-scope.ts'

const inspection = {} as Inspection
const snapshot = {} as Snapshot
const changed = { ports: new Set(['port']), servers: new Set<string>() }
const last = { failures: 0, leftMs: 60_000, inspection }
const failed = { failures: 1, leftMs: 60_000, inspection: undefined }
const status = { isForced: false, isWoken: false, hints: noHints, last, snapshot }
const ofPorts = { ...noHints, notified: true, changed }

const cases: Record<string, [occasion: Partial<Occasion>, reads: string]> = {
  'a first sync, or one after an edit': [{ last: undefined }, 'everything'],
  'a forced sync': [{ isForced: true, last: undefined, snapshot: undefined }, 'everything fresh'],
  'an object that was woken': [{ isWoken: true }, 'everything'],
  'a poll': [{ last: { ...last, leftMs: 1 } }, 'everything'],
  'a notification of a subnet or a server': [{ hints: { ...noHints, notified: true } }, 'everything'],
  'a refused account of the bus': [{ hints: { ...noHints, busRefused: true } }, 'everything'],
  'notifications that name ports': [{ hints: ofPorts }, 'ports'],
  'notifications that name ports, when a complete read is due': [{ hints: ofPorts, snapshot: undefined }, 'everything'],
  'notifications that name ports, after a failure': [{ hints: ofPorts, last: failed }, 'everything'],
  'the status of nodes': [{}, 'cluster'],
  'the status of nodes, before the cloud is due after a failure': [{ last: failed }, 'nothing'],
  'an object that was woken after a failure': [{ isWoken: true, last: failed }, 'everything'],
}

for (const [name, [occasion, reads]] of Object.entries(cases))
  test(`${name}: reads ${reads}`, () => {
    const scope = chooseScope({ ...status, ...occasion })
    assert.equal(
      scope ? `${scope.reads}${scope.reads === 'everything' && scope.fresh ? ' fresh' : ''}` : 'nothing',
      reads,
    )
  })

test('a list that the stream keeps current is not read, and without a stream at most once a minute', () => {
  const listAge = (occasion: Partial<Occasion>) => chooseScope({ ...status, ...occasion })?.listAge
  assert.deepEqual(listAge({}), { maxAgeMs: 60_000, maxStreamedMs: 60_000 })
  assert.deepEqual(listAge({ last: undefined }), { maxAgeMs: 0, maxStreamedMs: 60_000 })
  assert.equal(listAge({ isForced: true }), undefined)
})
