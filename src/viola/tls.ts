/**
 * The server's certificate and the CA of its clients, from files that may be renewed while we run; and who a client is by its
 * certificate. Broken new files leave the old ones in force.
 */
import type { Server, ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext, type TLSSocket } from 'node:tls'
import { explain, messageOf } from '../runtime/errors.ts'
import { type Reloaded, reload } from '../server/reload.ts'
import type { Log } from '../telemetry/log.ts'
import type { ViolaSettings } from './config.ts'

export interface Certificates {
  options(): ServerOptions
  /** Gives a server whatever the files say from now on. */
  follow(server: Server): void
  warnings(): string[]
  close(): void
}

const names = { cert: 'VIOLA_TLS_CERT_FILE', key: 'VIOLA_TLS_KEY_FILE', ca: 'VIOLA_CLIENT_CA_FILE' } as const

/** Undefined when the settings name none. */
export async function openCertificates(
  settings: ViolaSettings,
  log: Log,
  everyMs = 5_000,
): Promise<Certificates | undefined> {
  if (!settings.VIOLA_TLS_CERT_FILE) return undefined
  const files: { as: keyof typeof names; file: Reloaded<string> }[] = []
  const close = () => {
    for (const { file } of files) file.close()
  }
  let server: Server | undefined
  let problem: string | undefined

  const material = () => Object.fromEntries(files.map(({ as, file }) => [as, file.value])) as Material
  /** Certificate and key are two files: in the middle of a renewal they do not belong together. */
  function renew(): void {
    try {
      createSecureContext(material())
      server?.setSecureContext(material())
      problem = undefined
    } catch (error) {
      problem = `certificates: ${messageOf(error)}; those before stay in force`
      log.error('certificates cannot be used', { error })
    }
  }

  try {
    for (const [as, name] of Object.entries(names) as [keyof typeof names, keyof ViolaSettings & string][]) {
      const path = settings[name]
      if (typeof path !== 'string') continue
      files.push({ as, file: await reload({ path, parse: text => text, log, everyMs, onChange: renew }) })
    }
    createSecureContext(material())
  } catch (error) {
    close()
    throw explain('certificates', error)
  }

  return {
    // Whoever has no certificate may have a token, and probes have neither: it is decided for each request.
    options: () => ({
      ...material(),
      requestCert: settings.VIOLA_CLIENT_CA_FILE !== undefined,
      rejectUnauthorized: false,
    }),
    follow(one) {
      server = one
    },
    warnings: () => [
      ...files.flatMap(({ file }) => (file.problem ? [`certificates: ${file.problem}`] : [])),
      ...(problem ? [problem] : []),
    ],
    close,
  }
}

type Material = Pick<ServerOptions, keyof typeof names>

/** What a client showed at the start of its connection. */
export type ClientCertificate = { trusted: true; names: string[] } | { trusted: false; why: string }

/** Undefined when the client showed none. */
export function certificateOf(socket: Socket): ClientCertificate | undefined {
  if (!isTls(socket)) return undefined
  const shown = socket.getPeerCertificate()
  if (!shown || Object.keys(shown).length === 0) return undefined
  if (!socket.authorized) return { trusted: false, why: String(socket.authorizationError ?? 'unknown') }
  const { CN } = shown.subject ?? {}
  return { trusted: true, names: [...(typeof CN === 'string' ? [CN] : []), ...alternatives(shown.subjectaltname)] }
}

/** A quoted one holds a comma or a quote, with which one name could pass for another: then none of them counts. */
function alternatives(given = ''): string[] {
  if (given.includes('"')) return []
  return given.split(', ').flatMap(one => /^(?:DNS|URI):(.+)$/.exec(one)?.[1] ?? [])
}

function isTls(socket: Socket): socket is TLSSocket {
  return 'getPeerCertificate' in socket
}
