import assert from 'node:assert/strict'
import { test } from 'node:test'
import { translator } from '../messages/messages.ts'
import { age, clock, duration, kindOf, preciseDuration, shortId } from './format.ts'

const [en, ko] = [translator('en'), translator('ko')]

test('a duration has two digits and a fitting unit', () => {
  const cases: [number, string, string][] = [
    [0, '0.0 s', '0.0초'],
    [340, '0.3 s', '0.3초'],
    [9_949, '9.9 s', '9.9초'],
    [12_400, '12 s', '12초'],
    [61_000, '1 min', '1분'],
    [3_600_000, '1 h', '1시간'],
    [47 * 3_600_000, '47 h', '47시간'],
    [11 * 86_400_000, '11 d', '11일'],
  ]
  for (const [ms, english, korean] of cases) assert.deepEqual([duration(ms, en), duration(ms, ko)], [english, korean])
})

test('experience Low: a figure of minutes or hours has two units', () => {
  const cases: [number, string, string][] = [
    [0, '0 s', '0초'],
    [340, '0.3 s', '0.3초'],
    [5_000, '5 s', '5초'],
    [12_400, '12 s', '12초'],
    [60_000, '1 min', '1분'],
    [1_487_000, '24 min 47 s', '24분 47초'],
    [3 * 3_600_000 + 5 * 60_000, '3 h 5 min', '3시간 5분'],
  ]
  for (const [ms, english, korean] of cases)
    assert.deepEqual([preciseDuration(ms, en), preciseDuration(ms, ko)], [english, korean])
})

test('an age has whole seconds, at least one', () => {
  const now = Date.parse('2026-01-02T00:00:10Z')
  assert.equal(age('2026-01-02T00:00:09.800Z', now, en), '1 s')
  assert.equal(age('2026-01-02T00:00:04.200Z', now, en), '5 s')
  assert.equal(age('2026-01-02T00:00:11Z', now, ko), '1초')
  assert.equal(age('2025-12-22T00:00:10Z', now, en), '11 d')
})

test('a time of today has no date, a time of another year has a full date', () => {
  const now = new Date(2026, 5, 1, 12).getTime()
  assert.equal(clock(new Date(2026, 5, 1, 9, 5, 7).getTime(), now, 'en'), '09:05:07')
  assert.match(clock(new Date(2026, 4, 3, 9, 5).getTime(), now, 'en'), /May 3, 09:05/)
  assert.match(clock(new Date(2025, 4, 3, 9, 5).getTime(), now, 'ko'), /2025년 5월 3일/)
})

test('the kind of a search text is recognized', () => {
  const cases = { '10.20.': 'ipv4', 'fa:16:3e': 'mac', 'fd00::1': 'ipv6', '7c1e0000-41d0': 'id', 'worker-1': 'name' }
  for (const [text, kind] of Object.entries(cases)) assert.equal(kindOf(text), kind, text)
})

test('a long ID keeps both ends', () => {
  assert.equal(shortId('worker-1'), 'worker-1')
  assert.equal(shortId('2f9c41d8-0000-4000-a000-000000006be0'), '2f9c41d8…6be0')
})
