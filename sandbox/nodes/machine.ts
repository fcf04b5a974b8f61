/**
 * What nodes run on: network namespaces of this kernel, or a kernel simulated in memory (simulated/machine.ts). Fabric and nodes
 * are the same code on both.
 */
import { join } from 'node:path'
import { ipBatch, ipJson, run } from '../exec.ts'
import { addNamespace, processMarker, removeNamespace, type StateDir } from '../lifecycle/state-dir.ts'
import { type ContainerOptions, type RunningContainer, startContainer } from './container.ts'

export interface Machine {
  readonly simulated: boolean
  addNamespace(name: string): Promise<void>
  /** Kills the processes in it first. */
  removeNamespace(name: string): Promise<void>
  /** Runs lines of `ip -batch`, or of `ip -6 -batch` if they begin with -6, up to the first that fails; `tolerant`: all. */
  ip(namespace: string, lines: string[], failures?: 'tolerant'): Promise<void>
  /** Runs `nft -f -`. */
  nft(namespace: string, script: string): Promise<void>
  ipJson<T>(namespace: string, args: string[]): Promise<T[]>
  /** Paths are below /proc/sys. */
  writeSettings(namespace: string, settings: readonly { path: string; value: string }[]): Promise<void>
  start(container: Omit<ContainerOptions, 'marker'>): Promise<RunningContainer>
  /** Path on this machine of a path on a node with this root. */
  hostPath(root: string, path: string): string
}

/** `ip -batch` takes the option -6 for a whole batch only. */
export function familyBatches(lines: readonly string[]): { options: string[]; lines: string[] }[] {
  const batches: { options: string[]; lines: string[] }[] = []
  for (const line of lines) {
    const options = line.startsWith('-6 ') ? ['-6'] : []
    const last = batches.at(-1)
    const text = line.replace(/^-6 /, '')
    if (last?.options.length === options.length) last.lines.push(text)
    else batches.push({ options, lines: [text] })
  }
  return batches
}

export function namespaceMachine(state: StateDir): Machine {
  return {
    simulated: false,
    addNamespace: name => addNamespace(state, name),
    removeNamespace,
    async ip(namespace, lines, failures) {
      for (const batch of familyBatches(lines))
        for (const part of failures === 'tolerant' ? batch.lines.map(line => [line]) : [batch.lines])
          await ipBatch(namespace, part, batch.options).catch(error => {
            if (failures !== 'tolerant') throw error
          })
    },
    async nft(namespace, input) {
      if (input) await run('nsenter', [`--net=/run/netns/${namespace}`, 'nft', '-f', '-'], { input })
    },
    ipJson,
    async writeSettings(namespace, settings) {
      if (settings.length === 0) return
      const writes = settings.map(({ path, value }) => `echo '${value}' > '/proc/sys/${path}'`)
      await run('nsenter', [`--net=/run/netns/${namespace}`, 'sh', '-e'], { input: writes.join('\n') })
    },
    start: container => startContainer({ ...container, marker: { [processMarker]: state.dir } }),
    // /proc/sys/net shows the network namespace of the reading process.
    hostPath: (root, path) => (/^\/proc\/sys\/net(\/|$)/.test(path) ? path : join(root, path)),
  }
}
