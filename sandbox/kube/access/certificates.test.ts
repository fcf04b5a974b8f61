import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { certificatesIn, makeCertificates } from './certificates.ts'

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

test('certificates of a directory are reused', t => {
  const dir = mkdtempSync(join(tmpdir(), 'multinic-certificates-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const first = certificatesIn(dir, ['127.0.0.1'])
  assert.deepEqual(certificatesIn(dir, ['127.0.0.1']), first)
  assert.equal(statSync(join(dir, 'server.key')).mode & 0o777, 0o600)
})
