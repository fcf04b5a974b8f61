/**
 * Forwards requests to the services of a real cloud, so that their responses can have the same faults as those of the simulated
 * one. URLs in the responses, such as those of the catalog of Keystone, lead through the forwarders too.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'undici'
import type { Log } from '../../src/telemetry/log.ts'
import { type CloudServer, startHttpServer } from '../cloud/http-server.ts'
import { keystoneInternalError } from '../cloud/keystone.ts'
import type { AsyncHandler, CloudResponse } from '../cloud/messages.ts'
import { neutronInternalError } from '../cloud/neutron.ts'
import { novaInternalError } from '../cloud/nova.ts'
import type { CloudState, Service } from '../cloud/state.ts'

export type RealService = Exclude<Service, 'contrabass'>

export interface Forwarders {
  urls: Record<RealService, string>
  calls(): Record<RealService, number>
  /** Tokens that Keystone has issued through its forwarder since the last call. */
  takeTokens(): string[]
  close(): Promise<void>
}

const internalErrors: Record<RealService, unknown> = {
  keystone: keystoneInternalError,
  neutron: neutronInternalError,
  nova: novaInternalError,
}
const realServices = Object.keys(internalErrors) as RealService[]

/** Describe one connection, not the message. */
const connectionHeaders = new Set(['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'expect'])

export async function startForwarders(
  urls: Record<RealService, string>,
  cloudState: CloudState,
  log: Log,
): Promise<Forwarders> {
  const servers = new Map<RealService, CloudServer>()
  const tokens = new Set<string>()
  const forwarded = (service: RealService) => servers.get(service)?.url ?? ''

  function throughForwarders(text: string): string {
    return realServices.reduce(
      (rewritten, service) => rewritten.replaceAll(new URL(urls[service]).origin, forwarded(service)),
      text,
    )
  }

  const forwarderTo =
    (service: RealService): AsyncHandler =>
    async ({ method, path, query, headers, body }): Promise<CloudResponse> => {
      const target = new URL(path, urls[service])
      target.search = query.toString()
      const response = await request(target, {
        method: method as 'GET',
        headers: messageHeaders(headers),
        ...(body !== '' && { body }),
      })
      const sent = messageHeaders(response.headers)
      const token = sent['x-subject-token']
      if (method === 'POST' && token !== undefined) tokens.add(token)
      return { status: response.statusCode, headers: sent, body: throughForwarders(await response.body.text()) }
    }

  for (const service of realServices)
    servers.set(
      service,
      await startHttpServer({
        ...{ service, cloudState, log, internalError: internalErrors[service] },
        handler: forwarderTo(service),
      }),
    )
  const ofEach = <T>(get: (service: RealService) => T) =>
    Object.fromEntries(realServices.map(service => [service, get(service)])) as Record<RealService, T>
  return {
    urls: ofEach(service => `${forwarded(service)}${new URL(urls[service]).pathname.replace(/\/$/, '')}`),
    calls: () => ofEach(service => servers.get(service)?.calls() ?? 0),
    takeTokens() {
      const taken = [...tokens]
      tokens.clear()
      return taken
    },
    close: async () => {
      await Promise.all([...servers.values()].map(server => server.close()))
    },
  }
}

function messageHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || connectionHeaders.has(name) ? [] : [[name, String(value)]],
    ),
  )
}
