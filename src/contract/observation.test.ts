import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Observation, type ObservationTimes, observationOf } from './observation.ts'

const now = new Date('2026-01-31T10:00:00Z')
const cases: Record<string, [ObservationTimes, Observation]> = {
  'nobody has looked yet': [{}, {}],
  'an observation within twice the interval vouches': [
    { lastChecked: '2026-01-31T08:00:00Z', checkIntervalSeconds: 3_600 },
    { observedAt: '2026-01-31T08:00:00Z' },
  ],
  'an older one does not': [
    { lastChecked: '2026-01-31T07:59:59Z', checkIntervalSeconds: 3_600 },
    { observedAt: '2026-01-31T07:59:59Z', notVerifiedSince: '2026-01-31T07:59:59Z' },
  ],
  'a large cluster has a longer interval': [
    { lastChecked: '2026-01-31T05:00:00Z', checkIntervalSeconds: 10_000 },
    { observedAt: '2026-01-31T05:00:00Z' },
  ],
  'without checks an observation is too old after two hours': [
    { lastChecked: '2026-01-31T07:59:59Z' },
    { observedAt: '2026-01-31T07:59:59Z', notVerifiedSince: '2026-01-31T07:59:59Z' },
  ],
  'the time of the Go implementation counts': [
    { lastConfigured: '2026-01-31T09:00:00Z' },
    { observedAt: '2026-01-31T09:00:00Z' },
  ],
}
for (const [name, [times, expected]] of Object.entries(cases))
  test(`experience H6: ${name}`, () => assert.deepEqual(observationOf(times, now), expected))
