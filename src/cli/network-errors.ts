/**
 * Why a server cannot be reached, in words instead of the code of a library.
 */
import { isUntrusted } from '../runtime/certificate-errors.ts'
import { messageOf } from '../runtime/errors.ts'

const plainHttp = 'this port speaks HTTP, not HTTPS; use http://'
const untrusted = 'certificate not trusted; set its CA with --ca-file FILE or MULTINIC_CA_FILE'

const causes: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'cannot resolve the host name',
  ECONNRESET: 'connection reset',
  UND_ERR_SOCKET: 'the server closed the connection; if it speaks HTTPS, use https://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: plainHttp,
  ERR_SSL_WRONG_VERSION_NUMBER: plainHttp,
  ERR_SSL_HTTP_REQUEST: plainHttp,
}

/** `caSource` says where the user finds the CA of the server. */
export function whyUnreachable(error: unknown, caSource?: string): string {
  const cause = (error as Error).cause ?? error
  const { code, message } = cause as { code?: string; message?: string }
  if ((error as Error).name === 'TimeoutError') return 'timeout'
  if (isUntrusted(cause)) return caSource ? `${untrusted} (${caSource})` : untrusted
  return causes[code ?? ''] ?? message ?? messageOf(error)
}
