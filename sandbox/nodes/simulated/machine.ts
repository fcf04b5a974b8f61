/**
 * A simulated machine in memory: for systems that do not allow namespaces, and for many nodes. Runs the production agent with
 * planner, renderers and journal; only its Host implementation differs.
 */
import { appendFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Host } from '../../../src/agent/host/host.ts'
import { runAgent } from '../../../src/agent/main.ts'
import { createLog } from '../../../src/telemetry/log.ts'
import { type ContainerExit, type ContainerOptions, file, type Mount, type RunningContainer } from '../container.ts'
import { familyBatches, type Machine } from '../machine.ts'
import { simulatedHost } from './host.ts'
import { type Namespaces, runIp } from './ip.ts'
import { createNamespace } from './kernel.ts'
import type { Namespace } from './network.ts'
import { runNft } from './nft.ts'

/** Entrypoint of the agent image, the only program on a simulated node. */
export const agentEntrypoint = 'multinic-agent'

export function simulatedMachine(): Machine {
  const all: Namespaces = new Map()
  const listening = new Set<string>()
  const running = new Map<Namespace, Set<() => void>>()

  function found(name: string): Namespace {
    const namespace = all.get(name)
    if (!namespace) throw new Error(`namespace ${name} not found`)
    return namespace
  }

  async function start(options: Omit<ContainerOptions, 'marker'>): Promise<RunningContainer> {
    const { dir, env, command, sysClass, terminationMessagePath } = options
    const namespace = found(options.namespace)
    const messageFile = join(dir, 'termination-log')
    const logFile = join(dir, 'log')
    await mkdir(dir, { recursive: true })
    await Promise.all([writeFile(messageFile, ''), writeFile(logFile, '')])
    const identity: Mount = { source: sysClass, target: '/sys/class', readOnly: true, kind: 'directory' }
    const mounts = [identity, ...options.mounts, file(messageFile, terminationMessagePath, false)]
    const stop = { requested: false }
    const log = createLog({ component: 'agent' }, { write: line => appendFileSync(logFile, line) })
    let kill = () => {}
    const killed = new Promise<ContainerExit>(resolve => {
      kill = () => resolve({ exitCode: 137, signal: 'SIGKILL' })
    })
    const host = untilKilled(simulatedHost({ all, namespace, mounts, listening }), killed)
    const agents = running.get(namespace) ?? new Set()
    running.set(namespace, agents.add(kill))
    const run = async (): Promise<ContainerExit> => {
      if (command[0] === agentEntrypoint) return { exitCode: await runAgent({ env, host, log, stop }) }
      log.error('simulated nodes run only the agent', { command })
      return { exitCode: 127 }
    }
    const done = run().catch((error): ContainerExit => {
      log.error('agent failed', { error })
      return { exitCode: 1 }
    })
    const ended = Promise.race([done, killed]).finally(() => agents.delete(kill))
    return {
      startedAt: new Date(),
      logFile,
      messageFile,
      ended,
      signal(name) {
        if (name === 'SIGKILL') kill()
        else stop.requested = true
      },
    }
  }

  return {
    simulated: true,
    async addNamespace(name) {
      all.set(name, createNamespace(name))
    },
    async removeNamespace(name) {
      const namespace = all.get(name)
      if (!namespace) return
      for (const kill of running.get(namespace) ?? []) kill()
      running.delete(namespace)
      all.delete(name)
    },
    async nft(name, script) {
      const { code, stderr } = runNft(found(name), script)
      if (code !== 0) throw new Error(`nft: ${stderr}`)
    },
    async ip(name, lines, failures) {
      const force = failures === 'tolerant' ? ['-force'] : []
      for (const { options, lines: batch } of familyBatches(lines)) {
        const { code, stderr } = runIp(all, found(name), [...options, ...force, '-batch', '-'], batch)
        if (code === 0 || failures === 'tolerant') continue
        const at = Number(/Command failed -:(\d+)/.exec(stderr)?.[1]) - 1
        throw new Error(`ip ${batch[at]}: ${stderr.split('\n')[0]}`)
      }
    },
    async ipJson<T>(name: string, args: string[]) {
      const { code, stdout, stderr } = runIp(all, found(name), ['-j', ...args], [])
      if (code !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr.trim()}`)
      return JSON.parse(stdout || '[]') as T[]
    },
    async writeSettings(name, settings) {
      for (const { path, value } of settings) {
        const [, family, device, key] = /^net\/(ipv[46])\/conf\/([^/]+)\/([^/]+)$/.exec(path) ?? []
        found(name)
          .devices.find(each => each.name === device)
          ?.settings.set(`${family}.${key}`, value)
      }
    },
    start,
    hostPath: join,
  }
}

/** After the kill every host function throws, and no socket has a listener. */
function untilKilled(host: Host, killed: Promise<unknown>): Host {
  let dead = false
  const releases: (() => void)[] = []
  killed.then(() => {
    dead = true
    for (const release of releases) release()
  })
  const functions = Object.entries(host).map(([name, act]) => {
    const guarded = (...args: unknown[]) => {
      if (dead) throw new Error('killed')
      return (act as (...args: unknown[]) => unknown)(...args)
    }
    return [name, guarded]
  })
  return {
    ...(Object.fromEntries(functions) as unknown as Host),
    async listen(path) {
      const release = await host.listen(path)
      releases.push(release)
      return release
    },
  }
}
