/**
 * Opens the passwords that Contrabass hands out. No error ever shows the text, the key or what came of them.
 *
 * Two forms: Base64 of a 16-byte IV and AES-CBC ciphertext under the key's own bytes; or OpenSSL's `Salted__` form, whose
 * key and IV are derived from the key as a passphrase.
 */
import { createDecipheriv, createHash } from 'node:crypto'

const blockBytes = 16
const salted = Buffer.from('Salted__')

export function decryptPassword(encrypted: string, key: string): string {
  const text = encrypted.trim()
  if (text === '') throw new Error('the encrypted password is empty')
  if (!/^[A-Za-z0-9+/\s]+={0,2}$/.test(text)) throw new Error('the encrypted password is not Base64')
  const bytes = Buffer.from(text, 'base64')
  return bytes.subarray(0, salted.length).equals(salted) ? openSalted(bytes, key) : openWithIv(bytes, key)
}

function openWithIv(bytes: Buffer, key: string): string {
  const keyBytes = Buffer.from(key, 'utf8')
  if (![16, 24, 32].includes(keyBytes.length))
    throw new Error(`the encryption key is ${keyBytes.length} bytes long; it must be 16, 24 or 32`)
  checkLength(bytes.length - blockBytes, 'a 16-byte IV and whole blocks')
  const opened = open(keyBytes, bytes.subarray(0, blockBytes), bytes.subarray(blockBytes))
  if (opened === undefined) throw new Error('the encrypted password does not open with this key')
  return opened
}

function openSalted(bytes: Buffer, passphrase: string): string {
  if (passphrase === '') throw new Error('the encryption key is empty')
  const salt = bytes.subarray(8, 16)
  const ciphertext = bytes.subarray(16)
  checkLength(ciphertext.length, 'a salt and whole blocks')
  for (const keyBytes of [16, 32]) {
    for (const digest of ['md5', 'sha256']) {
      const material = deriveBytes(digest, passphrase, salt, keyBytes + blockBytes)
      const opened = open(material.subarray(0, keyBytes), material.subarray(keyBytes), ciphertext)
      if (opened !== undefined) return opened
    }
  }
  throw new Error('the encrypted password does not open with this key')
}

function checkLength(ciphertext: number, wanted: string): void {
  if (ciphertext <= 0 || ciphertext % blockBytes !== 0)
    throw new Error(`the encrypted password is cut short: it must hold ${wanted}`)
}

/** Undefined when the padding is not valid or the result is no UTF-8. */
function open(key: Buffer, iv: Buffer, ciphertext: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv(`aes-${key.length * 8}-cbc`, key, iv)
    const plain = Buffer.concat([decipher.update(ciphertext), decipher.final()])
    return new TextDecoder('utf-8', { fatal: true }).decode(plain)
  } catch {
    return undefined
  }
}

/** OpenSSL's EVP_BytesToKey with one round. */
function deriveBytes(digest: string, passphrase: string, salt: Buffer, length: number): Buffer {
  let block = Buffer.alloc(0)
  let all = Buffer.alloc(0)
  while (all.length < length) {
    block = createHash(digest).update(block).update(passphrase, 'utf8').update(salt).digest()
    all = Buffer.concat([all, block])
  }
  return all.subarray(0, length)
}
