/**
 * Nova: names of servers, and the interfaces of a server. The microversion is pinned; the base one has all fields we read.
 */
import * as z from 'zod'
import { isSelected, prefixOf, type ServerSelector } from '../contract/server-selector.ts'
import type { Attachment, Server } from '../operator/cloud.ts'
import { allPages, parsed, parsedPage, type Query, unusable } from './paging.ts'
import type { Session } from './session.ts'

export interface Nova {
  /** The servers that exist. A missing id means that Nova knows no such server. */
  servers(ids: readonly string[], signal?: AbortSignal): Promise<Server[]>
  serversWithTags(ids: readonly string[], signal?: AbortSignal): Promise<Server[]>
  /** Exact matches only. */
  serversByName(name: string, signal?: AbortSignal): Promise<Server[]>
  /** Of the project of the token. */
  serversMatching(selector: ServerSelector, signal?: AbortSignal): Promise<Server[]>
  /** Undefined when there is no such server. */
  attachmentsOf(id: string, signal?: AbortSignal): Promise<Attachment[] | undefined>
  /** Whether Nova has a record of the deletion. That is stronger than not finding the server. */
  wasDeleted(id: string, signal?: AbortSignal): Promise<boolean>
}

/** Ids, names and metadata are not longer. */
const text = z.string().max(255)
const serverShape = z
  .object({
    id: text,
    name: text.nullish(),
    metadata: z.record(text, text).nullish(),
    tags: z.array(text).nullish(),
  })
  .transform(
    ({ id, name, metadata, tags }): Server => ({
      ...{ id, name: name ?? '' },
      ...(metadata && { metadata }),
      ...(tags && { tags }),
    }),
  )
const oneShape = z.object({ server: serverShape })
const interfacesShape = z.object({
  interfaceAttachments: z.array(
    z.object({ port_id: text, mac_addr: text, fixed_ips: z.array(z.object({ subnet_id: text })).nullish() }).transform(
      ({ port_id, mac_addr, fixed_ips }): Attachment => ({
        portId: port_id,
        macAddress: mac_addr.toLowerCase(),
        subnetIds: (fixed_ips ?? []).map(ip => ip.subnet_id),
      }),
    ),
  ),
})

const actionsShape = z.object({ instanceActions: z.array(z.object({ action: text })) })

const headers = { 'x-openstack-nova-api-version': '2.1', 'openstack-api-version': 'compute 2.1' }
/** The first microversion that returns the actions of deleted servers. */
const actionHeaders = { 'x-openstack-nova-api-version': '2.21', 'openstack-api-version': 'compute 2.21' }
const deletions = ['delete', 'forceDelete']
/** The first microversion with server tags. */
const tagHeaders = { 'x-openstack-nova-api-version': '2.26', 'openstack-api-version': 'compute 2.26' }
/** Up to this number, servers are requested one by one. Above it, the whole list is cheaper. */
export const fewServers = 8
/** The most that Nova returns by default. A server has several KiB: `fields` does not exist here. */
const pageSize = 1_000
/** Servers that have the same name. */
const maxNamesakes = 1_000
/** Servers that one selector may select. */
const maxSelected = 20_000
const concurrency = 8

export function createNova(session: Session): Nova {
  /** Undefined only when Nova itself answers 404 itemNotFound: a 404 of a proxy proves nothing. */
  async function found(path: string, signal: AbortSignal | undefined, version: Version = headers): Promise<unknown> {
    const accept = (status: number) => status === 200 || status === 404
    const { status, body } = await session.get('compute', { path, headers: version, signal, accept })
    if (status === 200) return body
    if (typeof body === 'object' && body !== null && 'itemNotFound' in body) return undefined
    throw unusable('nova', 'HTTP 404 without itemNotFound: the answer is not from Nova')
  }

  async function one(id: string, signal: AbortSignal | undefined, version: Version): Promise<Server | undefined> {
    const path = `/servers/${encodeURIComponent(id)}`
    const body = await found(path, signal, version)
    return body === undefined ? undefined : parsed('nova', 'a server', oneShape, body).server
  }

  function pages(
    query: Query,
    { keep, maxItems, version = headers }: { keep: Keep; maxItems: number; version?: Version },
    signal: AbortSignal | undefined,
  ): Promise<Server[]> {
    const read = async (page: Query) => {
      const request = { path: '/servers/detail', query: page, headers: version, signal }
      const { body } = await session.get('compute', request)
      return parsedPage('nova', 'servers', serverShape, body, keep)
    }
    return allPages({ service: 'nova', first: [...query, ['limit', String(pageSize)]], maxItems, read })
  }

  async function oneByOne(
    ids: readonly string[],
    signal: AbortSignal | undefined,
    version: Version,
  ): Promise<Server[]> {
    const servers: Server[] = []
    const left = [...ids]
    const work = async () => {
      for (let id = left.shift(); id !== undefined; id = left.shift()) {
        const server = await one(id, signal, version)
        if (server) servers.push(server)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
    return servers
  }

  async function serversById(
    ids: readonly string[],
    signal: AbortSignal | undefined,
    version: Version,
  ): Promise<Server[]> {
    if (ids.length <= fewServers) return oneByOne(ids, signal, version)
    const requested = new Set(ids)
    const keep = ({ id }: Server) => requested.has(id)
    const listed = await pages([], { keep, maxItems: ids.length, version }, signal)
    const seen = new Set(listed.map(server => server.id))
    // The list covers our project only and may be incomplete. Each server that it lacks is requested by id.
    const rest = await oneByOne(
      ids.filter(id => !seen.has(id)),
      signal,
      version,
    )
    return [...listed, ...rest]
  }

  return {
    servers: (ids, signal) => serversById(ids, signal, headers),
    serversWithTags: (ids, signal) => serversById(ids, signal, tagHeaders),

    async serversByName(name, signal) {
      return pages(
        named(`^${literal(name)}$`),
        { keep: server => server.name === name, maxItems: maxNamesakes },
        signal,
      )
    },

    async serversMatching(selector, signal) {
      const { namePattern = '*', tags = [] } = selector
      const prefix = prefixOf(namePattern)
      const query: Query = [
        ...(isAscii.test(prefix) ? named(`^${literal(prefix)}`) : []),
        ...(tags.length > 0 ? [['tags', tags.join()] satisfies Query[number]] : []),
      ]
      // Nova may compare names without regard to case, and most clouds do not filter by metadata.
      const keep = (server: Server) => isSelected(server, selector)
      const version = tags.length > 0 ? tagHeaders : headers
      return pages(query, { keep, maxItems: maxSelected, version }, signal)
    },

    async attachmentsOf(id, signal) {
      const path = `/servers/${encodeURIComponent(id)}/os-interface`
      const body = await found(path, signal)
      if (body === undefined) return undefined
      return parsed('nova', 'the list of interfaces', interfacesShape, body).interfaceAttachments
    },

    async wasDeleted(id, signal) {
      const body = await found(`/servers/${encodeURIComponent(id)}/os-instance-actions`, signal, actionHeaders)
      if (body === undefined) return false
      const { instanceActions } = parsed('nova', 'the list of actions', actionsShape, body)
      return instanceActions.some(({ action }) => deletions.includes(action))
    },
  }
}

type Version = typeof headers
type Keep = (server: Server) => boolean

/** A database may compare other characters byte by byte. */
const isAscii = /^[ -~]+$/

/** Nova treats the name as a regular expression. */
function named(pattern: string): Query {
  return [['name', pattern]]
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
