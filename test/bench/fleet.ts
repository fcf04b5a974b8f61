/**
 * The operator, with the inventory inside, and 20,000 VMs of 5 ports in 4 objects and in 40. A stub of the cloud takes 20 ms
 * per call, and a stub of Viola 1 ms to write a node. Takes a few minutes, so it runs only with ONLY=fleet.
 *
 * The reference of a first delivery is the time that the same stub of Viola needs for the same writes alone, after the
 * operator has stopped. The objects have the default intervals.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import { bareWrites } from '../operator/bare-writes.ts'
import { eventually } from '../support/eventually.ts'
import { type Bench, figure, memoryOf } from './figure.ts'
import { must } from './operator.ts'
import { startOperator, startStubs } from './stubbed-operator.ts'

const vms = 20_000
const writeMs = 1
const within = 600_000

export const bench: Bench = async report => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-fleet-'))
  try {
    const program = join(dir, 'multinic.mjs')
    await buildProgram(program)
    for (const objects of [4, 40]) {
      const measured = await measureFleet(program, { vms, objects, writeMs })
      const { deliveredMs, writesMs, idleMiB, maxMiB, failed, healthz, metrics } = measured
      const size = objects === 4 ? vms : `${vms}_in_${objects}`
      const beforeFirst = { against: 'before the first object', reference: idleMiB }
      const limit = { against: 'limit', reference: 150 }
      const all = { against: 'objects', reference: objects }
      const writes = { against: 'the writes of Viola', reference: writesMs }
      report(figure(`operator.rss_mib_${size}`, maxMiB, 'MiB', beforeFirst, { atMost: 900 }))
      report(figure(`operator.delivery_ms_${size}`, deliveredMs, 'ms', writes, { atMostTimes: 1.3 }))
      report(figure(`operator.failed_syncs_${size}`, failed, 'syncs', all, { atMost: 0 }))
      report(figure(`operator.healthz_max_ms_${size}`, Math.max(...healthz), 'ms', limit, { atMost: 150 }))
      report(figure(`operator.metrics_max_ms_${size}`, Math.max(...metrics), 'ms', limit, { atMost: 150 }))
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** From the creation of the objects until each has synced again after its delivery. */
export async function measureFleet(
  program: string,
  { vms, objects, writeMs = 0 }: { vms: number; objects: number; writeMs?: number },
) {
  await using stubs = await startStubs({ vms, viola: { writeMs } })
  await using operator = await startOperator(program, stubs)
  const { cloud, viola } = stubs
  const started = performance.now()
  const count = vms / objects
  for (let object = 0; object < objects; object++)
    await stubs.create(`fleet-${object}`, {
      ...{ first: object * count, count },
      settings: { pollFastInterval: '20s', pollSlowInterval: '2m' },
    })
  await eventually(() => must(viola.nodes() === vms), { within, every: 20 })
  const deliveredMs = performance.now() - started
  const calls = cloud.calls()
  await eventually(async () => must((await syncsOf(operator.url)).unchanged >= objects), { within, every: 1_000 })
  await operator.probe.stop()
  const { failed } = await syncsOf(operator.url)
  const maxMiB = memoryOf(operator.pid, 'VmHWM')
  await operator[Symbol.asyncDispose]()
  const { idleMiB, healthz, metrics } = operator
  return { deliveredMs, writesMs: await bareWrites(viola.url), calls, idleMiB, maxMiB, failed, healthz, metrics }
}

async function syncsOf(operator: string): Promise<{ unchanged: number; failed: number }> {
  const text = await (await request(`${operator}/metrics`)).body.text()
  const count = (outcome: string) =>
    Number(new RegExp(`^multinic_operator_syncs_total\\{outcome="${outcome}"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
  return { unchanged: count('unchanged'), failed: count('failed') }
}
