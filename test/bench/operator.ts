/**
 * The operator with 1,000 VMs of 5 ports in 5 subnets, 20 ms a call; Viola is a stand-in that answers at once. The
 * reference is a bare loop that makes the fewest calls which could do it, in the same run. Then five times as many VMs,
 * against a bare loop of as many: growth is to be no worse than the loop's.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import { encrypted } from '../../src/sandbox/cloud/contrabass.ts'
import { eventually } from '../eventually.ts'
import { clusterId, startStage } from '../operator/stage.ts'
import { type Bench, figure, memoryOf } from './figure.ts'

const portsEach = 5
const callMs = 20

const vmIdOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const subnetIds = Array.from({ length: portsEach }, (_, n) => `subnet-${n}`)
const projectId = 'a'.repeat(32)

export const bench: Bench = async report => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bench-'))
  const program = join(dir, 'multinic.mjs')
  try {
    await buildProgram(program)
    const few = await measure(program, 1_000)
    const { reference } = few
    const least = { against: 'bare loop', reference: reference.ms }
    const calls = { against: 'bare loop', reference: reference.calls }
    const listing = { against: 'one listing', reference: reference.listingMs }
    report(figure('operator.calls_per_sync', few.calls, 'calls', calls, { atMost: 20 }))
    report(figure('operator.create_to_viola', few.delivered, 'ms', least, { atMost: 4 * reference.ms }))
    report(figure('operator.create_to_ready', few.ready, 'ms', least, { atMost: 6 * reference.ms }))
    report(figure('operator.resync', few.quiet.ms, 'ms', listing, { atMost: 3 * reference.listingMs }))
    report(figure('operator.resync_calls', few.quiet.calls, 'calls', { against: 'one listing', reference: 1 }))
    const idle = { against: 'before the first object', reference: few.idleMiB }
    report(figure('operator.rss_mib', few.mostMiB, 'MiB', idle, { atMost: 150 }))

    const many = await measure(program, 5_000)
    const bare = { against: 'bare loop', reference: many.reference.ms }
    const long = { against: 'one listing', reference: many.reference.listingMs }
    const five = { against: 'five times that of 1,000 VMs', reference: 5 * few.mostMiB }
    report(figure('operator.create_to_viola_5000', many.delivered, 'ms', bare, { atMost: 4 * bare.reference }))
    report(figure('operator.create_to_ready_5000', many.ready, 'ms', bare, { atMost: 6 * bare.reference }))
    report(figure('operator.resync_5000', many.quiet.ms, 'ms', long, { atMost: 3 * long.reference }))
    report(figure('operator.rss_mib_5000', many.mostMiB, 'MiB', five, { atMost: five.reference }))
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** The bundled program in a process of its own; the cluster, the cloud and Viola are in this one. */
async function measure(program: string, vms: number) {
  const stage = await startStage()
  const cloud = await standInCloud(stage.world.provider.encryptKey, vms)
  const viola = await standInViola()
  try {
    const reference = await bareLoop(cloud.url, viola.url, vms)
    viola.forget()
    cloud.forget()
    await using operator = await startProgram(program, {
      KUBECONFIG: stage.api.kubeconfig,
      OPERATOR_ADDR: '127.0.0.1:0',
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dirname(program), `inventory-${vms}.db`),
      CONTRABASS_ENDPOINT: cloud.url,
      VIOLA_ENDPOINT: viola.url,
    })
    const idleMiB = memoryOf(operator.pid)
    const started = performance.now()
    await stage.create({
      subnetIDs: subnetIds,
      vmNames: Array.from({ length: vms }, (_, n) => vmIdOf(n)),
      credentials: { openstackProviderID: 'p', k8sProviderID: clusterId, projectID: projectId },
      settings: { pollFastInterval: '1s', pollSlowInterval: '1s' },
    })
    await eventually(() => must(viola.nodes() === vms), { within: 120_000, every: 5 })
    const delivered = performance.now() - started
    await eventually(
      async () =>
        must((await stage.config()).status?.conditions?.some(one => one.type === 'Ready' && one.status === 'True')),
      { within: 120_000, every: 5 },
    )
    const ready = performance.now() - started
    const calls = cloud.calls()
    const quiet = await quietSyncs(operator.url, cloud)
    return { reference, delivered, ready, calls, quiet, idleMiB, mostMiB: memoryOf(operator.pid, 'VmHWM') }
  } finally {
    await Promise.all([cloud.close(), viola.close()])
    await stage.close()
  }
}

