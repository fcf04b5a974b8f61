/**
 * The replicas of our components as processes of the bundled program, started like in their images, and their logs.
 */
import { readdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import { asDeployed } from '../bench/component.ts'
import { memoryOf } from '../bench/figure.ts'
import type { MemoryLimit } from '../rigs/memory-limit.ts'
import { type Daemon, startDaemon, waitForAnswer } from '../rigs/process.ts'
import { type Family, parseExposition } from '../support/exposition.ts'
import { componentOf, type ReplicaName } from './names.ts'
import type { Service } from './service.ts'
import { type LogWarning, warningOf } from './verdict.ts'

/** A kubelet notices the end of a container within a second. Until then, the Service still sends connections to it. */
const noticedAfterMs = 1_000

export interface ReplicaSettings {
  /** `host:port` of its HTTP server. */
  address: string
  env: Record<string, string>
  service?: Service
  /** PEM of the CA of its certificate, if it serves HTTPS. */
  ca?: string
}

export interface SoakReplica {
  metrics(): Promise<Map<string, Family>>
  mib(): number
  descriptors(): number
  alive(): boolean
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

/** Resolves when the replica is ready. */
export async function startReplica(
  { dir, program, memory }: { dir: string; program: string; memory: MemoryLimit },
  name: ReplicaName,
  { address, env, service, ca }: ReplicaSettings,
): Promise<SoakReplica> {
  const component = componentOf(name)
  const log = join(dir, `${name}.log`)
  const { flags, environment } = asDeployed
  const dispatcher = new Agent({ headersTimeout: 60_000, ...(ca && { connect: { ca } }) })
  const fetchText = async (path: string) => {
    const { statusCode, body } = await request(`${ca ? 'https' : 'http'}://${address}${path}`, { dispatcher })
    const text = await body.text()
    if (statusCode >= 500) throw new Error(`${name}: ${path} returned ${statusCode}: ${text}`)
    return text
  }
  const start = async (): Promise<Daemon> => {
    const settings = { ...environment, POD_NAME: name, ...env }
    const [command = '', ...args] = memory.command([process.execPath, ...flags, program, component])
    const started = startDaemon(command, args, { log, env: settings })
    await waitForAnswer(name, started, () => fetchText('/readyz')).catch(async error => {
      await started.stop()
      throw error
    })
    await service?.setReady(address, true)
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
    async killAndRestart() {
      await daemon.stop('SIGKILL')
      await sleep(noticedAfterMs)
      await service?.setReady(address, false)
      daemon = await start()
    },
    async warnings() {
      const { text, end } = await textFrom(log, offset)
      offset = end
      return text.split('\n').flatMap(line => warningOf(name, line, Date.now()) ?? [])
    },
    async stop() {
      await daemon.stop()
      await dispatcher.close()
    },
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
