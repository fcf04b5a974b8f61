import assert from 'node:assert/strict'
import { test } from 'node:test'
import { providerNameIn } from './provider-name.ts'

const record = (day: number, providerName?: string) => ({ providerName, updatedAt: `2026-01-0${day}T00:00:00.000Z` })

const lists: Record<string, [records: ReturnType<typeof record>[], name: string | undefined]> = {
  'no record has no name': [[], undefined],
  'the newest record is last': [[record(1, 'old'), record(2, 'new')], 'new'],
  'the newest record is first': [[record(2, 'new'), record(1, 'old')], 'new'],
  'the newest record is in the middle': [[record(1, 'old'), record(3, 'new'), record(2, 'older')], 'new'],
  'of two records of one time, the first counts': [[record(1, 'first'), record(1, 'second')], 'first'],
  'a newest record without a name has none': [[record(1, 'old'), record(2)], undefined],
}

for (const [name, [records, expected]] of Object.entries(lists))
  test(name, () => assert.equal(providerNameIn(records), expected))
