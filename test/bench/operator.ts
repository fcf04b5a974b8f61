/**
 * The operator with 1,000 VMs of 5 ports in 5 subnets and 20 ms per call; a stub of Viola answers at once. The reference is a
 * bare loop with the minimal calls in the same run, also in a new process. Then five times as many VMs: growth must be linear or better.
 *
 * The share of garbage collection is that of the first sync and a minute of syncs without changes. Its time is that of the
 * clock: on a busy machine a collection also waits for a processor.
 *
 * The times of /healthz are those from the creation of the object to the last sync without changes. They contain garbage
 * collection, and not the time in which the process waited for a processor.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import { bareCalls, bareLoop, type Loop } from '../operator/bare-loop.ts'
import type { CloudStub } from '../operator/benchmark-stubs.ts'
import { eventually } from '../support/eventually.ts'
import { type Bench, figure, median, memoryOf, percentile } from './figure.ts'
import { startOperator, startStubs } from './stubbed-operator.ts'

export const bench: Bench = async report => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bench-'))
  const program = join(dir, 'multinic.mjs')
  try {
    await buildProgram(program)
    const few = await measureOperators(program, 1_000)
    const { reference } = few
    const minimum = { against: 'bare loop', reference: reference.ms }
    const calls = { against: 'bare loop', reference: reference.calls }
    const listing = { against: 'one listing', reference: reference.listingMs }
    report(figure('operator.calls_per_sync', few.calls, 'calls', calls, { atMost: 20 }))
    report(figure('operator.create_to_viola', few.delivered, 'ms', minimum, { atMostTimes: 3 }))
    report(figure('operator.create_to_ready', few.ready, 'ms', minimum, { atMostTimes: 6 }))
    report(figure('operator.resync', few.idle.ms, 'ms', listing, { atMostTimes: 3 }))
    report(figure('operator.idle_sync_cpu_ms', few.idle.cpuMs, 'ms', listing, { atMost: 50 }))
    report(
      figure(
        'operator.resync_calls',
        few.idle.calls,
        'calls',
        { against: 'one listing', reference: 1 },
        { atMostTimes: 1 },
      ),
    )
    const beforeFirst = { against: 'before the first object', reference: few.idleMiB }
    report(figure('operator.rss_mib', few.maxMiB, 'MiB', beforeFirst, { atMost: 200 }))
    const processor = { against: 'processor time', reference: few.collection.cpuMs }
    report(figure('operator.gc_ms', few.collection.gcMs, 'ms', processor, { atMostTimes: 0.1 }))

    const many = await measureOperators(program, 5_000)
    // Linear growth or better. Two runs of the same code differ by up to a tenth.
    const grown = (name: string, value: number, unit: 'ms' | 'MiB', before: number) => {
      const five = { against: 'five times that of 1,000 VMs', reference: 5 * before }
      report(figure(`operator.${name}_5000`, value, unit, five, { atMostTimes: 1.1 }))
    }
    grown('create_to_viola', many.delivered, 'ms', few.delivered)
    grown('create_to_ready', many.ready, 'ms', few.ready)
    grown('resync', many.idle.ms, 'ms', few.idle.ms)
    grown('rss_mib', many.maxMiB, 'MiB', few.maxMiB)
    const { healthz, gcMs } = many
    const collection = { against: 'mean full garbage collection', reference: gcMs }
    report(figure('operator.healthz_max_ms_5000', Math.max(...healthz), 'ms', collection, { atMost: 500 }))
    report(figure('operator.healthz_p99_ms_5000', percentile(healthz, 0.99), 'ms', collection, { atMost: 100 }))
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

const runs = 3

/** Measures several new operators: the median of the times, the maximum of the memory. */
async function measureOperators(program: string, vms: number): Promise<Awaited<ReturnType<typeof measureOperator>>> {
  const all: Awaited<ReturnType<typeof measureOperator>>[] = []
  for (let run = 0; run < runs; run++) all.push(await measureOperator(program, vms))
  const maximum = (of: (run: (typeof all)[number]) => number) => Math.max(...all.map(of))
  const middle = (of: (run: (typeof all)[number]) => number) => median(all.map(of))
  return {
    reference: {
      ms: middle(run => run.reference.ms),
      listingMs: middle(run => run.reference.listingMs),
      calls: bareCalls,
    },
    delivered: middle(run => run.delivered),
    ready: middle(run => run.ready),
    calls: maximum(run => run.calls),
    idle: {
      ms: middle(run => run.idle.ms),
      cpuMs: middle(run => run.idle.cpuMs),
      calls: maximum(run => run.idle.calls),
    },
    idleMiB: middle(run => run.idleMiB),
    maxMiB: maximum(run => run.maxMiB),
    healthz: all.flatMap(run => run.healthz),
    gcMs: middle(run => run.gcMs),
    collection: { gcMs: middle(run => run.collection.gcMs), cpuMs: middle(run => run.collection.cpuMs) },
  }
}

