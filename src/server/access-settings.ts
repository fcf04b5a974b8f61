/**
 * Settings of the access to an HTTP API, by the prefix of its server.
 */
import { flag, type Setting, text } from '../contract/setting.ts'

type Required<T> = Setting<T> & { default: string }
type TokenSettings<P extends string> = Record<`${P}_TOKENS_FILE`, Setting<string>> &
  Record<`${P}_TOKEN_AUDIENCE`, Required<string>>
type AccessSettings<P extends string> = TokenSettings<P> & Record<`${P}_ANONYMOUS_ACCESS`, Required<boolean>>

/** Of a server that may be opened to everyone. */
export function accessSettings<P extends string>(prefix: P, tokensSecret: string): AccessSettings<P> {
  return {
    ...tokenSettings(prefix, tokensSecret),
    [`${prefix}_ANONYMOUS_ACCESS`]: {
      read: flag,
      default: 'false',
      about: {
        en: '`true`: everyone who can reach the API may use it without credentials. The log and `/readyz` warn about it. Without it, every caller needs a token or a client certificate, and the rights of RBAC.',
        ko: '`true`: API에 연결할 수 있으면 누구나 자격 증명 없이 사용할 수 있습니다. 로그와 `/readyz`가 이를 경고합니다. 설정하지 않으면 모든 호출자에게 토큰이나 클라이언트 인증서, 그리고 RBAC 권한이 필요합니다.',
      },
    },
  } as AccessSettings<P>
}

/** `tokensSecret`: the value of the chart. */
export function tokenSettings<P extends string>(prefix: P, tokensSecret: string | null): TokenSettings<P> {
  return {
    [`${prefix}_TOKENS_FILE`]: {
      read: text,
      about: {
        en: 'File with static tokens, each with its user and groups. Changes apply without a restart. Tokens of the cluster need no file.',
        ko: '정적 토큰과 각 토큰의 사용자, 그룹이 있는 파일입니다. 변경은 다시 시작하지 않아도 적용됩니다. 클러스터의 토큰에는 파일이 필요 없습니다.',
      },
      helm: tokensSecret,
    },
    [`${prefix}_TOKEN_AUDIENCE`]: {
      read: text,
      default: 'multinic',
      about: { en: 'Required audience of Kubernetes tokens.', ko: 'Kubernetes 토큰에 있어야 하는 audience입니다.' },
    },
  } as TokenSettings<P>
}
