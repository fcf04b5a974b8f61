import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decryptPassword } from './cipher.ts'

const key16 = 'k3y-of-multinic-'
const key24 = 'k3y-of-multinic-for-test'
const key32 = 'k3y-of-multinic-for-tests-only-3'

/** Made with `openssl enc`. */
const vectors: Record<string, [encrypted: string, key: string, password: string]> = {
  'IV first, AES-128': ['aXYtb2YtMTYtYnl0ZXMhIbTmd4nVOwv5TZ3f4y25wgQ=', key16, 'correct horse'],
  'IV first, AES-192': ['aXYtb2YtMTYtYnl0ZXMhIUpArAx5iAZiUc7ir0e++o4=', key24, 'correct horse'],
  'IV first, AES-256': ['aXYtb2YtMTYtYnl0ZXMhIah7Z6wgXGOT2hMzPhu7+Tw=', key32, 'correct horse'],
  'Salted__, MD5, AES-128': [
    'U2FsdGVkX1+c+Cjje+8VKf78eqXPIKRNZjiIP4BD5ZPJegTEDq6D/jVzHzA8JyaH',
    key16,
    'pässwörd-日本',
  ],
  'Salted__, MD5, AES-256': [
    'U2FsdGVkX19tf5ObII4ioutSSbsI6HC1soEHXQTQxR8QmvfCVhBw8SXqAH01Tyv4',
    key16,
    'pässwörd-日本',
  ],
  'Salted__, SHA-256, AES-128': [
    'U2FsdGVkX19bjBuyIsxglZuXxlIcboHh1ZzuE1gwm/w3AC8ZIiKrQNy6MtbZ+cf6',
    key16,
    'pässwörd-日本',
  ],
  'Salted__, SHA-256, AES-256': [
    'U2FsdGVkX18u416IxwzDFb0eClal3qVJC00jFadoWq21ZFdJjdf5w/p0fR1zYiiD',
    key16,
    'pässwörd-日本',
  ],
}
for (const [name, [encrypted, key, password]] of Object.entries(vectors))
  test(`decrypts: ${name}`, () => assert.equal(decryptPassword(encrypted, key), password))

test('line breaks in the text are ignored', () =>
  assert.equal(decryptPassword(' aXYtb2YtMTYtYnl0ZXMhIbTm\nd4nVOwv5TZ3f4y25wgQ=\n', key16), 'correct horse'))

const good = vectors['IV first, AES-128']?.[0] ?? ''
const malformed: Record<string, [encrypted: string, key: string, expected: RegExp]> = {
  'an empty text': ['  ', key16, /is empty/],
  'not Base64': ['{"not": "base64"}', key16, /is not Base64/],
  'only an IV': ['aXYtb2YtMTYtYnl0ZXMhIQ==', key16, /is truncated/],
  'half a block': [good.slice(0, 32), key16, /is truncated/],
  'only a salt': [Buffer.from('Salted__12345678').toString('base64'), key16, /is truncated/],
  'a key of 15 bytes': [good, key16.slice(1), /15 bytes long; it must be 16, 24 or 32/],
  'another key': [good, key16.toUpperCase(), /the key does not decrypt the password/],
  'another key for the salted format': [vectors['Salted__, MD5, AES-128']?.[0] ?? '', 'another', /does not decrypt/],
  'an empty key for the salted format': [vectors['Salted__, MD5, AES-128']?.[0] ?? '', '', /key is empty/],
}
for (const [name, [encrypted, key, expected]] of Object.entries(malformed))
  test(`the error does not contain the input: ${name}`, () => {
    assert.throws(
      () => decryptPassword(encrypted, key),
      (error: Error) => {
        assert.match(error.message, expected)
        for (const secret of [encrypted.trim(), key]) if (secret.length > 4) assert.ok(!error.message.includes(secret))
        return true
      },
    )
  })
