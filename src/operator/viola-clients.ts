/**
 * The Viola clients in use: one for each address, provider and token, so that the client can remember what its Viola
 * supports and what it answered last.
 */
import { createHash } from 'node:crypto'
import { type Call, createHttp, type Http, type Proxies } from '../http-client/client.ts'
import type { SyncSettings } from './config.ts'
import type { ViolaCredentials } from './credentials.ts'
import { type DeliveredStore, withPostOnlySupport } from './legacy/post-only-viola.ts'
import { createViolaApi, type ViolaClient } from './viola-client.ts'

export interface ViolaClients {
  open(request: { settings: SyncSettings; credentials: ViolaCredentials; providerId: string }): ViolaClient
  close(): Promise<void>
}

export interface ViolaClientsOptions {
  ca?: string | undefined
  /** The operator's own certificate: presented only to the operator's own Viola. */
  clientCert?: string | undefined
  clientKey?: string | undefined
  /** Stores deliveries for a Viola that cannot list them. */
  store: DeliveredStore
  proxies?: Proxies | undefined
  onCall?: ((call: Call) => void) | undefined
}

export function createViolaClients(options: ViolaClientsOptions): ViolaClients {
  const { ca, clientCert, clientKey, store, proxies, onCall } = options
  const connections = new Map<string, Http>()
  const clients = new Map<string, ViolaClient>()

  return {
    open({ settings, credentials, providerId }) {
      const { violaEndpoint: endpoint, violaTimeoutMs: timeoutMs, violaInsecureTLS: insecure } = settings
      const own = credentials.violaClientCertificate ? { cert: clientCert, key: clientKey } : {}
      const connectionKey = JSON.stringify([endpoint, timeoutMs, insecure, credentials.violaClientCertificate])
      const http =
        connections.get(connectionKey) ??
        createHttp({ service: 'viola', timeoutMs, tls: { ca, insecure, ...own }, proxies, onCall })
      connections.set(connectionKey, http)
      const token = createHash('sha256')
        .update(credentials.violaToken ?? '')
        .digest('hex')
      const key = JSON.stringify([connectionKey, providerId, token])
      const client =
        clients.get(key) ??
        withPostOnlySupport(createViolaApi({ http, endpoint, providerId, token: credentials.violaToken }), store, {
          endpoint,
          providerId,
        })
      clients.set(key, client)
      return client
    },
    async close() {
      await Promise.all([...connections.values()].map(http => http.close()))
    },
  }
}
