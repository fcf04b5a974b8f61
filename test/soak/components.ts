/**
 * Our components as processes of the bundled program, started like in their images, and their logs.
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
import type { ComponentName } from './names.ts'
import { type LogWarning, warningOf } from './verdict.ts'

const images: Record<ComponentName, string> = {
  operator: 'multinic-operator',
  viola: 'multinic-viola-test-api',
  controller: 'multinic-controller',
}

export interface ComponentSettings {
  /** Address of its HTTP server. */
  address: string
  env: Record<string, string>
}

export interface SoakComponent {
  metrics(): Promise<Map<string, Family>>
  mib(): number
  descriptors(): number
  alive(): boolean
  tail(): Promise<string>
  /** Kills it with SIGKILL and starts it again at the same address. */
  killAndRestart(): Promise<void>
  /** Warnings and errors in its log since the last call. */
  warnings(): Promise<LogWarning[]>
  stop(): Promise<void>
}

export async function buildComponents(dir: string): Promise<string> {
  const program = join(dir, 'multinic.mjs')
  await buildProgram(program)
  return program
}

/** Resolves when the component answers. */
export async function startComponent(
  dir: string,
  program: string,
  name: ComponentName,
  settings: ComponentSettings,
): Promise<SoakComponent> {
  const log = join(dir, `${name}.log`)
  const flags = entrypointOf('services', images[name]).slice(1, -1)
  const fetchText = async (path: string) => {
    const { statusCode, body } = await request(`http://${settings.address}${path}`, { headersTimeout: 60_000 })
    const text = await body.text()
    if (statusCode >= 500) throw new Error(`${name}: ${path} returned ${statusCode}`)
    return text
  }
  const start = async (): Promise<Daemon> => {
    const env = { ...recipes.services.environment, ...settings.env }
    const started = startDaemon(process.execPath, [...flags, program, name], { log, env })
    await waitForAnswer(name, started, () => fetchText('/healthz')).catch(async error => {
      await started.stop()
      throw error
    })
    return started
  }
  let daemon = await start()
  let offset = 0
  return {
    async metrics() {
      if (!daemon.alive()) throw new Error(`${name} exited unexpectedly:\n${await daemon.tail()}`)
      return parseExposition(await fetchText('/metrics'))
    },
    mib: () => memoryOf(daemon.pid),
    descriptors: () => readdirSync(`/proc/${daemon.pid}/fd`).length,
    alive: () => daemon.alive(),
    tail: () => daemon.tail(),
    async killAndRestart() {
      await daemon.stop('SIGKILL')
      daemon = await start()
    },
    async warnings() {
      const { text, end } = await textFrom(log, offset)
      offset = end
      return text.split('\n').flatMap(line => warningOf(name, line, Date.now()) ?? [])
    },
    stop: () => daemon.stop(),
  }
}

/** Complete lines only; the next call reads the rest. */
async function textFrom(path: string, from: number): Promise<{ text: string; end: number }> {
  const file = await open(path)
  try {
    const bytes = Buffer.alloc(Math.max(0, statSync(path).size - from))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from)
    const complete = bytes.subarray(0, bytes.subarray(0, bytesRead).lastIndexOf(0x0a) + 1)
    return { text: complete.toString(), end: from + complete.length }
  } finally {
    await file.close()
  }
}
