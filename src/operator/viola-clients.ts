/**
 * The Violas that syncs talk to: one for each address, provider and token, so that what a Viola cannot do and what it
 * answered last is remembered.
 */
import { createHash } from 'node:crypto'
import { type Call, createHttp, type Http, type Proxies } from '../http-client/client.ts'
import type { SyncSettings } from './config.ts'
import type { ViolaCredentials } from './credentials.ts'
import { type DeliveredStore, withRecords } from './legacy/delivered-store.ts'
import { createViola, type Viola } from './viola-client.ts'

export interface Violas {
  open(request: { settings: SyncSettings; credentials: ViolaCredentials; providerId: string }): Viola
  close(): Promise<void>
}

export interface ViolasOptions {
  ca?: string | undefined
  /** The operator's own: shown only to the operator's own Viola. */
  clientCert?: string | undefined
  clientKey?: string | undefined
  /** Remembers deliveries for a Viola that does not tell what it holds. */
  store: DeliveredStore
  proxies?: Proxies | undefined
  onCall?: ((call: Call) => void) | undefined
}

export function createViolas({ ca, clientCert, clientKey, store, proxies, onCall }: ViolasOptions): Violas {
  const https = new Map<string, Http>()
  const violas = new Map<string, Viola>()

  return {
    open({ settings, credentials, providerId }) {
      const { violaEndpoint: endpoint, violaTimeoutMs: timeoutMs, violaInsecureTLS: insecure } = settings
      const own = credentials.violaClientCertificate ? { cert: clientCert, key: clientKey } : {}
      const place = JSON.stringify([endpoint, timeoutMs, insecure, credentials.violaClientCertificate])
      const http =
        https.get(place) ?? createHttp({ service: 'viola', timeoutMs, tls: { ca, insecure, ...own }, proxies, onCall })
      https.set(place, http)
      const token = createHash('sha256')
        .update(credentials.violaToken ?? '')
        .digest('hex')
      const key = JSON.stringify([place, providerId, token])
      const viola =
        violas.get(key) ??
        withRecords(createViola({ http, endpoint, providerId, token: credentials.violaToken }), store, {
          endpoint,
          providerId,
        })
      violas.set(key, viola)
      return viola
    },
    async close() {
      await Promise.all([...https.values()].map(http => http.close()))
    },
  }
}
