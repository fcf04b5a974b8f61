import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { makeCertificates } from './certificates.ts'

test('the server certificate is signed by the CA and valid for these names only', () => {
  const created = makeCertificates(['127.0.0.1', '::1', 'localhost'])
  const [ca, cert] = [new X509Certificate(created.ca), new X509Certificate(created.cert)]
  assert.ok(ca.ca && !cert.ca)
  assert.ok(cert.verify(ca.publicKey) && ca.verify(ca.publicKey))
  assert.ok(cert.checkIssued(ca))
  assert.equal(cert.checkIP('127.0.0.1'), '127.0.0.1')
  assert.ok(cert.checkIP('::1'))
  assert.equal(cert.checkHost('localhost'), 'localhost')
  assert.equal(cert.checkHost('example.com'), undefined)
})
