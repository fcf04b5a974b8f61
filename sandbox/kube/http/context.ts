/**
 * What a request handler gets: the cluster, and the request after its headers are parsed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../../../src/telemetry/log.ts'
import type { AccountTokens } from '../access/account-tokens.ts'
import type { Cluster } from '../cluster.ts'
import type { ResponseFormat } from './requests.ts'

/** Returns the log of the current or the previous container of a Pod; undefined if it has none yet. */
export type PodLogs = (namespace: string, name: string, previous: boolean) => string | undefined

export interface HandlerOptions {
  cluster: Cluster
  tokens: AccountTokens
  log: Log
  podLogs: PodLogs
}

export interface RequestContext {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: URLSearchParams
  format: ResponseFormat
}
