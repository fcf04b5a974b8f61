import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holders, search } from './api.ts'
import { outcomeOf } from './holders.ts'

test('experience M5: an inventory that does not answer is an error, not an empty result', async t => {
  const { signal } = new AbortController()
  const answers: (() => Promise<Response>)[] = [
    () => Promise.reject(new TypeError('Failed to fetch')),
    async () => Response.json({ detail: 'inventory database unavailable' }, { status: 503 }),
  ]
  for (const answer of answers) {
    t.mock.method(globalThis, 'fetch', answer)
    for (const ask of [holders, search]) {
      const outcome: { answer?: unknown; error?: string | undefined } = await outcomeOf<unknown>(
        ask('10.0.0.7', signal),
      )
      assert.equal(outcome.answer, undefined)
      assert.match(outcome.error ?? '', /Failed to fetch|503 .* inventory database unavailable/)
    }
  }
})