async function startProgram(program: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [program, 'operator'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const url = Promise.withResolvers<string>()
  child.once('exit', code => url.reject(new Error(`the operator ended with ${code}`)))
  createInterface({ input: child.stderr }).on('line', line => {
    const { message, part, url: at } = JSON.parse(line) as Record<string, string>
    if (message === 'listening' && part === 'operator' && at) url.resolve(at)
  })
  return {
    url: await url.promise,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function must(truth: boolean | undefined): void {
  if (!truth) throw new Error('not yet')
}

/** Whole syncs with nothing new: their mean time, as the operator's own numbers tell it, and their calls. */
async function quietSyncs(operator: string, cloud: StandInCloud): Promise<{ ms: number; calls: number }> {
  // The first sync after the delivery still reads what was delivered.
  await eventually(async () => must((await syncTimes(operator)).count >= 3), { within: 120_000 })
  const [before, calls] = [await syncTimes(operator), cloud.calls()]
  await eventually(async () => must((await syncTimes(operator)).count >= before.count + 5), { within: 60_000 })
  const after = await syncTimes(operator)
  const count = after.count - before.count
  return { ms: ((after.sum - before.sum) / count) * 1_000, calls: (cloud.calls() - calls) / count }
}

async function syncTimes(operator: string): Promise<{ count: number; sum: number }> {
  const text = await (await request(`${operator}/metrics`)).body.text()
  const number = (name: string) =>
    Number(new RegExp(`^multinic_operator_sync_seconds_${name} (\\S+)$`, 'm').exec(text)?.[1])
  return { count: number('count'), sum: number('sum') }
}

interface StandIn {
  url: string
  close(): Promise<void>
}

interface StandInCloud extends StandIn {
  calls(): number
  forget(): void
}

async function serving(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void>,
): Promise<StandIn> {
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    await answer(incoming, response, Buffer.concat(chunks).toString())
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

async function standInCloud(key: string, vms: number): Promise<StandInCloud> {
  let calls = 0
  const vmIds = Array.from({ length: vms }, (_, n) => vmIdOf(n))
  const ports = vmIds.flatMap((vmId, vm) =>
    subnetIds.map((subnetId, subnet) => ({
      id: `port-${vm}-${subnet}`,
      network_id: `net-${subnet}`,
      mac_address: `fa:16:3e:${hex(subnet)}:${hex(vm >> 8)}:${hex(vm & 255)}`,
      status: 'ACTIVE',
      device_id: vmId,
      device_owner: 'compute:nova',
      fixed_ips: [{ subnet_id: subnetId, ip_address: `10.${subnet}.${vm >> 8}.${vm & 255}` }],
      created_at: '2026-11-15T00:00:00Z',
    })),
  )
  const servers = vmIds.map((id, n) => ({ id, name: `worker-${n}`, metadata: {} }))
  const bodies: Record<string, string> = {
    '/v2.0/ports': JSON.stringify({ ports }),
    '/v2.0/subnets': JSON.stringify({
      subnets: subnetIds.map((id, n) => ({
        id,
        name: id,
        network_id: `net-${n}`,
        cidr: `10.${n}.0.0/16`,
        gateway_ip: null,
      })),
    }),
    '/v2.0/networks': JSON.stringify({ networks: subnetIds.map((_, n) => ({ id: `net-${n}`, mtu: 1500 })) }),
    '/v2.1/servers/detail': JSON.stringify({ servers }),
  }
  const it = await serving(async (incoming, response) => {
    calls++
    await sleep(callMs)
    const path = (incoming.url ?? '').split('?', 1)[0] ?? ''
    if (path === '/v3/auth/tokens') {
      const endpoints = (url: string) => [{ interface: 'public', region: 'R', url }]
      const catalog = [
        { type: 'network', endpoints: endpoints(it.url) },
        { type: 'compute', endpoints: endpoints(`${it.url}/v2.1`) },
      ]
      const expires_at = new Date(Date.now() + 3_600_000).toISOString()
      response.writeHead(201, { 'x-subject-token': 't' }).end(JSON.stringify({ token: { expires_at, catalog } }))
    } else if (path.startsWith('/v1/contrabass')) {
      const attributes = { adminId: 'admin', adminPw: encrypted('secret', key), domain: 'Default' }
      response.end(JSON.stringify({ data: { url: it.url, attributes } }))
    } else response.end(bodies[path] ?? '{}')
  })
  return {
    ...it,
    calls: () => calls,
    forget() {
      calls = 0
    },
  }
}

async function standInViola(): Promise<StandIn & { nodes(): number; forget(): void }> {
  let held = new Map<string, { nodeName: string }>()
  const it = await serving(async (incoming, response, body) => {
    if (incoming.method === 'POST') {
      const nodes = JSON.parse(body) as { nodeName: string }[]
      for (const node of nodes) held.set(node.nodeName, node)
      const results = nodes.map(({ nodeName }) => ({ nodeName, action: 'created', specHash: 'h' }))
      response.end(JSON.stringify({ applied: nodes.length, output: '', results }))
      return
    }
    const etag = `"${held.size}"`
    if (incoming.headers['if-none-match'] === etag) return void response.writeHead(304).end()
    const items = [...held.values()].map(node => ({ ...node, specHash: 'h', generation: 1 }))
    response.writeHead(200, { etag }).end(JSON.stringify({ items, resourceVersion: String(held.size) }))
  })
  return {
    ...it,
    nodes: () => held.size,
    forget() {
      held = new Map()
    },
  }
}

/** What nobody can do with less: one call for each kind of fact, and the POSTs. */
async function bareLoop(
  cloud: string,
  viola: string,
  vms: number,
): Promise<{ ms: number; listingMs: number; calls: number }> {
  const get = async (path: string) => JSON.parse(await (await request(`${cloud}${path}`)).body.text())
  const started = performance.now()
  await get('/v1/contrabass/admin/infra/provider/p')
  await (await request(`${cloud}/v3/auth/tokens`, { method: 'POST', body: '{}' })).body.text()
  await Promise.all([get('/v2.0/subnets'), get('/v2.0/networks'), get('/v2.1/servers/detail')])
  const listed = performance.now()
  const { ports } = await get('/v2.0/ports')
  const listingMs = performance.now() - listed
  const nodes = Array.from({ length: vms }, (_, n) => ({
    nodeName: `worker-${n}`,
    instanceId: vmIdOf(n),
    interfaces: ports.slice(n * portsEach, (n + 1) * portsEach).map((port: { mac_address: string }, id: number) => ({
      id,
      name: `multinic${id}`,
      macAddress: port.mac_address,
    })),
  }))
  for (let at = 0; at < vms; at += 200)
    await (await request(`${viola}/x`, { method: 'POST', body: JSON.stringify(nodes.slice(at, at + 200)) })).body.text()
  return { ms: performance.now() - started, listingMs, calls: 6 }
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
