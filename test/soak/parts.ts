/**
 * Our parts as processes of the bundled program, each started as its image starts it, and their logs.
 */
import { readdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import { entrypointOf, recipes } from '../../scripts/image.ts'
import { memoryOf } from '../bench/figure.ts'
import { type Daemon, startDaemon, waitForAnswer } from '../rigs/process.ts'
import { type Family, parseExposition } from '../support/exposition.ts'
import type { PartName } from './names.ts'
import { type Complaint, complaintOf } from './verdict.ts'

const images: Record<PartName, string> = {
  operator: 'multinic-operator',
  viola: 'multinic-viola-test-api',
  controller: 'multinic-controller',
}

export interface PartPlan {
  /** Where it answers. */
  address: string
  env: Record<string, string>
}

export interface SoakPart {
  numbers(): Promise<Map<string, Family>>
  mib(): number
  descriptors(): number
  alive(): boolean
  tail(): Promise<string>
  /** kill -9, and a new one at the same address. */
  killAndRestart(): Promise<void>
  /** What it complained of since it was asked last. */
  complaints(): Promise<Complaint[]>
  stop(): Promise<void>
}

export async function buildParts(dir: string): Promise<string> {
  const program = join(dir, 'multinic.mjs')
  await buildProgram(program)
  return program
}

/** Once it answers. */
export async function startPart(dir: string, program: string, name: PartName, plan: PartPlan): Promise<SoakPart> {
  const log = join(dir, `${name}.log`)
  const flags = entrypointOf('services', images[name]).slice(1, -1)
  const ask = async (path: string) => {
    const { statusCode, body } = await request(`http://${plan.address}${path}`, { headersTimeout: 60_000 })
    const text = await body.text()
    if (statusCode >= 500) throw new Error(`${name} answers ${path} with ${statusCode}`)
    return text
  }
  const start = async (): Promise<Daemon> => {
    const env = { ...recipes.services.environment, ...plan.env }
    const started = startDaemon(process.execPath, [...flags, program, name], { log, env })
    await waitForAnswer(name, started, () => ask('/healthz')).catch(async error => {
      await started.stop()
      throw error
    })
    return started
  }
  let daemon = await start()
  let read = 0
  return {
    async numbers() {
      if (!daemon.alive()) throw new Error(`${name} has ended by itself:\n${await daemon.tail()}`)
      return parseExposition(await ask('/metrics'))
    },
    mib: () => memoryOf(daemon.pid),
    descriptors: () => readdirSync(`/proc/${daemon.pid}/fd`).length,
    alive: () => daemon.alive(),
    tail: () => daemon.tail(),
    async killAndRestart() {
      await daemon.stop('SIGKILL')
      daemon = await start()
    },
    async complaints() {
      const { text, end } = await textFrom(log, read)
      read = end
      return text.split('\n').flatMap(line => complaintOf(name, line, Date.now()) ?? [])
    },
    stop: () => daemon.stop(),
  }
}

/** Whole lines only: the rest is read the next time. */
async function textFrom(path: string, from: number): Promise<{ text: string; end: number }> {
  const file = await open(path)
  try {
    const bytes = Buffer.alloc(Math.max(0, statSync(path).size - from))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from)
    const whole = bytes.subarray(0, bytes.subarray(0, bytesRead).lastIndexOf(0x0a) + 1)
    return { text: whole.toString(), end: from + whole.length }
  } finally {
    await file.close()
  }
}
