/**
 * Settings of the TLS of an HTTP server, by its prefix.
 */
import type { FieldError } from '../contract/interfaces.ts'
import { type Setting, text } from '../contract/setting.ts'

interface Names<P extends string> {
  cert: `${P}_TLS_CERT_FILE`
  key: `${P}_TLS_KEY_FILE`
  /** CA of client certificates, for servers that accept them. */
  ca: `${P}_CLIENT_CA_FILE`
}

export type TlsSettings<P extends string> = Partial<Record<Names<P>[keyof Names<P>], string | undefined>>

export function tlsNames<P extends string>(prefix: P): Names<P> {
  return { cert: `${prefix}_TLS_CERT_FILE`, key: `${prefix}_TLS_KEY_FILE`, ca: `${prefix}_CLIENT_CA_FILE` }
}

export function tlsSettings<P extends string>(prefix: P): Record<Names<P>['cert' | 'key'], Setting<string>> {
  const { cert, key } = tlsNames(prefix)
  return {
    [cert]: {
      read: text,
      about: {
        en: 'Server certificate; enables HTTPS. Renewed files apply without a restart.',
        ko: '서버 인증서입니다. 설정하면 HTTPS를 사용합니다. 갱신한 파일은 다시 시작하지 않아도 적용됩니다.',
      },
    },
    [key]: { read: text, about: { en: 'Private key of the server certificate.', ko: '서버 인증서의 개인 키입니다.' } },
  } as Record<Names<P>['cert' | 'key'], Setting<string>>
}

/** A setting without the one that it needs is an error. */
export function completeTls<P extends string>(prefix: P): (settings: TlsSettings<P>) => FieldError[] {
  const { cert, key, ca } = tlsNames(prefix)
  const required = [
    [cert, key],
    [key, cert],
    [ca, cert],
  ] as const
  return settings =>
    required
      .filter(([name, other]) => settings[name] !== undefined && settings[other] === undefined)
      .map(([name, other]) => ({ path: name, message: `requires ${other}` }))
}
