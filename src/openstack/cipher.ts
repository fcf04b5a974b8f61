/**
 * Decrypts the passwords that Contrabass returns. No error contains the text, the key or the result.
 *
 * Two formats: Base64 of a 16-byte IV and AES-CBC ciphertext, encrypted with the bytes of the key; or OpenSSL's `Salted__`
 * format, which derives key and IV from the key as a passphrase.
 */
import { createDecipheriv, createHash } from 'node:crypto'

const blockBytes = 16
const salted = Buffer.from('Salted__')

export function decryptPassword(encrypted: string, key: string): string {
  const text = encrypted.trim()
  if (text === '') throw new Error('the encrypted password is empty')
  if (!/^[A-Za-z0-9+/\s]+={0,2}$/.test(text)) throw new Error('the encrypted password is not Base64')
  const bytes = Buffer.from(text, 'base64')
  return bytes.subarray(0, salted.length).equals(salted) ? decryptSalted(bytes, key) : decryptWithIv(bytes, key)
}

function decryptWithIv(bytes: Buffer, key: string): string {
  const keyBytes = Buffer.from(key, 'utf8')
  if (![16, 24, 32].includes(keyBytes.length))
    throw new Error(`the encryption key is ${keyBytes.length} bytes long; it must be 16, 24 or 32`)
  checkLength(bytes.length - blockBytes, 'a 16-byte IV and whole blocks')
  const password = decrypt(keyBytes, bytes.subarray(0, blockBytes), bytes.subarray(blockBytes))
  if (password === undefined) throw wrongKey()
  return password
}

function decryptSalted(bytes: Buffer, passphrase: string): string {
  if (passphrase === '') throw new Error('the encryption key is empty')
  const salt = bytes.subarray(8, 16)
  const ciphertext = bytes.subarray(16)
  checkLength(ciphertext.length, 'a salt and whole blocks')
  for (const keyBytes of [16, 32]) {
    for (const digest of ['md5', 'sha256']) {
      const material = deriveBytes(digest, passphrase, salt, keyBytes + blockBytes)
      const password = decrypt(material.subarray(0, keyBytes), material.subarray(keyBytes), ciphertext)
      if (password !== undefined) return password
    }
  }
  throw wrongKey()
}

function wrongKey(): Error {
  return new Error('the key does not decrypt the password')
}

function checkLength(ciphertext: number, expected: string): void {
  if (ciphertext <= 0 || ciphertext % blockBytes !== 0)
    throw new Error(`the encrypted password is truncated: it must contain ${expected}`)
}

/** Undefined if the padding is invalid or the result is not UTF-8. */
function decrypt(key: Buffer, iv: Buffer, ciphertext: Buffer): string | undefined {
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
