/**
 * The server certificate and the client CA, reloaded when their files change. If new files are invalid, the previous ones
 * stay in effect.
 */
import type { Server, ServerOptions } from 'node:https'
import { createSecureContext } from 'node:tls'
import { explain, messageOf } from '../runtime/errors.ts'
import { type Reloaded, reload } from '../server/reload.ts'
import type { Log } from '../telemetry/log.ts'
import type { ViolaSettings } from './config.ts'

export interface Certificates {
  options(): ServerOptions
  /** Updates the server whenever the files change. */
  follow(server: Server): void
  warnings(): string[]
  close(): void
}

const names = { cert: 'VIOLA_TLS_CERT_FILE', key: 'VIOLA_TLS_KEY_FILE', ca: 'VIOLA_CLIENT_CA_FILE' } as const

/** Undefined if the settings name no certificate. */
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
  let ca: Material['ca']

  const material = () => Object.fromEntries(files.map(({ as, file }) => [as, file.value])) as Material
  /** Certificate and key are two files and do not match in the middle of a renewal. */
  function renew(): void {
    try {
      createSecureContext(material())
      server?.setSecureContext(material())
      // Whoever the previous CA admitted would stay authenticated on an open connection.
      if (material().ca !== ca) server?.closeAllConnections()
      ca = material().ca
      problem = undefined
    } catch (error) {
      problem = `certificates: ${messageOf(error)}; the previous ones stay in effect`
      log.error('cannot use certificates, keeping the previous ones', { error })
    }
  }

  try {
    for (const [as, name] of Object.entries(names) as [keyof typeof names, keyof ViolaSettings & string][]) {
      const path = settings[name]
      if (typeof path !== 'string') continue
      files.push({ as, file: await reload({ path, parse: text => text, log, everyMs, onChange: renew }) })
    }
    createSecureContext(material())
    ca = material().ca
  } catch (error) {
    close()
    throw explain('certificates', error)
  }

  return {
    // Each request is authenticated on its own: a caller may have a token instead, and probes have neither.
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
