/**
 * Generates a certificate authority and a server certificate, encoded in DER without external tools.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

export function makeCertificates(names: readonly string[]): { ca: string; cert: string; key: string } {
  const authority = newKey()
  const server = newKey()
  const issuer = 'multinic sandbox'
  const ca = certificate({ subject: issuer, issuer, key: authority, signer: authority, extensions: [caConstraint] })
  const cert = certificate({
    subject: 'kube-apiserver',
    issuer,
    key: server,
    signer: authority,
    extensions: [serverUsage, alternativeNames(names)],
  })
  return { ca, cert, key: server.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

function newKey(): KeyObject {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
}

interface CertificateOptions {
  subject: string
  issuer: string
  key: KeyObject
  signer: KeyObject
  extensions: Buffer[]
}

function certificate({ subject, issuer, key, signer, extensions }: CertificateOptions): string {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'))
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    commonName(issuer),
    sequence(time('20200101000000Z'), time('20991231235959Z')),
    commonName(subject),
    publicKey,
    tagged(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', body, signer)
  const der = sequence(body, algorithm, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const lines = der.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const size = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 + size.length]), size, content])
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, ...parts)
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function time(text: string): Buffer {
  return tagged(0x18, Buffer.from(text))
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const part of rest) {
    const groups = [part & 0x7f]
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80)
    bytes.push(...groups)
  }
  return tagged(0x06, Buffer.from(bytes))
}

function commonName(name: string): Buffer {
  return sequence(tagged(0x31, sequence(oid('2.5.4.3'), tagged(0x0c, Buffer.from(name)))))
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [tagged(0x01, Buffer.from([0xff]))] : []), tagged(0x04, value))
}

const caConstraint = extension('2.5.29.19', true, sequence(tagged(0x01, Buffer.from([0xff]))))
const serverUsage = extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1')))

function alternativeNames(names: readonly string[]): Buffer {
  const encoded = names.map(name => (isIP(name) ? tagged(0x87, addressBytes(name)) : tagged(0x82, Buffer.from(name))))
  return extension('2.5.29.17', false, sequence(...encoded))
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array.from({ length: tail === undefined ? 0 : missing }, () => '0'), ...groups(tail)]
  return Buffer.from(all.map(group => group.padStart(4, '0')).join(''), 'hex')
}
