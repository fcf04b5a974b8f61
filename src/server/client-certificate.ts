/**
 * The user of a client certificate, as Kubernetes reads it: the common name is the user, the organizations are the groups.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { User } from './reviews.ts'

export type ClientCertificate = { trusted: true; user: User } | { trusted: false; why: string }

/** Undefined if the client has none. */
export function certificateOf(socket: Socket, now = Date.now()): ClientCertificate | undefined {
  if (!isTls(socket)) return undefined
  const certificate = socket.getPeerCertificate()
  if (!certificate || Object.keys(certificate).length === 0) return undefined
  if (!socket.authorized) return { trusted: false, why: String(socket.authorizationError ?? 'unknown') }
  // Checked during the handshake, but a connection and its resumed sessions can outlive the certificate.
  if (now > Date.parse(certificate.valid_to)) return { trusted: false, why: 'it has expired' }
  const { CN, O } = (certificate.subject ?? {}) as unknown as Record<string, string | string[] | undefined>
  // Several common names are a list: nobody can tell which one the issuer meant.
  if (typeof CN !== 'string' || CN === '') return { trusted: false, why: 'it needs exactly one common name' }
  return { trusted: true, user: { user: CN, groups: [O ?? []].flat() } }
}

function isTls(socket: Socket): socket is TLSSocket {
  return 'getPeerCertificate' in socket
}
