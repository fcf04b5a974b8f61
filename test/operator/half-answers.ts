/**
 * A proxy in front of the simulated Neutron and Nova whose answers are half true: addresses or ports are left out, pages come
 * twice, in another order or without the next one, and a replica shows an older state.
 */
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export const halfAnswers = [
  ...['noAddresses', 'noAddressField', 'noSecurity', 'noPort', 'duplicated', 'reordered', 'noSubnet'],
  ...['stale', 'noLinks', 'sameNext', 'cutPage', 'emptyPage', 'noJson', 'noDevice', 'noNovaAddresses'],
  ...['noServer', 'noServerFields', 'noSubnetFields'],
] as const
export type HalfAnswer = (typeof halfAnswers)[number]

export interface HalfAnswering extends AsyncDisposable {
  neutron: string
  nova: string
  /** How the next answers are wrong; undefined: they are true. */
  fault: HalfAnswer | undefined
  /** Answers that were changed, by fault. */
  changed: Map<HalfAnswer, number>
}

interface Clouds {
  neutron: string
  nova: string
  random: () => number
  /** Milliseconds. A replica is at most this much behind. */
  now: () => number
}

type Entry = Record<string, unknown>
type Body = Record<string, unknown> &
  Partial<Record<'ports' | 'subnets' | 'interfaceAttachments' | 'servers', Entry[]>> & { server?: Entry }

const maxLagMs = 30_000

export async function startHalfAnswering(clouds: Clouds): Promise<HalfAnswering> {
  const { random, now } = clouds
  const earlier = new Map<string, { at: number; text: string }[]>()
  const server = createServer((incoming, outgoing) => {
    const { url = '/', headers, method = 'GET' } = incoming
    const isNova = url.startsWith('/v2.1')
    incoming.resume()
    forward(`${isNova ? clouds.nova : clouds.neutron}${url}`, method, headers).then(
      answer => {
        const text = answer.status === 200 && method === 'GET' ? changedText(url, answer.text) : answer.text
        outgoing.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
      },
      () => outgoing.destroy(),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const proxy: HalfAnswering = {
    neutron: url,
    nova: `${url}/v2.1`,
    fault: undefined,
    changed: new Map(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }

  function changedText(path: string, text: string): string {
    const body = parsed(text)
    if (!body) return text
    const known = (earlier.get(path) ?? []).filter(({ at }) => now() - at <= maxLagMs)
    earlier.set(path, [...known, { at: now(), text }])
    const { fault } = proxy
    if (!fault) return text
    const changed = changedBy(
      fault,
      body,
      text,
      known.map(one => one.text),
    )
    if (changed !== text) proxy.changed.set(fault, (proxy.changed.get(fault) ?? 0) + 1)
    return changed
  }

  function changedBy(fault: HalfAnswer, body: Body, text: string, older: readonly string[]): string {
    const { ports, subnets, interfaceAttachments, servers, server } = body
    if (fault === 'noNovaAddresses' && interfaceAttachments)
      return JSON.stringify({ interfaceAttachments: some(interfaceAttachments, without('fixed_ips')) })
    if (fault === 'noServer' && servers)
      return JSON.stringify({ ...body, servers: servers.toSpliced(Math.floor(random() * servers.length), 1) })
    const withoutFields = without('name', 'metadata', 'tags')
    if (fault === 'noServerFields' && servers) return JSON.stringify({ ...body, servers: some(servers, withoutFields) })
    if (fault === 'noServerFields' && server) return JSON.stringify({ server: withoutFields(server) })
    if (fault === 'noSubnetFields' && subnets)
      return JSON.stringify({ ...body, subnets: subnets.map(without('gateway_ip', 'host_routes')) })
    if (fault === 'noSubnet' && subnets) return JSON.stringify({ ...body, subnets: subnets.slice(1) })
    if (!ports) return text
    switch (fault) {
      case 'noAddresses':
        return JSON.stringify({ ...body, ports: some(ports, port => ({ ...port, fixed_ips: [] })) })
      case 'noAddressField':
        return JSON.stringify({ ...body, ports: some(ports, without('fixed_ips')) })
      case 'noSecurity':
        return JSON.stringify({ ...body, ports: ports.map(without('allowed_address_pairs', 'port_security_enabled')) })
      case 'noDevice':
        return JSON.stringify({ ...body, ports: some(ports, without('device_id', 'device_owner')) })
      case 'noPort':
        return JSON.stringify({ ...body, ports: ports.filter(() => random() > 0.3) })
      case 'duplicated':
        return JSON.stringify({ ...body, ports: [...ports, ...ports] })
      case 'reordered':
        return JSON.stringify({ ...body, ports: ports.toReversed() })
      case 'stale':
        return older[Math.floor(random() * older.length)] ?? text
      case 'noLinks':
        return JSON.stringify({ ports })
      case 'sameNext':
        return JSON.stringify({ ...body, ports_links: [{ rel: 'next', href: `${url}/v2.0/ports?limit=3` }] })
      case 'cutPage':
        return text.slice(0, Math.floor(text.length * random()))
      case 'emptyPage':
        return JSON.stringify({ ports: [] })
      case 'noJson':
        return '<html>It works!</html>'
      default:
        return text
    }
  }

  function some(entries: readonly Entry[], change: (entry: Entry) => Entry): Entry[] {
    return entries.map(entry => (random() < 1 / 3 ? change(entry) : entry))
  }

  return proxy
}

/** Undefined for an answer that another fault made useless. */
function parsed(text: string): Body | undefined {
  try {
    return JSON.parse(text) as Body
  } catch {
    return undefined
  }
}

function without(...names: string[]): (entry: Entry) => Entry {
  return entry => Object.fromEntries(Object.entries(entry).filter(([name]) => !names.includes(name)))
}

/** With the host of the proxy, so that the links of a page lead to it. */
function forward(url: string, method: string, headers: IncomingHttpHeaders): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const forwarded = request(url, { method, headers }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 502, text }))
      response.on('error', reject)
    })
    forwarded.on('error', reject)
    forwarded.end()
  })
}
