/**
 * Stubs for benchmarks of the operator: a cloud of many VMs with a delay per call, and a Viola that answers at once.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { encrypted } from '../../sandbox/cloud/contrabass.ts'
import type { WireInterface } from '../../src/contract/interfaces.ts'
import { hashOfSent, sendEvent } from './viola-stream.ts'

export const portsEach = 5
export const vmIdOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
export const subnetIds = Array.from({ length: portsEach }, (_, n) => `subnet-${n}`)
export const projectId = 'a'.repeat(32)

export interface Stub {
  url: string
  close(): Promise<void>
}

export interface CloudStub extends Stub {
  calls(): number
  forget(): void
  /** One more port of a VM, in the first subnet. */
  attach(vm: number): { id: string; deviceId: string }
}

export interface CloudStubOptions {
  key: string
  vms: number
  /** Delay of each call. */
  callMs: number
  bus?: { url: string; user: string; password: string }
}

/** One HTTP server on the loopback address. */
export async function startHttpServer(
  handle: (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void>,
): Promise<Stub> {
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    await handle(incoming, response, Buffer.concat(chunks).toString())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

export async function startCloudStub({ key, vms, callMs, bus }: CloudStubOptions): Promise<CloudStub> {
  let calls = 0
  const vmIds = Array.from({ length: vms }, (_, n) => vmIdOf(n))
  const ports = vmIds.flatMap((_, vm) => subnetIds.map((_, subnet) => portOf(vm, subnet, subnet)))
  const servers = vmIds.map((id, n) => ({ id, name: `worker-${n}`, metadata: {} }))
  const bodies: Record<string, string> = {
    '/v2.0/subnets': JSON.stringify({
      subnets: subnetIds.map((id, n) => ({
        id,
        name: id,
        network_id: `net-${n}`,
        cidr: `10.${n}.0.0/16`,
        gateway_ip: null,
      })),
    }),
    '/v2.0/networks': JSON.stringify({
      networks: subnetIds.map((_, n) => ({ id: `net-${n}`, name: `network ${n}`, mtu: 1500 })),
    }),
    '/v2.1/servers/detail': JSON.stringify({ servers }),
  }
  const pages = new Map<string, string>()
  /** The page after the marker, with a link if more follows. */
  function portsPage(url: URL): string {
    const known = pages.get(url.search)
    if (known) return known
    const servers = new Set(url.searchParams.getAll('device_id'))
    const matching = servers.size > 0 ? ports.filter(({ device_id }) => servers.has(device_id)) : ports
    const limit = Number(url.searchParams.get('limit') ?? ports.length)
    const marker = url.searchParams.get('marker')
    const start = marker ? matching.findIndex(({ id }) => id === marker) + 1 : 0
    const page = matching.slice(start, start + limit)
    const next = new URL(url)
    next.searchParams.set('marker', page.at(-1)?.id ?? '')
    const links = start + limit < matching.length ? { ports_links: [{ rel: 'next', href: next.href }] } : {}
    const body = JSON.stringify({ ports: page, ...links })
    pages.set(url.search, body)
    return body
  }
  const server = await startHttpServer(async (incoming, response) => {
    calls++
    await sleep(callMs)
    const path = (incoming.url ?? '').split('?', 1)[0] ?? ''
    if (path === '/v3/auth/tokens') {
      const endpoints = (url: string) => [{ interface: 'public', region: 'R', url }]
      const catalog = [
        { type: 'network', endpoints: endpoints(server.url) },
        { type: 'compute', endpoints: endpoints(`${server.url}/v2.1`) },
      ]
      const expires_at = new Date(Date.now() + 3_600_000).toISOString()
      response.writeHead(201, { 'x-subject-token': 't' }).end(JSON.stringify({ token: { expires_at, catalog } }))
    } else if (path.startsWith('/v1/contrabass')) {
      const attributes = {
        adminId: 'admin',
        adminPw: encrypted('secret', key),
        domain: 'Default',
        ...(bus && { rabbitMQUrls: [bus.url], rabbitMQId: bus.user, rabbitMQPw: encrypted(bus.password, key) }),
      }
      response.end(JSON.stringify({ data: { url: server.url, attributes } }))
    } else if (path === '/v2.0/ports') response.end(portsPage(new URL(incoming.url ?? '', server.url)))
    else response.end(bodies[path] ?? '{}')
  })
  return {
    ...server,
    calls: () => calls,
    forget() {
      calls = 0
    },
    attach(vm) {
      const port = portOf(vm, 0, ports.length)
      ports.push(port)
      pages.clear()
      return { id: port.id, deviceId: port.device_id }
    },
  }
}

/** The index makes its id, MAC address and address unique. */
function portOf(vm: number, subnet: number, index: number) {
  return {
    id: `port-${vm}-${index}`,
    network_id: `net-${subnet}`,
    mac_address: `fa:16:${hex((index >> 8) & 255)}:${hex(index & 255)}:${hex(vm >> 8)}:${hex(vm & 255)}`,
    status: 'ACTIVE',
    device_id: vmIdOf(vm),
    device_owner: 'compute:nova',
    fixed_ips: [{ subnet_id: subnetIds[subnet], ip_address: `10.${subnet}.${(vm + 1) >> 8}.${(vm + 1) & 255}` }],
    created_at: '2026-11-15T00:00:00Z',
  }
}

export interface ViolaStub extends Stub {
  nodes(): number
  forget(): void
  /** Called for every node that is sent. */
  onNode(listener: (node: SentNode) => void): void
}

export interface SentNode {
  nodeName: string
  instanceId?: string
  interfaces: WireInterface[]
}

type StoredNode = SentNode & { specHash: string }

const nodesAtOnce = 10

/**
 * Streams what changes. Its nodes report Configured at once, as those of an idle fleet do. `writeMs`: writing a node takes so
 * long, and the nodes are streamed before the answer, like by Viola.
 */
export async function startViolaStub({ writeMs = 0 } = {}): Promise<ViolaStub> {
  const status = { state: 'Configured', observedGeneration: 1 }
  let delivered = new Map<string, StoredNode>()
  let version = 0
  let listener = (_: SentNode) => {}
  /** One batch is written after the other. */
  let written = Promise.resolve()
  const streams = new Set<ServerResponse>()
  const toWire = (node: StoredNode) => ({ ...node, generation: 1, status })
  // The hash of a stub that writes at once costs more than the rest of its answer.
  const hashed = (node: SentNode): StoredNode => ({ ...node, specHash: writeMs === 0 ? 'h' : hashOfSent(node) })
  const store = (node: StoredNode) => {
    delivered.set(node.nodeName, node)
    listener(node)
    for (const stream of streams) sendEvent(stream, 'updated', toWire(node))
  }
  const write = async (nodes: readonly StoredNode[]) => {
    for (let at = 0; at < nodes.length; at += nodesAtOnce) {
      const some = nodes.slice(at, at + nodesAtOnce)
      await sleep(some.length * writeMs)
      some.forEach(store)
    }
  }
  const server = await startHttpServer(async (incoming, response, body) => {
    if (incoming.method === 'POST') {
      const nodes = (JSON.parse(body) as SentNode[]).map(hashed)
      version++
      if (writeMs > 0) {
        written = written.then(() => write(nodes))
        await written
      }
      const results = nodes.map(({ nodeName, specHash }) => ({ nodeName, action: 'created', specHash }))
      response.end(JSON.stringify({ applied: nodes.length, output: '', results }))
      if (writeMs === 0) nodes.forEach(store)
      return
    }
    if (incoming.headers.accept?.includes('text/event-stream')) {
      streams.add(response)
      response.on('close', () => streams.delete(response))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      sendEvent(response, 'synced', { resourceVersion: String(version) })
      return
    }
    const etag = `"${version}"`
    if (incoming.headers['if-none-match'] === etag) return void response.writeHead(304).end()
    const query = new URL(incoming.url ?? '', 'http://viola').searchParams
    const [limit, start] = [Number(query.get('limit') ?? delivered.size), Number(query.get('cursor') ?? 0)]
    const next = start + limit
    const items = [...delivered.values()].slice(start, next).map(toWire)
    const link = next < delivered.size ? { link: `<?limit=${limit}&cursor=${next}>; rel="next"` } : {}
    response.writeHead(200, { etag, ...link }).end(JSON.stringify({ items, resourceVersion: String(version) }))
  })
  return {
    ...server,
    nodes: () => delivered.size,
    forget() {
      delivered = new Map()
      version++
    },
    onNode(newListener) {
      listener = newListener
    },
  }
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
