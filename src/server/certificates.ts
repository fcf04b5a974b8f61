/**
 * The certificate of a server and the CA of its clients, reloaded when their files change. If new files are invalid, the
 * previous ones stay in effect.
 */
import type { Server, ServerOptions } from 'node:https'
import { createSecureContext } from 'node:tls'
import { explain, messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { type Reloaded, reload } from './reload.ts'
import { type TlsSettings, tlsNames } from './tls-settings.ts'

export interface Certificates {
  options(): ServerOptions
  /** Updates the server whenever the files change. */
  follow(server: Server): void
  warnings(): string[]
  close(): void
}

type Material = Pick<ServerOptions, 'cert' | 'key' | 'ca'>

/** By the settings with this prefix. Undefined if they name no certificate. */
export async function openCertificates<P extends string>(
  prefix: P,
  settings: TlsSettings<P>,
  log: Log,
  everyMs = 5_000,
): Promise<Certificates | undefined> {
  const names = tlsNames(prefix)
  if (!settings[names.cert]) return undefined
  const files: { as: keyof Material; file: Reloaded<string> }[] = []
  const close = () => {
    for (const { file } of files) file.close()
  }
  let server: Server | undefined
  let problem: string | undefined
  let ca: Material['ca']

  const material = () => Object.fromEntries(files.map(({ as, file }) => [as, file.value])) as Material
  /** Certificate and key are two files and do not match in the middle of a renewal. */
  async function renew(): Promise<void> {
    // Kubernetes replaces all files at once, but each is read on its own.
    await Promise.all(files.map(({ file }) => file.refresh()))
    try {
      checkMaterial(material(), names)
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
    for (const as of ['cert', 'key', 'ca'] as const) {
      const path = settings[names[as]]
      if (path === undefined) continue
      const file = await reload({ path, parse: text => text, log, everyMs, onChange: () => void renew() }).catch(
        error => {
          throw explain(names[as], error)
        },
      )
      files.push({ as, file })
    }
    checkMaterial(material(), names)
    ca = material().ca
  } catch (error) {
    close()
    throw error
  }

  return {
    // Each request is authenticated on its own: a caller may have a token instead, and probes have neither.
    options: () => ({ ...material(), requestCert: ca !== undefined, rejectUnauthorized: false }),
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

/** Throws an error that names the settings of the files that cannot be used. */
function checkMaterial(material: Material, names: Record<keyof Material, string>): void {
  for (const as of ['cert', 'key'] as const)
    try {
      createSecureContext({ [as]: material[as] })
    } catch (error) {
      throw explain(`${names[as]} cannot be used`, error)
    }
  try {
    createSecureContext(material)
  } catch (error) {
    throw explain(`${names.key} does not belong to the certificate of ${names.cert}`, error)
  }
}
