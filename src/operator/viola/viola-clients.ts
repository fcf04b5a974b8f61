/**
 * The Viola clients in use: one for each address, provider and token, so that the client can remember what its Viola
 * answered last. A client is dropped with the last object that uses it.
 */
import { createHash } from 'node:crypto'
import { createHttp, type Http, type Proxies } from '../../http-client/client.ts'
import { createSharedValues } from '../../runtime/shared-values.ts'
import type { StartCall } from '../../telemetry/client-metrics.ts'
import type { ViolaCredentials } from '../clouds/credentials.ts'
import type { SyncSettings } from '../config.ts'
import { withDeliveredList } from './delivered-list.ts'
import { type DeliveredStore, type ReadRecords, withPostOnlySupport } from './legacy/post-only-viola.ts'
import { createViolaApi, type ViolaClient } from './viola-client.ts'

export interface ViolaRequest {
  /** The object, as namespace/name. */
  user: string
  settings: SyncSettings
  credentials: ViolaCredentials
  providerId: string
}

export interface ViolaClients {
  open(request: ViolaRequest): ViolaClient
  /** The client that the object used last, since the operator started. */
  last(user: string): ViolaClient | undefined
  forget(user: string): void
  close(): Promise<void>
}

export interface ViolaClientsOptions {
  ca?: string | undefined
  /** The operator's own certificate: presented only to the operator's own Viola. */
  clientCert?: string | undefined
  clientKey?: string | undefined
  /** Stores deliveries for a Viola that cannot list them. */
  store: DeliveredStore
  /** Replaces deliveries that the store lost. Never for a Viola of an object: it would get records of other objects. */
  readRecords?: ReadRecords | undefined
  proxies?: Proxies | undefined
  startCall?: StartCall | undefined
}

/** A page of 500 nodes with ten interfaces each. */
const limits = { elements: 600_000 }
/** Two for each provider and token: Nodes and node configs. */
const maxStreams = 2_000

export function createViolaClients(options: ViolaClientsOptions): ViolaClients {
  const { ca, clientCert, clientKey, store, readRecords, proxies, startCall } = options
  /** Connections of a dropped client close by themselves when they are idle. */
  const connections = createSharedValues<Record<'http' | 'streams', Http>>()
  const clients = createSharedValues<ViolaClient>()

  return {
    open({ user, settings, credentials, providerId }) {
      const { violaEndpoint: endpoint, violaTimeoutMs: timeoutMs, violaInsecureTLS: insecure } = settings
      const { violaToken: token, violaClientCertificate: isOwn } = credentials
      const connectionKey = JSON.stringify([endpoint, timeoutMs, insecure, isOwn])
      const { http, streams } = connections.use(user, connectionKey, () => {
        const tls = { ca, caSetting: 'VIOLA_CA_FILE', insecure, ...(isOwn && { cert: clientCert, key: clientKey }) }
        const common = { service: 'viola', timeoutMs, tls, proxies, startCall, limits }
        return { http: createHttp(common), streams: createHttp({ ...common, connections: maxStreams }) }
      })
      const digest = createHash('sha256')
        .update(token ?? '')
        .digest('hex')
      return clients.use(user, JSON.stringify([connectionKey, providerId, digest]), () =>
        withDeliveredList(
          withPostOnlySupport(
            createViolaApi({ http, streams, endpoint, providerId, token }),
            store,
            { endpoint, providerId },
            isOwn ? readRecords : undefined,
          ),
        ),
      )
    },
    last: user => clients.of(user),
    forget(user) {
      connections.forget(user)
      clients.forget(user)
    },
    async close() {
      await Promise.all(connections.all().flatMap(({ http, streams }) => [http.close(), streams.close()]))
    },
  }
}
