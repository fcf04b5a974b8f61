/**
 * A host that kills the agent and its process group with SIGKILL after a number of steps. Every line of a batch, every
 * write and every D-Bus call that changes something is a step. Waits are short.
 */
import type { Host } from '../../../src/agent/host.ts'

const changingMethods = [
  'Set',
  'ReloadConnections',
  'ActivateConnection',
  'AddAndActivateConnection2',
  'Reload',
  'ReconfigureLink',
]

export function killableHost(host: Host, allowed: number): Host {
  let done = 0
  const step = <Args extends unknown[]>(act: (...args: Args) => void) => {
    return (...args: Args) => {
      if (done >= allowed) killGroup()
      done++
      act(...args)
    }
  }
  return {
    ...withoutWaits(host),
    async ip(args, lines = []) {
      if (!args.includes('-batch') || args.includes('-j')) return host.ip(args, lines)
      const possible = lines.slice(0, allowed - done)
      done += possible.length
      const result = possible.length > 0 ? await host.ip(args, possible) : { code: 0, stdout: '', stderr: '' }
      if (possible.length < lines.length) killGroup()
      return result
    },
    async connect(path) {
      const stream = await host.connect(path)
      if (!stream) return undefined
      const write = stream.write.bind(stream) as (message: Buffer) => boolean
      const change = step((message: Buffer) => void write(message))
      // A message holds the name of its method.
      stream.write = ((message: Buffer | string) =>
        changingMethods.some(method => message.includes(`\0${method}\0`))
          ? change(Buffer.from(message))
          : write(Buffer.from(message))) as typeof stream.write
      return stream
    },
    writeFile: step(host.writeFile),
    rename: step(host.rename),
    removeFile: step(host.removeFile),
    makeDirectory: step(host.makeDirectory),
    removeDirectory: step(host.removeDirectory),
    writeValue: step(host.writeValue),
    writeReport: step(host.writeReport),
  }
}

/** Milliseconds. A poll of the kernel must give it some time. */
const maxWait = 10

/** The same host, except that `sleep` returns soon and moves the clock. */
export function withoutWaits(host: Host): Host {
  let skipped = 0
  return {
    ...host,
    monotonic: () => host.monotonic() + skipped,
    async sleep(ms) {
      const waited = Math.min(ms / 5, maxWait)
      skipped += ms - waited
      await host.sleep(waited)
    },
  }
}

/** The process must be the leader of its process group. */
function killGroup(): never {
  process.kill(-process.pid, 'SIGKILL')
  throw new Error('SIGKILL had no effect')
}
