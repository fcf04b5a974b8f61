/**
 * The certificate authority of a cluster of the rig, created with openssl.
 */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../process.ts'

export interface Pair {
  cert: string
  key: string
}

export interface Authority extends Pair {
  /** With negative `days` the certificate has expired. */
  issue(name: string, subject: string, extensions: Record<string, string>, days?: number): Promise<Pair>
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export async function certificateAuthority(dir: string): Promise<Authority> {
  const ca = { cert: join(dir, 'ca.crt'), key: join(dir, 'ca.key') }
  const extensions = [
    '-addext',
    'basicConstraints=critical,CA:TRUE',
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
  ]
  await run('openssl', [
    ...['req', '-x509', ...newKey, '-days', '30', '-subj', '/CN=rig-ca'],
    ...extensions,
    ...['-keyout', ca.key, '-out', ca.cert],
  ])
  return {
    ...ca,
    issue: async (name, subject, extensions, days = 30) => {
      const pair = { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) }
      const request = join(dir, `${name}.csr`)
      const extfile = join(dir, `${name}.ext`)
      await writeFile(
        extfile,
        Object.entries(extensions)
          .map(([key, value]) => `${key}=${value}\n`)
          .join(''),
      )
      await run('openssl', ['req', ...newKey, '-subj', subject, '-keyout', pair.key, '-out', request])
      await run('openssl', [
        ...['x509', '-req', '-in', request, '-CA', ca.cert, '-CAkey', ca.key, '-days', `${days}`],
        ...['-set_serial', `0x${randomBytes(8).toString('hex')}`, '-extfile', extfile, '-out', pair.cert],
      ])
      return pair
    },
  }
}

/** The key pair for the tokens of service accounts. */
export async function signingKey(dir: string): Promise<{ private: string; public: string }> {
  const pair = { private: join(dir, 'sa.key'), public: join(dir, 'sa.pub') }
  await run('openssl', ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', pair.private])
  await run('openssl', ['pkey', '-in', pair.private, '-pubout', '-out', pair.public])
  return pair
}
