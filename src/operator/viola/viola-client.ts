/**
 * The Viola API as the operator calls it.
 *
 * A Viola of others may serve only the documented POST. It answers other methods with 404 or 405. A proxy in front of any Viola
 * may do so too for a moment, so the method is called again every time.
 */
import { createHash } from 'node:crypto'
import { fromWireInterfaces, type Interface, toWireInterface } from '../../contract/interfaces.ts'
import { equalJson } from '../../contract/json.ts'
import { spellingsOf } from '../../contract/machine.ts'
import { isDotSegment } from '../../contract/node-names.ts'
import { fieldErrors, summaryOf } from '../../contract/problem.ts'
import { shownName, truncate } from '../../contract/truncate.ts'
import { withoutSlash } from '../../contract/url.ts'
import {
  providerHeader,
  type ViolaClusterNode,
  type ViolaNodeConfig,
  type ViolaResult,
  violaNode,
  violaNodesAnswer,
  violaNodesPath,
  violaPath,
  violaPostAnswer,
  violaProviderUnknown,
} from '../../contract/viola.ts'
import type { Http, HttpAnswer, HttpRequest } from '../../http-client/client.ts'
import { detailOf, ServiceError } from '../../http-client/errors.ts'
import { eventsIn } from '../../http-client/event-stream.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import { shared } from '../../runtime/shared-text.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import { ViolaError } from '../viola-error.ts'

export interface ViolaClient {
  /** The node configs of this provider. Default: they are read. */
  list(signal?: AbortSignal, allowed?: ListAge): Promise<DeliveredNodes>
  post(nodes: readonly NodeToWrite[], signal?: AbortSignal, traceparent?: string): Promise<PostOutcome>
  remove(node: NodeToRemove, signal?: AbortSignal, traceparent?: string): Promise<'removed' | 'conflict'>
  clusterNodes(signal?: AbortSignal): Promise<ClusterNodes>
  /** Yields the version of the Nodes now and after each change. Ends when Viola ends the stream. */
  watchClusterNodes(signal: AbortSignal): AsyncIterable<string>
  /**
   * Keeps the list current, and yields the objects whose nodes changed: those that have interfaces on them. Ends when Viola
   * ends the stream, and fails if this Viola has none.
   */
  watchNodeConfigs(signal: AbortSignal): AsyncIterable<Concerned>
}

/** A known list that is not older, and that no known change outdated, is used again. */
export interface ListAge {
  maxAgeMs?: number
  /** While the stream keeps it current. Default: as without a stream. */
  maxStreamedMs?: number
}

/** OpenstackConfigs as namespace/name, or all of the provider. */
export type Concerned = ReadonlySet<string> | 'all'

/** The Nodes of the cluster. Unchanged ones are the same object. */
export interface ClusterNodes {
  items: readonly ViolaClusterNode[]
  /** Their machines, in each form of a UUID. */
  machines: ReadonlySet<string>
  version: string
}

/** What one Viola serves: some have neither GET nor DELETE. */
export interface ViolaApi {
  list(signal?: AbortSignal, known?: KnownNode): Promise<readonly DeliveredNode[] | 'unsupported'>
  post: ViolaClient['post']
  remove(
    node: NodeToRemove,
    signal?: AbortSignal,
    traceparent?: string,
  ): Promise<'removed' | 'conflict' | 'unsupported'>
  clusterNodes: ViolaClient['clusterNodes']
  watchClusterNodes: ViolaClient['watchClusterNodes']
  /** The interfaces of a known config are not read: a status, the usual event, is a small part of a node config. */
  watchNodeConfigs(signal: AbortSignal, known?: KnownNode): AsyncIterable<NodeConfigEvent>
}

/** A node whose interfaces are known keeps them, as the same objects. */
export type KnownNode = (nodeName: string) => {
  delivered?: Pick<DeliveredNode, 'specHash' | 'generation' | 'interfaces'> | undefined
  /** Of a POST under way: the node may have it already. */
  sent?: SentNode | undefined
}

/** `synced` is the first: whether the last list still has the version of the cluster. Then every change of a node config. */
export type NodeConfigEvent =
  | { type: 'synced'; isListed: boolean }
  | { type: 'changed' | 'deleted'; node: DeliveredNode; length: number }

