/**
 * A cloud and a Viola of which one service is hostile. The first part of the path names the case, so that many cases run at
 * the same time on one server.
 */
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { encrypted } from '../../sandbox/cloud/contrabass.ts'
import { violaPath } from '../../src/contract/viola.ts'
import type { Body, Expected } from './bodies.ts'
import type { answers } from './connections.ts'

export interface HostileAnswer {
  service: Service
  answer: { body: Body } | { raw: (typeof answers)[string] }
}

/** Without a hostile answer, the cloud has a message bus. */
export type HostileCase = HostileAnswer | { bus: string }

export interface HostileCloud extends AsyncDisposable {
  /** The base URL of a case. */
  add(name: string, hostile: HostileCase): string
}

export const vmIds = Array.from({ length: 10 }, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`)
export const subnetId = 'subnet-0'

const port = (n: number) => ({
  id: `port-${n}`,
  network_id: 'net-0',
  mac_address: `fa:16:3e:00:${(n >> 8).toString(16).padStart(2, '0')}:${(n & 255).toString(16).padStart(2, '0')}`,
  status: 'ACTIVE',
  device_id: vmIds[n % vmIds.length],
  device_owner: 'compute:nova',
  fixed_ips: [{ subnet_id: subnetId, ip_address: `10.0.${((n + 1) >> 8) & 255}.${(n + 1) & 255}` }],
})
const listOf = (name: string, entry: Expected['entry']): Expected => ({ head: `{"${name}":[`, tail: ']}', entry })
const node = (n: number) => ({
  nodeName: `worker-${n}`,
  specHash: 'h',
  generation: 1,
  interfaces: [{ id: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:01' }],
})

/** What each service answers to a request of the operator. */
export const services = {
  contrabass: {
    head: '{"data":{"url":"http://127.0.0.1:1","attributes":{"adminId":"a","adminPw":"b","rabbitMQUrls":[',
    tail: ']}}}',
    entry: () => ({}),
  },
  keystone: {
    head: '{"token":{"expires_at":"2099-01-01T00:00:00Z","catalog":[',
    tail: ']}}',
    entry: () => ({ type: 'network', endpoints: [{ interface: 'public', region: 'R', url: 'http://127.0.0.1:1' }] }),
  },
  subnets: listOf('subnets', () => ({ id: subnetId, name: 'a', network_id: 'net-0', cidr: '10.0.0.0/16' })),
  networks: listOf('networks', () => ({ id: 'net-0', mtu: 1500 })),
  servers: listOf('servers', n => ({ id: vmIds[n], name: `worker-${n}`, metadata: {} })),
  ports: listOf('ports', port),
  'viola list': listOf('items', node),
  'viola post': {
    head: '{"applied":1,"output":"","results":[',
    tail: ']}',
    entry: n => ({ nodeName: `worker-${n}`, action: 'created', specHash: 'h' }),
  },
} satisfies Record<string, Expected>

export type Service = keyof typeof services

const paths: [Service, RegExp][] = [
  ['contrabass', /^\/v1\/contrabass/],
  ['keystone', /^\/v3\/auth\/tokens/],
  ['subnets', /^\/v2.0\/subnets/],
  ['networks', /^\/v2.0\/networks/],
  ['servers', /^\/v2.1\/servers\/detail/],
  ['ports', /^\/v2.0\/ports/],
]

export async function startHostileCloud(key: string): Promise<HostileCloud> {
  const cases = new Map<string, HostileCase>()
  const server = createServer((request, response) => {
    const [, name = '', path = '/'] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? []
    const service = path.startsWith(violaPath)
      ? request.method === 'POST'
        ? 'viola post'
        : 'viola list'
      : paths.find(([, pattern]) => pattern.test(path))?.[0]
    const hostile = cases.get(name)
    request.resume()
    response.on('error', () => {})
    if (!service || !hostile) return void response.writeHead(404).end('{}')
    if ('bus' in hostile || service !== hostile.service)
      return valid(response, service, `${url}/${name}`, 'bus' in hostile ? hostile.bus : undefined)
    const { answer } = hostile
    if ('raw' in answer) return void answer.raw(request.socket)
    response.writeHead(service === 'keystone' ? 201 : 200, { 'x-subject-token': 'token', etag: '"1"' })
    void answer.body(response, services[service])
  })
  server.on('connection', socket => socket.on('error', () => {}))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { address, port } = server.address() as AddressInfo
  const url = `http://${isIP(address) === 6 ? `[${address}]` : address}:${port}`

  function valid(response: ServerResponse, service: Service, base: string, bus?: string): void {
    if (service === 'contrabass') {
      const rabbit = bus && { rabbitMQUrls: [bus], rabbitMQId: 'u', rabbitMQPw: encrypted('p', key) }
      const attributes = { adminId: 'admin', adminPw: encrypted('secret', key), domain: 'Default', ...rabbit }
      return void response.end(JSON.stringify({ data: { url: base, attributes } }))
    }
    if (service === 'keystone') {
      const endpoints = (to: string) => [{ interface: 'public', region: 'R', url: to }]
      const catalog = [
        { type: 'network', endpoints: endpoints(base) },
        { type: 'compute', endpoints: endpoints(`${base}/v2.1`) },
      ]
      response.writeHead(201, { 'x-subject-token': 'token' })
      return void response.end(JSON.stringify({ token: { expires_at: '2099-01-01T00:00:00Z', catalog } }))
    }
    const { head, tail, entry } = services[service]
    const count = { subnets: 1, networks: 1, servers: vmIds.length, ports: vmIds.length, 'viola list': 0 }
    const entries = Array.from({ length: count[service as keyof typeof count] ?? vmIds.length }, (_, n) => entry(n))
    response.end(`${head}${entries.map(one => JSON.stringify(one)).join()}${tail}`)
  }

  return {
    add(name, hostile) {
      cases.set(name, hostile)
      return `${url}/${name}`
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
