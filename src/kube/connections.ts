/**
 * TLS connections to an API server, direct or through the proxy of its kubeconfig.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { type Dispatcher, Pool, ProxyAgent } from 'undici'
import type { Certificates, ClusterAccess } from './config.ts'

/** As they were when the kubeconfig was loaded. */
export function loadedCertificates({ ca, cert, key }: ClusterAccess): Certificates {
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** As they are now: others renew the files, and an exec plugin may return another certificate. */
export async function currentCertificates(access: ClusterAccess): Promise<Certificates> {
  return { ...loadedCertificates(access), ...(await access.certificates?.()), ...(await access.identity?.()) }
}

/** False between the two writes of whoever renews a certificate and its key. */
export function isPair({ cert, key }: Certificates): boolean {
  if (!cert || !key) return true
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

export function connectionsTo(
  access: ClusterAccess,
  certificates: Certificates,
  { connectTimeoutMs, ...options }: Omit<Pool.Options, 'connect'> & { connectTimeoutMs: number },
): Dispatcher {
  const tls = {
    timeout: connectTimeoutMs,
    allowH2: false,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    rejectUnauthorized: !access.insecure,
    ...certificates,
    ...(access.servername && { servername: access.servername }),
  }
  // A Go server chooses HTTP/2 if it is offered, which puts watches and requests on one connection.
  const pool = { ...options, pipelining: 1, allowH2: false }
  return access.proxy
    ? new ProxyAgent({ ...pool, uri: access.proxy, requestTls: tls })
    : new Pool(new URL(access.server).origin, { ...pool, connect: tls })
}
