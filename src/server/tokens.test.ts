import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { knownFrom } from './tokens.ts'

const token = 'a-token-of-somebody'

test('a token stands for a user and groups', () => {
  const [one] = knownFrom(stringify({ tokens: [{ user: 'ci', groups: ['network-team'], token }] }))
  assert.deepEqual(one?.user, { user: 'ci', groups: ['network-team'] })
})

const mistakes: Record<string, [entry: object, error: RegExp]> = {
  'a name instead of a user': [{ name: 'ci', token }, /tokens\[0\]\.user: /],
  'neither a token nor a digest': [{ user: 'ci' }, /set either token or sha256/],
  'a short token': [{ user: 'ci', token: 'short' }, /must have at least 16 characters/],
}
for (const [name, [entry, error]] of Object.entries(mistakes))
  test(`${name} is an error that names the field and no token`, () => {
    assert.throws(
      () => knownFrom(stringify({ tokens: [entry] })),
      (thrown: Error) => {
        assert.match(thrown.message, error)
        assert.doesNotMatch(thrown.message, new RegExp(token))
        return true
      },
    )
  })
