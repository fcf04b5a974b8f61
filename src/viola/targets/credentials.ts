/**
 * Reads the credentials of a cluster: from files, a kubeconfig Secret or the Pod of Viola.
 */
import { X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { withoutSlash } from '../../contract/url.ts'
import { connectKube, type KubeClient } from '../../kube/client.ts'
import {
  type ClusterAccess,
  inClusterAccess,
  kubeconfigFrom,
  loadKubeconfig,
  tokenFromFile,
} from '../../kube/config.ts'
import { secrets } from '../../kube/resources.ts'
import { explain } from '../../runtime/errors.ts'
import type { StartCall } from '../../telemetry/client-metrics.ts'
import type { Log } from '../../telemetry/log.ts'
import type { ViolaSettings } from '../config.ts'
import { type Access, type DirectAccess, localRoute, type SecretAccess } from './routing.ts'

export interface CredentialReader {
  /** Fails if the credentials are unusable, and says why. */
  read(access: Access): Promise<ClusterAccess>
  /** Changes with the files of the route. Always the same for a Secret. */
  versionOf(access: Access): Promise<string>
  close(): Promise<void>
}

interface ReaderOptions {
  settings: ViolaSettings
  log: Log
  startCall: StartCall | undefined
  /** Directory of relative paths. */
  base: string
}

export function openCredentialReader({ settings, log, startCall, base }: ReaderOptions): CredentialReader {
  const ownCluster = connectLazily(() => connectOwnCluster(settings, log, startCall))
  return {
    read: access =>
      access.by === 'secret' ? fromSecret(ownCluster.client, access) : directAccess(access, base, settings),
    versionOf: async access => (access.by === 'secret' ? '' : fileVersions(access, base)),
    close: ownCluster.close,
  }
}

/** The cluster that Viola runs in, or that of its settings. */
export async function connectOwnCluster(
  settings: ViolaSettings,
  log: Log,
  startCall: StartCall | undefined,
): Promise<KubeClient> {
  const access = await directAccess(localRoute(settings).access, '.', settings)
  const requestTimeoutMs = settings.KUBE_TIMEOUT
  return connectKube(access, { log, requestTimeoutMs, attempts: 2, maxRetryDelayMs: 1_000, startCall })
}

/** Connects when the client is first needed, and again after a failure. */
function connectLazily(connect: () => Promise<KubeClient>) {
  let connecting: Promise<KubeClient> | undefined
  return {
    client(): Promise<KubeClient> {
      connecting ??= connect().catch(error => {
        connecting = undefined
        throw error
      })
      return connecting
    },
    async close(): Promise<void> {
      await (await connecting?.catch(() => undefined))?.close()
    },
  }
}

/** Reads all files now, so that an unusable one is found before the first request. */
async function directAccess(access: DirectAccess, base: string, settings: ViolaSettings): Promise<ClusterAccess> {
  const found = await readFiles(access, base, settings)
  await found.token?.()
  return validated(found)
}

/** Invalid certificates would fail every request. */
function validated(access: ClusterAccess): ClusterAccess {
  const { ca, cert, key } = access
  try {
    createSecureContext({ ca, cert, key })
    // createSecureContext accepts an invalid CA silently, and TLS then trusts no server.
    if (ca) new X509Certificate(ca)
  } catch (error) {
    throw explain('certificates of the cluster', error)
  }
  return access
}

async function readFiles(access: DirectAccess, base: string, settings: ViolaSettings): Promise<ClusterAccess> {
  if (access.by === 'kubeconfig') return loadKubeconfig(resolve(base, access.path), access.context)
  if (access.by === 'pod') return inClusterAccess(settings)

  // Missing fields come from the Pod that Viola runs in.
  const pod = access.server && (access.token || access.tokenFile) ? undefined : podAccess(settings)
  const server = access.server ?? pod?.server
  if (!server) throw new Error('kubeApiServer is missing')
  const ca = access.caPath ? await readCa(resolve(base, access.caPath)) : pod?.ca
  const fixed = access.token
  const token = access.tokenFile ? tokenFromFile(resolve(base, access.tokenFile)) : fixed ? () => fixed : pod?.token
  if (!token) throw new Error('kubeToken or kubeTokenFile is missing')
  const renewed = !access.caPath && pod?.certificates
  return { server: withoutSlash(server), token, ...(ca && { ca }), ...(renewed && { certificates: renewed }) }
}

async function fileVersions(access: DirectAccess, base: string): Promise<string> {
  const paths =
    access.by === 'kubeconfig' ? [access.path] : access.by === 'server' ? [access.caPath, access.tokenFile] : []
  const versions = paths.map(async path => {
    const found = path && (await stat(resolve(base, path)).catch(() => undefined))
    return found ? `${found.ino}:${found.mtimeMs}:${found.size}` : 'none'
  })
  return (await Promise.all(versions)).join(' ')
}

function podAccess(settings: ViolaSettings): ClusterAccess | undefined {
  try {
    return inClusterAccess(settings)
  } catch {
    return undefined
  }
}

async function readCa(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw explain('kubeCaPath', error)
  }
}

/** `value` is the key of Cluster API. */
const defaultKeys = ['kubeconfig', 'value']

async function fromSecret(client: () => Promise<KubeClient>, access: SecretAccess): Promise<ClusterAccess> {
  const { namespace, name, key, context } = access
  try {
    const secret = await (await client()).get(secrets, { namespace, name })
    if (!secret) throw new Error('not found')
    const keys = key === undefined ? defaultKeys : [key]
    const text = keys.map(one => secret.data?.[one]).find(value => value !== undefined)
    if (text === undefined) throw new Error(`has no key ${keys.join(' or ')}`)
    return validated(await kubeconfigFrom(Buffer.from(text, 'base64').toString(), context))
  } catch (error) {
    throw explain(`Secret ${namespace}/${name}`, error)
  }
}