async function measureOperator(program: string, vms: number) {
  await using stubs = await startStubs({ vms })
  const { environment, cloud, viola } = stubs
  // Before and after the measurement, because the load of the machine varies.
  const loops = await bareLoops(cloud.url, viola.url, vms)
  viola.forget()
  cloud.forget()
  await using operator = await startOperator(program, stubs)
  const { idleMiB, healthz } = operator
  const before = await processorTimes(operator.url)
  const started = performance.now()
  await stubs.create('main', { settings: { pollFastInterval: '1s', pollSlowInterval: '1s' } })
  await eventually(() => must(viola.nodes() === vms), { within: 120_000, every: 5 })
  const delivered = performance.now() - started
  await eventually(
    async () =>
      must(
        (await environment.config()).status?.conditions?.some(
          ({ type, status }) => type === 'Ready' && status === 'True',
        ),
      ),
    { within: 120_000, every: 5 },
  )
  const ready = performance.now() - started
  const calls = cloud.calls()
  // The first sync after the delivery reads the delivered nodes.
  await eventually(async () => must((await syncTimes(operator.url)).count >= 3), { within: 120_000, every: 250 })
  await operator.probe.stop()
  await eventually(async () => must((await syncTimes(operator.url)).count >= warmCount), {
    within: 120_000,
    every: 5_000,
  })
  const idle = await idleSyncs(operator.url, cloud)
  const maxMiB = memoryOf(operator.pid, 'VmHWM')
  const gcMs = await meanCollectionMs(operator.url)
  const after = await processorTimes(operator.url)
  const collection = { gcMs: after.gcMs - before.gcMs, cpuMs: after.cpuMs - before.cpuMs }
  loops.push(...(await bareLoops(cloud.url, viola.url, vms)))
  const reference = {
    ms: median(loops.map(loop => loop.ms)),
    listingMs: median(loops.map(loop => loop.listingMs)),
    calls: bareCalls,
  }
  return { reference, delivered, ready, calls, idle, idleMiB, maxMiB, healthz, gcMs, collection }
}

export function must(condition: boolean | undefined): void {
  if (!condition) throw new Error('not yet')
}

/** V8 still compiles the functions of a sync until then, and collects what the delivery left. */
const warmCount = 20
/** So many that a collection more or less counts little. */
const idleCount = 15

/** Full syncs without changes: their mean time and processor time from the metrics of the operator, and their calls. */
async function idleSyncs(operator: string, cloud: CloudStub): Promise<{ ms: number; cpuMs: number; calls: number }> {
  const [before, cpu, calls] = [await syncTimes(operator), await processorSeconds(operator), cloud.calls()]
  // Seldom: /metrics takes processor time too.
  await eventually(async () => must((await syncTimes(operator)).count >= before.count + idleCount), {
    within: 60_000,
    every: 5_000,
  })
  const after = await syncTimes(operator)
  const count = after.count - before.count
  return {
    ms: ((after.sum - before.sum) / count) * 1_000,
    cpuMs: (((await processorSeconds(operator)) - cpu) / count) * 1_000,
    calls: (cloud.calls() - calls) / count,
  }
}

async function processorSeconds(operator: string): Promise<number> {
  return valueIn(await linesOf(operator), 'process_cpu_seconds_total')
}

function syncTimes(operator: string): Promise<Times> {
  return timesOf(operator, 'multinic_operator_sync_seconds')
}

async function meanCollectionMs(operator: string): Promise<number> {
  const { count, sum } = await timesOf(operator, 'nodejs_gc_duration_seconds', '{kind="major"}')
  return (sum / count) * 1_000
}

/** The processor time of the process, and of it the collections of its main thread, which Node measures. */
async function processorTimes(operator: string): Promise<{ cpuMs: number; gcMs: number }> {
  const lines = await linesOf(operator)
  const seconds = lines
    .filter(line => line.startsWith('nodejs_gc_duration_seconds_sum'))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  return { cpuMs: valueIn(lines, 'process_cpu_seconds_total') * 1_000, gcMs: seconds * 1_000 }
}

interface Times {
  count: number
  sum: number
}

/** Of a histogram. */
async function timesOf(operator: string, name: string, labels = ''): Promise<Times> {
  const lines = await linesOf(operator)
  return { count: valueIn(lines, `${name}_count${labels}`), sum: valueIn(lines, `${name}_sum${labels}`) }
}

async function linesOf(operator: string): Promise<string[]> {
  return (await (await request(`${operator}/metrics`)).body.text()).split('\n')
}

function valueIn(lines: readonly string[], series: string): number {
  return Number(lines.find(line => line.startsWith(`${series} `))?.slice(series.length))
}

/** Each in a new process, as the operator is. */
async function bareLoops(cloud: string, viola: string, vms: number): Promise<Loop[]> {
  const loops: Loop[] = []
  for (let round = 0; round < 3; round++) loops.push(await bareLoop(cloud, viola, vms))
  return loops
}
