/**
 * Hostile answers and requests (test/hostile): how many were tried, how many ended a process, and the slowest /healthz.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildProgram } from '../../scripts/build.ts'
import { runHostile } from '../hostile/run.ts'
import { type Bench, figure } from './figure.ts'

export const bench: Bench = async report => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bench-'))
  try {
    const program = join(dir, 'multinic.mjs')
    await buildProgram(program)
    const { tried, ended, slowest } = await runHostile(program)
    const ms = Math.max(...Object.values(slowest).map(one => one.ms))
    report(figure('hostile.tried', tried, 'cases', { against: 'required', reference: 40 }, { atLeastTimes: 1 }))
    report(figure('hostile.ended', ended.length, 'cases', { against: 'tried', reference: tried }, { atMost: 0 }))
    report(figure('hostile.healthz_max_ms', ms, 'ms', { against: 'limit', reference: 1_000 }, { atMost: 1_000 }))
    for (const name of ended) console.error(name)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
