/**
 * Settings of the TLS of an HTTP server, by its prefix.
 */
import * as z from 'zod'

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

type Shape<P extends string> = Record<Names<P>['cert' | 'key'], z.ZodOptional<z.ZodString>>

export function tlsSettings<P extends string>(prefix: P): Shape<P> {
  const file = (description: string) => z.string().min(1).optional().meta({ description })
  const { cert, key } = tlsNames(prefix)
  return {
    [cert]: file('Server certificate; enables HTTPS. Renewed files apply without a restart.'),
    [key]: file('Private key of the server certificate.'),
  } as Shape<P>
}

/** For `superRefine`: a setting without the one that it needs is an error. */
export function completeTls<P extends string>(prefix: P) {
  const { cert, key, ca } = tlsNames(prefix)
  const required = [
    [cert, key],
    [key, cert],
    [ca, cert],
  ] as const
  return (settings: TlsSettings<P>, context: z.RefinementCtx) => {
    for (const [name, other] of required)
      if (settings[name] !== undefined && settings[other] === undefined)
        context.addIssue({ code: 'custom', path: [name], message: `requires ${other}` })
  }
}
