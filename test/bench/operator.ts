/**
 * The operator with 1,000 VMs of 5 ports in 5 subnets, 20 ms a call; Viola is a stand-in that answers at once. The
 * reference is a bare loop that makes the fewest calls which could do it, in the same run. Then five times as many VMs,
 * against a bare loop of as many: growth is to be no worse than the loop's.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import { clusterId, startStage } from '../operator/stage.ts'
import {
  portsEach,
  projectId,
  type StandInCloud,
  standInCloud,
  standInViola,
  subnetIds,
  vmIdOf,
} from '../operator/stand-ins.ts'
import { eventually } from '../support/eventually.ts'
import { type Bench, figure, median, memoryOf } from './figure.ts'
import { startPart } from './part.ts'

const callMs = 20

export const bench: Bench = async report => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bench-'))
  const program = join(dir, 'multinic.mjs')
  try {
    await buildProgram(program)
    const few = await measureOperators(program, 1_000)
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

    const many = await measureOperators(program, 5_000)
    // Growth is linear or better.
    const grown = (name: string, value: number, unit: 'ms' | 'MiB', before: number) => {
      const five = { against: 'five times that of 1,000 VMs', reference: 5 * before }
      report(figure(`operator.${name}_5000`, value, unit, five, { atMost: five.reference }))
    }
    grown('create_to_viola', many.delivered, 'ms', few.delivered)
    grown('create_to_ready', many.ready, 'ms', few.ready)
    grown('resync', many.quiet.ms, 'ms', few.quiet.ms)
    grown('rss_mib', many.mostMiB, 'MiB', few.mostMiB)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

const runs = 3

/** Each operator is new only once: times are the median of some, memory is the most that any of them had. */
async function measureOperators(program: string, vms: number): Promise<Awaited<ReturnType<typeof measureOperator>>> {
  const all: Awaited<ReturnType<typeof measureOperator>>[] = []
  for (let run = 0; run < runs; run++) all.push(await measureOperator(program, vms))
  const most = (of: (one: (typeof all)[number]) => number) => Math.max(...all.map(of))
  const middle = (of: (one: (typeof all)[number]) => number) => median(all.map(of))
  return {
    reference: {
      ms: middle(one => one.reference.ms),
      listingMs: middle(one => one.reference.listingMs),
      calls: bareCalls,
    },
    delivered: middle(one => one.delivered),
    ready: middle(one => one.ready),
    calls: most(one => one.calls),
    quiet: { ms: middle(one => one.quiet.ms), calls: most(one => one.quiet.calls) },
    idleMiB: middle(one => one.idleMiB),
    mostMiB: most(one => one.mostMiB),
  }
}

/** The bundled program in a process of its own; the cluster, the cloud and Viola are in this one. */
export async function measureOperator(program: string, vms: number) {
  const stage = await startStage()
  const cloud = await standInCloud({ key: stage.world.provider.encryptKey, vms, callMs })
  const viola = await standInViola()
  try {
    // Before and after what is measured: the load of a machine comes and goes.
    const loops = await bareLoops(cloud.url, viola.url, vms)
    viola.forget()
    cloud.forget()
    await using operator = await startPart('operator', program, {
      KUBECONFIG: stage.api.kubeconfig,
      OPERATOR_ADDR: '127.0.0.1:0',
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dirname(program), `inventory-${randomUUID()}.db`),
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
    const mostMiB = memoryOf(operator.pid, 'VmHWM')
    loops.push(...(await bareLoops(cloud.url, viola.url, vms)))
    const reference = {
      ms: median(loops.map(loop => loop.ms)),
      listingMs: median(loops.map(loop => loop.listingMs)),
      calls: bareCalls,
    }
    return { reference, delivered, ready, calls, quiet, idleMiB, mostMiB }
  } finally {
    await Promise.all([cloud.close(), viola.close()])
    await stage.close()
  }
}

function must(truth: boolean | undefined): void {
  if (!truth) throw new Error('not yet')
}

/** Whole syncs with nothing new: their mean time, as the operator's own numbers tell it, and their calls. */
async function quietSyncs(operator: string, cloud: StandInCloud): Promise<{ ms: number; calls: number }> {
  // The first sync after the delivery still reads what was delivered.
  await eventually(async () => must((await syncTimes(operator)).count >= 3), { within: 120_000, every: 250 })
  const [before, calls] = [await syncTimes(operator), cloud.calls()]
  await eventually(async () => must((await syncTimes(operator)).count >= before.count + 5), {
    within: 60_000,
    every: 250,
  })
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

interface Loop {
  ms: number
  /** Of the ports alone. */
  listingMs: number
}

const bareCalls = 6

async function bareLoops(cloud: string, viola: string, vms: number): Promise<Loop[]> {
  const loops: Loop[] = []
  for (let round = 0; round < 3; round++) loops.push(await bareLoop(cloud, viola, vms))
  return loops
}

/** What nobody can do with less: one call for each kind of fact, and the POSTs. */
async function bareLoop(cloud: string, viola: string, vms: number): Promise<Loop> {
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
  return { ms: performance.now() - started, listingMs }
}
