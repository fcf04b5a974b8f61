/**
 * What nodes are made of: network namespaces of this machine's kernel, or of one in memory (simulated/machine.ts). Fabric and
 * nodes are the same on both.
 */
import { join } from 'node:path'
import { ipBatch, ipJson, run } from '../exec.ts'
import { addNamespace, partMark, removeNamespace, type StateDir } from '../lifecycle/state-dir.ts'
import { type ContainerOptions, type RunningContainer, startContainer } from './container.ts'

export interface Machine {
  readonly simulated: boolean
  addNamespace(name: string): Promise<void>
  /** Ends what runs in it, too. */
  removeNamespace(name: string): Promise<void>
  /** Changes in a namespace, in order, up to the first that fails. */
  ip(namespace: string, lines: string[]): Promise<void>
  ipJson<T>(namespace: string, args: string[]): Promise<T[]>
  /** Paths are below /proc/sys. */
  writeSettings(namespace: string, settings: readonly { path: string; value: string }[]): Promise<void>
  start(container: Omit<ContainerOptions, 'mark'>): Promise<RunningContainer>
  /** Where a path of a node with this root is. */
  hostPath(root: string, path: string): string
}

export function namespaceMachine(state: StateDir): Machine {
  return {
    simulated: false,
    addNamespace: name => addNamespace(state, name),
    removeNamespace,
    ip: ipBatch,
    ipJson,
    async writeSettings(namespace, settings) {
      if (settings.length === 0) return
      const writes = settings.map(({ path, value }) => `echo '${value}' > '/proc/sys/${path}'`)
      await run('nsenter', [`--net=/run/netns/${namespace}`, 'sh', '-e'], { input: writes.join('\n') })
    },
    start: container => startContainer({ ...container, mark: { [partMark]: state.dir } }),
    // The kernel's own: /proc/sys/net shows the network namespace of whoever looks.
    hostPath: (root, path) => (path.startsWith('/proc/sys/net/') ? path : join(root, path)),
  }
}