export interface DeliveredNodes {
  nodes: readonly DeliveredNode[]
  /** Read from the cluster, with the state of each node. */
  reported: boolean
}

/** Nodes without a result were accepted with the rest. */
export interface PostOutcome {
  results: Map<string, Pick<ViolaResult, 'action' | 'message' | 'specHash'>>
}

/** A node of a POST, with the form in which an event reports its interfaces. */
export interface SentNode {
  node: NodeToWrite
  wire: ViolaNodeConfig['interfaces']
}

/** With the interfaces of the plan: what is delivered has the same objects then. */
export type NodeToWrite = Omit<ViolaNodeConfig, 'interfaces'> & { interfaces: Interface[] }

export type NodeToRemove = Pick<ViolaNodeConfig, 'nodeName' | 'instanceId'> & { expectedSpecHash: string }

export interface ViolaOptions {
  http: Http
  /** For streams: they must not take the connections of requests. */
  streams?: Http
  endpoint: string
  providerId: string
  token?: string | undefined
}

export function createViolaApi({ http, streams = http, endpoint, providerId, token }: ViolaOptions): ViolaApi {
  const url = `${withoutSlash(endpoint)}${violaPath}`
  const nodesUrl = `${withoutSlash(endpoint)}${violaNodesPath}`
  const headers = { [providerHeader]: providerId, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  /** Then Viola is not one with only POST: to plan without its list would give ports new indexes. */
  let hasListed = false
  let lastNodes: { etag: string | undefined; nodes: ClusterNodes } | undefined
  let last: { etag: string; nodes: readonly DeliveredNode[]; byDigest: ReadonlyMap<string, DeliveredNode> } | undefined

  async function send(request: HttpRequest): Promise<HttpAnswer> {
    try {
      return await http.request(request)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      throw new ViolaError(error.message, { cause: error, retryAfterMs: error.retryAfterMs })
    }
  }

  return {
    async list(signal, knownNode) {
      const known = last
      const byDigest = new Map<string, DeliveredNode>()
      const etags = new Set<unknown>()
      let next: string | undefined = `?limit=${pageSize}`
      while (next !== undefined) {
        const isFirst: boolean = etags.size === 0
        const answer: HttpAnswer = await send({
          method: 'GET',
          url: `${url}${next}`,
          headers: { ...headers, ...(isFirst && known && { 'if-none-match': known.etag }) },
          signal,
          accept: status => status < 500 && status !== 429,
        })
        if (isFirst && answer.status === 304 && known) return known.nodes
        if (isFirst && isUnsupported(answer)) {
          if (!hasListed) return 'unsupported'
          throw refusal('GET', answer, ': this Viola answered before; restart the operator if it now serves only POST')
        }
        if (answer.status !== 200) throw refusal('GET', answer)
        await readPage(answer.body, byDigest, known?.byDigest, knownNode)
        etags.add(answer.headers['etag'])
        next = nextQuery(answer.headers['link'])
      }
      hasListed = true
      const nodes = [...byDigest.values()]
      const [etag] = etags
      // Pages of different versions are current enough, but their version is none that Viola knows.
      last = etags.size === 1 && typeof etag === 'string' ? { etag, nodes, byDigest } : undefined
      return nodes
    },

    async post(nodes, signal, traceparent) {
      const answer = await send({
        method: 'POST',
        url,
        headers: { ...headers, ...(traceparent && { traceparent }) },
        body: nodes.map(toViolaNode),
        signal,
        anyBody: true,
        accept: status => status !== 429 && status !== 503,
      })
      const results = resultsIn(answer.body, nodes.length)
      const accepted = [200, 201, 202, 204].includes(answer.status)
      if (!accepted && results.length === 0) throw refusal('POST', answer)
      return { results: new Map(results.map(({ nodeName, ...result }) => [nodeName, result])) }
    },

    async remove({ nodeName, expectedSpecHash }, signal, traceparent) {
      if (isDotSegment(nodeName)) return 'unsupported'
      const query = new URLSearchParams({ expectedSpecHash })
      const answer = await send({
        method: 'DELETE',
        url: `${url}/${encodeURIComponent(nodeName)}?${query}`,
        headers: { ...headers, ...(traceparent && { traceparent }) },
        signal,
        anyBody: true,
        accept: status => status < 500 && status !== 429,
      })
      if (answer.status === 409) return 'conflict'
      if ([200, 202, 204].includes(answer.status)) return 'removed'
      if (!isUnsupported(answer)) throw refusal('DELETE', answer)
      return 'unsupported'
    },

    async clusterNodes(signal) {
      const known = lastNodes
      const answer = await send({
        method: 'GET',
        url: nodesUrl,
        headers: { ...headers, ...(known?.etag && { 'if-none-match': known.etag }) },
        signal,
        accept: status => status < 500 && status !== 429,
      })
      if (answer.status === 304 && known) return known.nodes
      const advice = [404, 405].includes(answer.status) ? ': this Viola does not list Nodes' : ''
      if (answer.status !== 200) throw refusal('GET', answer, advice, violaNodesPath)
      const nodes = nodesIn(answer.body)
      const { etag } = answer.headers
      lastNodes = { etag: typeof etag === 'string' ? etag : undefined, nodes }
      return nodes
    },

    async *watchClusterNodes(signal) {
      const accept = { accept: 'text/event-stream' }
      const stream = streams.stream({ method: 'GET', url: nodesUrl, headers: { ...headers, ...accept }, signal })
      for await (const { data } of eventsIn(stream)) {
        const version = versionIn(data)
        if (version !== undefined) yield version
      }
    },

    async *watchNodeConfigs(signal, known) {
      // Without `since`, all node configs come first: too much for a large cluster.
      const stream = streams.stream({
        method: 'GET',
        url: `${url}?since=`,
        headers: { ...headers, accept: 'text/event-stream' },
        signal,
      })
      let isSynced = false
      for await (const { type, data, length } of eventsIn(stream)) {
        if (isSynced) yield { type: type === 'deleted' ? type : 'changed', node: readNode(data, known), length }
        else if (type !== 'synced')
          throw new ViolaError('viola: the stream does not begin with the version of the list')
        else yield { type, isListed: last !== undefined && last.etag === `"${versionIn(data)}"` }
        isSynced = true
      }
    },
  }
}

export function toViolaNode(node: NodeToWrite): ViolaNodeConfig {
  return { ...node, interfaces: node.interfaces.map(toWireInterface) }
}

function versionIn(data: unknown): string | undefined {
  const version = (data as { resourceVersion?: unknown } | null)?.resourceVersion
  return typeof version === 'string' ? version : undefined
}

/** Results that fit the request. zod would collect an issue for each of a million invalid ones. */
function resultsIn(body: unknown, sent: number): readonly ViolaResult[] {
  const results = (body as { results?: unknown } | null | undefined)?.results
  if (!Array.isArray(results) || results.length > sent) return []
  return violaPostAnswer.safeParse(body).data?.results ?? []
}

/** A page of our Viola. Others may answer with all nodes at once. */
const pageSize = 500
const maxNodes = 20_000

/** Only the query of the link is used: the host is ours. */
function nextQuery(link: string | string[] | undefined): string | undefined {
  return typeof link === 'string' ? /<[^<>?]*(\?[^<>]*)>; *rel="next"/.exec(link)?.[1] : undefined
}

/**
 * Adds the nodes of a page, by the digest of their content. An unchanged node stays the same object: to parse a thousand
 * nodes because one changed would cost more than the rest of a sync.
 */
async function readPage(
  body: unknown,
  into: Map<string, DeliveredNode>,
  before: ReadonlyMap<string, DeliveredNode> = new Map(),
  known: KnownNode = () => ({}),
): Promise<void> {
  const items = (body as { items?: unknown } | null | undefined)?.items
  if (!Array.isArray(items)) throw unusable()
  const count = into.size
  for (const item of items) {
    const digest = createHash('sha256')
      .update(JSON.stringify(item) ?? '')
      .digest('base64')
    into.set(digest, before.get(digest) ?? withKnownInterfaces(readNode(item), known))
    await giveWay()
    if (into.size > maxNodes) throw new ViolaError(`viola: the list has more than ${maxNodes} node configs`)
  }
  if (items.length > 0 && into.size === count) throw new ViolaError('viola: the list repeats its node configs')
}

function readNode(item: unknown, known: KnownNode = () => ({})): DeliveredNode {
  const knownOnes = knownInterfaces(item, known)
  const parsed = violaNode.safeParse(knownOnes ? { ...(item as object), interfaces: [] } : item)
  if (!parsed.success) {
    const name = shownName(String((item as { nodeName?: unknown } | null)?.nodeName))
    throw unusable(truncate(`: node ${name}: ${summaryOf(fieldErrors(parsed.error))}`, 500))
  }
  const { interfaces, nodeName, instanceId, instanceName, specHash, generation, status, editedBy } = parsed.data
  const providerName = shownName(parsed.data.providerName ?? '')
  return {
    nodeName,
    specHash,
    generation,
    interfaces: knownOnes ?? fromWireInterfaces(interfaces).map(withSharedTexts),
    ...(instanceId !== undefined && { instanceId }),
    ...(instanceName !== undefined && { instanceName }),
    ...(providerName && { providerName }),
    ...(status !== undefined && { status }),
    ...(editedBy !== undefined && { editedBy }),
  }
}

/** A list is compared and not believed: it shows what the cluster really has. */
function withKnownInterfaces(node: DeliveredNode, known: KnownNode): DeliveredNode {
  const { delivered, sent } = known(node.nodeName)
  const interfaces = [sent?.node.interfaces, delivered?.interfaces].find(one => one && equalJson(one, node.interfaces))
  return interfaces ? { ...node, interfaces } : node
}

/** The interfaces of an item that claims to have the config that is delivered, or that has what is being sent. */
function knownInterfaces(item: unknown, known: KnownNode): Interface[] | undefined {
  const { nodeName, specHash, generation, interfaces } = (item ?? {}) as Partial<DeliveredNode>
  const { delivered, sent } = typeof nodeName === 'string' ? known(nodeName) : {}
  if (delivered && delivered.specHash === specHash && delivered.generation === generation) return delivered.interfaces
  return sent && equalJson(sent.wire, interfaces) ? sent.node.interfaces : undefined
}

const repeating = ['cidr', 'gateway', 'networkId', 'networkName', 'subnetId', 'subnetName', 'source'] as const

function withSharedTexts(nic: Interface): Interface {
  for (const field of repeating) if (nic[field] !== undefined) nic[field] = shared(nic[field])
  return nic
}

function unusable(why = ''): ViolaError {
  return new ViolaError(`viola: the list of node configs has an unexpected format${why}`)
}

/** A 404 with a problem document (an unknown provider) is an answer. Any other 404 means that the route does not exist. */
function isUnsupported({ status, body }: HttpAnswer): boolean {
  if (status === 405) return true
  return status === 404 && !(typeof body === 'object' && body !== null && 'detail' in body)
}

function nodesIn(body: unknown): ClusterNodes {
  const { items, resourceVersion } = (body ?? {}) as { items?: unknown; resourceVersion?: unknown }
  if (Array.isArray(items) && items.length > maxNodes)
    throw new ViolaError(`viola: the list has more than ${maxNodes} Nodes`)
  const parsed = violaNodesAnswer.safeParse({ items, resourceVersion })
  if (!parsed.success) throw new ViolaError('viola: the list of Nodes has an unexpected format')
  const machines = parsed.data.items.flatMap(({ systemUUID }) => spellingsOf(systemUUID))
  return { items: parsed.data.items, machines: new Set(machines), version: parsed.data.resourceVersion }
}

function refusal(method: string, { status, body }: HttpAnswer, advice = '', path = violaPath): ViolaError {
  const detail = detailOf(body)
  const message = `viola: ${method} ${path}: HTTP ${status}${advice}${detail ? ` ${detail}` : ''}`
  const knownProviders = status === 404 ? violaProviderUnknown.safeParse(body).data?.knownProviders : undefined
  return new ViolaError(truncate(message, 1_000), { status, knownProviders })
}
