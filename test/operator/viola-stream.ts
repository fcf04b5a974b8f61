/**
 * A Viola whose list and streams of node configs the test controls, over real HTTP, with the client of the operator.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fromWireInterfaces, specHash, type WireInterface } from '../../src/contract/interfaces.ts'
import type { ViolaNodeConfig, ViolaResult } from '../../src/contract/viola.ts'
import { createHttp } from '../../src/http-client/client.ts'
import { type DeliveredListOptions, withDeliveredList } from '../../src/operator/viola/delivered-list.ts'
import { withPostOnlySupport } from '../../src/operator/viola/legacy/post-only-viola.ts'
import { createViolaApi, type ViolaClient } from '../../src/operator/viola/viola-client.ts'
import { json } from '../support/http-stub.ts'

export interface StreamedNode {
  nodeName: string
  generation: number
  /** namespace/name of the OpenstackConfigs with an interface on it. */
  sources: string[]
  state: string
  /** Only a list has it. */
  editedBy?: string
}

export interface StreamingViola {
  client: ViolaClient
  nodes: Map<string, StreamedNode>
  version: string
  /** Lists that were answered. */
  lists(): number
  /** Requests for a stream, also refused ones. */
  requests(): number
  /** Open streams, in the order of their requests. */
  streams: ServerResponse[]
  /** What a new stream gets. */
  onStream: (response: ServerResponse) => void
  /** The result of each node of a POST. Nothing is stored: the test changes the nodes itself. */
  onPost: (node: ViolaNodeConfig) => ViolaResult
  /** Delays the answer of a list or of a POST, which is already decided. */
  beforeAnswer: () => Promise<void>
  /** Changes a node and reports it to all streams. */
  change(node: Partial<StreamedNode> & { nodeName: string }): void
  /** Reports a node to all streams as another state than it has. */
  send(node: Partial<StreamedNode> & { nodeName: string }): StreamedNode
  remove(nodeName: string): void
  [Symbol.asyncDispose](): Promise<void>
}

/** The hash that Viola computes for a node of a POST. */
export function hashOfSent({
  nodeName,
  instanceId,
  interfaces,
}: Pick<ViolaNodeConfig, 'nodeName' | 'instanceId' | 'interfaces'>): string {
  return specHash({ nodeName, instanceId, interfaces: fromWireInterfaces(interfaces as WireInterface[]) })
}

export function sendEvent(response: ServerResponse, event: string, data: unknown): void {
  response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}

export async function startStreamingViola(options?: DeliveredListOptions): Promise<StreamingViola> {
  let lists = 0
  let requests = 0
  const server = createServer(async (request, response) => {
    if (request.method === 'DELETE') {
      response.writeHead(204).end()
      return
    }
    if (request.method === 'POST') {
      const nodes = JSON.parse(await text(request)) as ViolaNodeConfig[]
      const results = nodes.map(viola.onPost)
      await viola.beforeAnswer()
      json(response, 200, { applied: nodes.length, output: '', results })
      return
    }
    if (request.headers.accept?.includes('text/event-stream')) {
      requests++
      response.on('close', () => {
        viola.streams = viola.streams.filter(one => one !== response)
      })
      viola.onStream(response)
      viola.streams.push(response)
      return
    }
    lists++
    const body = JSON.stringify({ items: [...viola.nodes.values()].map(listed), resourceVersion: viola.version })
    const etag = `"${viola.version}"`
    await viola.beforeAnswer()
    if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end()
    else response.writeHead(200, { 'content-type': 'application/json', etag }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const target = { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, providerId: 'biz-1' }
  const [http, streams] = [
    createHttp({ service: 'viola', timeoutMs: 30_000 }),
    createHttp({ service: 'viola', timeoutMs: 30_000 }),
  ]
  const store = { list: async () => [], put: async () => {}, remove: async () => {} }
  const viola: StreamingViola = {
    client: withDeliveredList(
      withPostOnlySupport(createViolaApi({ http, streams, ...target }), store, target),
      options,
    ),
    nodes: new Map(),
    version: '1',
    lists: () => lists,
    requests: () => requests,
    streams: [],
    onStream(response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      sendEvent(response, 'synced', { resourceVersion: viola.version })
    },
    onPost: ({ nodeName }) => ({ nodeName, action: 'updated', specHash: 'posted' }),
    beforeAnswer: async () => {},
    change(changes) {
      const node = viola.send(changes)
      viola.nodes.set(node.nodeName, node)
      viola.version = String(Number(viola.version) + 1)
    },
    send(changes) {
      const before = viola.nodes.get(changes.nodeName)
      const node = { generation: 1, sources: [], state: 'Pending', ...before, ...changes }
      for (const stream of viola.streams) sendEvent(stream, before ? 'updated' : 'added', toWire(node))
      return node
    },
    remove(nodeName) {
      const node = viola.nodes.get(nodeName)
      viola.nodes.delete(nodeName)
      viola.version = String(Number(viola.version) + 1)
      for (const stream of viola.streams) sendEvent(stream, 'deleted', node && toWire(node))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([http.close(), streams.close()])
      server.closeAllConnections()
      server.close()
    },
  }
  return viola
}

function listed(node: StreamedNode): object {
  return { ...toWire(node), ...(node.editedBy !== undefined && { editedBy: node.editedBy }) }
}

export function toWire({ nodeName, generation, sources, state }: StreamedNode): object {
  const interfaces = sources.map((source, id) => ({
    ...{ id, name: `multinic${id}`, macAddress: `fa:16:3e:00:00:0${id}`, portId: `port-${id}`, source },
    ...{ address: `10.${id}.0.10`, cidr: `10.${id}.0.0/24`, mtu: 1500 },
  }))
  const status = { observedGeneration: generation, state }
  return { nodeName, specHash: `${nodeName} ${generation}`, generation, interfaces, status }
}
