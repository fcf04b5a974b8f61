/** When a port that is listed without an address in a selected subnet counts as one that lost it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aPort } from '../plan/plan.fixture.ts'
import { createRepeatedReads } from './repeated-reads.ts'

interface Read {
  /** When it starts; it ends 100 ms later. */
  at: number
  revision?: number
  /** Of the last read with an address in a selected subnet. */
  lastRevision?: number
  /** In a subnet that is not selected. */
  address?: true
  /** The port has its address. */
  good?: true
}

const cases: Record<string, [reads: Read[], counts: boolean, msUntilNext: number | undefined]> = {
  'one read does not count': [[{ at: 0 }], false, 5_000],
  'a second read within five seconds does not count': [[{ at: 0 }, { at: 5_099 }], false, 1],
  'a read that starts five seconds after the end of the first counts': [[{ at: 0 }, { at: 5_100 }], true, undefined],
  'a good read in between starts again': [[{ at: 0 }, { at: 3_000, good: true }, { at: 6_000 }], false, 5_000],
  'an older revision than the one with the address does not count': [
    [
      { at: 0, revision: 3, lastRevision: 4 },
      { at: 6_000, revision: 3 },
      { at: 12_000, revision: 3 },
    ],
    false,
    undefined,
  ],
  'an older revision does not confirm what a newer one showed': [
    [
      { at: 0, revision: 5, lastRevision: 4 },
      { at: 6_000, revision: 3 },
    ],
    false,
    undefined,
  ],
  'a newer revision twice counts': [
    [
      { at: 0, revision: 5, lastRevision: 4 },
      { at: 6_000, revision: 5 },
    ],
    true,
    undefined,
  ],
  'a higher revision without addresses makes no later one old': [
    [
      { at: 0, revision: 9, lastRevision: 4 },
      { at: 6_000, revision: 4 },
    ],
    true,
    undefined,
  ],
  'a higher revision with addresses makes later ones old': [
    [
      { at: 0, revision: 9, lastRevision: 4, address: true },
      { at: 6_000, revision: 4 },
    ],
    false,
    undefined,
  ],
  'a cloud without revisions': [[{ at: 0, lastRevision: 4 }, { at: 6_000 }], true, undefined],
}

for (const [name, [reads, counts, msUntilNext]] of Object.entries(cases))
  test(name, () => {
    let now = 0
    const repeated = createRepeatedReads(() => now)
    let confirmed: ReadonlySet<string> = new Set()
    for (const { at, revision, lastRevision, address, good } of reads) {
      now = at + 100
      const addresses = address ? [{ subnetId: 'elsewhere', address: '10.9.0.1' }] : []
      const port = aPort(1, { addresses, ...(revision !== undefined && { revision }) })
      const lastGood = lastRevision === undefined ? undefined : aPort(1, { revision: lastRevision })
      confirmed = repeated.note('ns/main', good ? [] : [{ identity: 'port-1', port, lastGood }], at)
    }
    assert.deepEqual([...confirmed], counts ? ['port-1'] : [])
    assert.equal(repeated.msUntilNext('ns/main'), msUntilNext)
    repeated.forget('ns/main')
    assert.equal(repeated.msUntilNext('ns/main'), undefined)
  })
