/**
 * From what the routing says of a cluster to the credentials for it.
 */
import { X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { withoutSlash } from '../../contract/url.ts'
import { connectKube, type KubeClient } from '../../kube/client.ts'
import { type ClusterAccess, inClusterAccess, kubeconfigFrom, loadKubeconfig, tokenFromFile } from '../../kube/config.ts'
import { secrets } from '../../kube/resources.ts'
import { explain } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import type { ViolaSettings } from '../config.ts'
import { localRoute, type OwnAccess, type SecretAccess } from './routing.ts'

export async function connectLocal(settings: ViolaSettings, log: Log): Promise<KubeClient> {
  const access = await clusterAccess(localRoute(settings).access, '.', settings)
  return connectKube(access, { log, requestTimeoutMs: settings.KUBE_TIMEOUT, attempts: 2, maxRetryDelayMs: 1_000 })
}

/** A client that is made when it is first needed; one that could not be made is tried again. */
export function connectedOnce(connect: () => Promise<KubeClient>) {
  let made: Promise<KubeClient> | undefined
  return {
    client(): Promise<KubeClient> {
      made ??= connect().catch(error => {
        made = undefined
        throw error
      })
      return made
    },
    async close(): Promise<void> {
      await (await made?.catch(() => undefined))?.close()
    },
  }
}

/** Paths are relative to `base`. Files that cannot be used are an error here, not with the first request. */
export async function clusterAccess(access: OwnAccess, base: string, settings: ViolaSettings): Promise<ClusterAccess> {
  const found = await accessFrom(access, base, settings)
  await found.token?.()
  return checkedAccess(found)
}

/** Certificates that TLS does not take would fail every request. */
export function checkedAccess(access: ClusterAccess): ClusterAccess {
  const { ca, cert, key } = access
  try {
    createSecureContext({ ca, cert, key })
    // Of a CA that it cannot read, TLS says nothing and trusts nobody.
    if (ca) new X509Certificate(ca)
  } catch (error) {
    throw explain('the certificates of the cluster', error)
  }
  return access
}

async function accessFrom(access: OwnAccess, base: string, settings: ViolaSettings): Promise<ClusterAccess> {
  if (access.by === 'kubeconfig') return loadKubeconfig(resolve(base, access.path), access.context)
  if (access.by === 'pod') return inClusterAccess(settings)

  // What is left out comes from the Pod that we run in, as it always did.
  const pod = access.server && (access.token || access.tokenFile) ? undefined : podAccess(settings)
  const server = access.server ?? pod?.server
  if (!server) throw new Error('kubeApiServer is missing')
  const ca = access.caPath ? await readCa(resolve(base, access.caPath)) : pod?.ca
  const given = access.token
  const token = access.tokenFile ? tokenFromFile(resolve(base, access.tokenFile)) : given ? () => given : pod?.token
  if (!token) throw new Error('kubeToken or kubeTokenFile is missing')
  return { server: withoutSlash(server), token, ...(ca && { ca }) }
}

/** Changes when a file changes that the routing names. */
export async function markOf(access: OwnAccess, base: string): Promise<string> {
  const paths =
    access.by === 'kubeconfig' ? [access.path] : access.by === 'server' ? [access.caPath, access.tokenFile] : []
  const marks = paths.map(async path => {
    const found = path && (await stat(resolve(base, path)).catch(() => undefined))
    return found ? `${found.ino}:${found.mtimeMs}:${found.size}` : 'none'
  })
  return (await Promise.all(marks)).join(' ')
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

export interface Secrets {
  access(where: SecretAccess): Promise<ClusterAccess>
  close(): Promise<void>
}

/** What people and Cluster API call it. */
const usualKeys = ['kubeconfig', 'value']

export function openSecrets(connect: () => Promise<KubeClient>): Secrets {
  const kube = connectedOnce(connect)

  async function access({ namespace, name, key, context }: SecretAccess): Promise<ClusterAccess> {
    const secret = await (await kube.client()).get(secrets, { namespace, name })
    if (!secret) throw new Error('there is none')
    const keys = key === undefined ? usualKeys : [key]
    const text = keys.map(one => secret.data?.[one]).find(value => value !== undefined)
    if (text === undefined) throw new Error(`has no key ${keys.join(' or ')}`)
    return checkedAccess(await kubeconfigFrom(Buffer.from(text, 'base64').toString(), context))
  }

  return {
    access: where =>
      access(where).catch(error => {
        throw explain(`Secret ${where.namespace}/${where.name}`, error)
      }),
    close: kube.close,
  }
}
