/**
 * The Viola API as the operator uses it. A Viola that serves only the documented POST is one too: what it answers with 404
 * or 405 is remembered and not asked for again.
 */
import { createHash } from 'node:crypto'
import { completeInterfaces } from '../contract/interfaces.ts'
import { withoutSlash } from '../contract/url.ts'
import {
  providerHeader,
  type ViolaNodeConfig,
  type ViolaResult,
  violaNode,
  violaPath,
  violaPostAnswer,
} from '../contract/viola.ts'
import type { Http, HttpAnswer } from '../http-client/client.ts'
import { cut, wordsOf } from '../http-client/errors.ts'
import type { HeldNode } from './observed-state.ts'

export interface Viola {
  held(signal?: AbortSignal): Promise<Held>
  /** The trace is that of the sync. */
  post(nodes: readonly ViolaNodeConfig[], signal?: AbortSignal, traceparent?: string): Promise<PostOutcome>
  /** `unserved` when this Viola has no DELETE. */
  remove(
    nodeName: string,
    expectedSpecHash: string,
    signal?: AbortSignal,
    traceparent?: string,
  ): Promise<'removed' | 'conflict' | 'unserved'>
}

export interface Held {
  /** What was delivered for this provider. */
  nodes: readonly HeldNode[]
  /** Read from the cluster, with the state of each node. False for a Viola that does not tell. */
  told: boolean
}

/** One result a node; nodes without one got through with the rest. */
export interface PostOutcome {
  results: Map<string, Pick<ViolaResult, 'action' | 'message' | 'specHash'>>
}

/** Viola refused a whole request. */
export class ViolaRefusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ViolaRefusal'
    this.status = status
  }

  /** The content is at fault, not Viola: a smaller request may get through. */
  get isAboutContent(): boolean {
    return [400, 413, 422].includes(this.status)
  }
}

export interface ViolaOptions {
  http: Http
  endpoint: string
  providerId: string
  token?: string | undefined
}

export function createViola({ http, endpoint, providerId, token }: ViolaOptions): Viola {
  const url = `${withoutSlash(endpoint)}${violaPath}`
  const headers = { [providerHeader]: providerId, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  const unserved = new Set<'GET' | 'DELETE'>()
  let last: { etag: string; nodes: readonly HeldNode[]; read: ReadonlyMap<string, HeldNode> } | undefined

  return {
    async held(signal) {
      if (unserved.has('GET')) return untold
      const answer = await http.request({
        method: 'GET',
        url,
        headers: { ...headers, ...(last && { 'if-none-match': last.etag }) },
        signal,
        accept: status => status < 500 && status !== 429,
      })
      if (answer.status === 304 && last) return { nodes: last.nodes, told: true }
      if (isUnserved(answer)) {
        unserved.add('GET')
        return untold
      }
      if (answer.status !== 200) throw refusal('GET', answer)
      const read = readList(answer.body, last?.read)
      const nodes = [...read.values()]
      const { etag } = answer.headers
      last = typeof etag === 'string' ? { etag, nodes, read } : undefined
      return { nodes, told: true }
    },

    async post(nodes, signal, traceparent) {
      const answer = await http.request({
        method: 'POST',
        url,
        headers: { ...headers, ...(traceparent && { traceparent }) },
        body: nodes,
        signal,
        anyBody: true,
        accept: status => status !== 429 && status !== 503,
      })
      const parsed = violaPostAnswer.safeParse(answer.body)
      const results = parsed.success ? parsed.data.results : []
      const good = [200, 201, 202, 204].includes(answer.status)
      if (!good && results.length === 0) throw refusal('POST', answer)
      return { results: new Map(results.map(({ nodeName, ...result }) => [nodeName, result])) }
    },

    async remove(nodeName, expectedSpecHash, signal, traceparent) {
      if (unserved.has('DELETE')) return 'unserved'
      const query = new URLSearchParams({ expectedSpecHash })
      const answer = await http.request({
        method: 'DELETE',
        url: `${url}/${encodeURIComponent(nodeName)}?${query}`,
        headers: { ...headers, ...(traceparent && { traceparent }) },
        signal,
        anyBody: true,
        accept: status => status < 500 && status !== 429,
      })
      if (answer.status === 409) return 'conflict'
      if ([200, 202, 204].includes(answer.status)) return 'removed'
      if (!isUnserved(answer)) throw refusal('DELETE', answer)
      unserved.add('DELETE')
      return 'unserved'
    },
  }
}

const untold: Held = { nodes: [], told: false }

/**
 * The nodes of a list, by what identifies their content. One that is as it was before is the very same object: reading a
 * thousand because one has changed would cost more than all the rest of a sync.
 */
function readList(body: unknown, before: ReadonlyMap<string, HeldNode> = new Map()): Map<string, HeldNode> {
  const items = (body as { items?: unknown } | undefined)?.items
  if (!Array.isArray(items)) throw unusable()
  return new Map(
    items.map((item: unknown) => {
      const mark = createHash('sha256')
        .update(JSON.stringify(item) ?? '')
        .digest('base64')
      return [mark, before.get(mark) ?? readNode(item)]
    }),
  )
}

function readNode(item: unknown): HeldNode {
  const parsed = violaNode.safeParse(item)
  if (!parsed.success) throw unusable()
  const { interfaces, nodeName, instanceId, specHash, generation, status } = parsed.data
  return {
    nodeName,
    specHash,
    generation,
    interfaces: completeInterfaces(interfaces).interfaces,
    ...(instanceId !== undefined && { instanceId }),
    ...(status !== undefined && { status }),
  }
}

function unusable(): ViolaRefusal {
  return new ViolaRefusal(200, 'viola: the list of node configs is not usable')
}

/** A 404 in the words of an API (a problem, as an unknown provider gets) is an answer; any other means: no such route. */
function isUnserved({ status, body }: HttpAnswer): boolean {
  if (status === 405) return true
  return status === 404 && !(typeof body === 'object' && body !== null && 'detail' in body)
}

function refusal(method: string, { status, body }: HttpAnswer): ViolaRefusal {
  const words = wordsOf(body)
  return new ViolaRefusal(
    status,
    cut(`viola: ${method} ${violaPath}: HTTP ${status}${words ? ` ${words}` : ''}`, 1_000),
  )
}
