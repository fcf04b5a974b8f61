/**
 * A host on which the agent dies after a number of steps: its whole process group gets SIGKILL. A line of a batch is a step,
 * and so is every write. It has no time to lose: waits are over at once.
 */
import type { Host } from '../../../src/agent/host.ts'

export function dyingHost(host: Host, allowed: number): Host {
  let taken = 0
  const step = <Args extends unknown[]>(act: (...args: Args) => void) => {
    return (...args: Args) => {
      if (taken >= allowed) die()
      taken++
      act(...args)
    }
  }
  return {
    ...hurried(host),
    async ip(args, lines = []) {
      if (!args.includes('-batch') || args.includes('-j')) return host.ip(args, lines)
      const possible = lines.slice(0, allowed - taken)
      taken += possible.length
      const ran = possible.length > 0 ? await host.ip(args, possible) : { code: 0, stdout: '', stderr: '' }
      if (possible.length < lines.length) die()
      return ran
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

/** The same host, where a wait is over at once and the clock shows it. */
export function hurried(host: Host): Host {
  let skipped = 0
  return {
    ...host,
    now: () => host.now() + skipped,
    async sleep(ms) {
      skipped += ms
    },
  }
}

/** The process was started as the leader of a group of its own. */
function die(): never {
  process.kill(-process.pid, 'SIGKILL')
  throw new Error('still alive')
}
