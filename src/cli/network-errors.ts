/**
 * Why a server cannot be reached, in words instead of the code of a library.
 */
import { messageOf } from '../runtime/errors.ts'

const plainHttp = 'this port speaks HTTP, not HTTPS; use http://'
const untrusted = 'certificate not trusted; set NODE_EXTRA_CA_CERTS to its CA'

const causes: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'cannot resolve the host name',
  ECONNRESET: 'connection reset',
  UND_ERR_SOCKET: 'the server closed the connection; if it speaks HTTPS, use https://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: plainHttp,
  ERR_SSL_WRONG_VERSION_NUMBER: plainHttp,
  ERR_SSL_HTTP_REQUEST: plainHttp,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
}

export function whyUnreachable(error: unknown): string {
  const { code, message } = ((error as Error).cause ?? error) as { code?: string; message?: string }
  if ((error as Error).name === 'TimeoutError') return 'timeout'
  return causes[code ?? ''] ?? message ?? messageOf(error)
}
