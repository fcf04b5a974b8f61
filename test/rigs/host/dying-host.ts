/**
 * A host on which the agent dies after a number of steps, as by SIGKILL: from then on nothing it tries has an effect.
 * A line of a batch is a step, and so is every write.
 */
import type { Host } from '../../../src/agent/host.ts'

export class Died extends Error {}

export function dyingHost(host: Host, allowed: number): Host {
  let taken = 0
  let dead = false
  const alive = () => {
    if (dead) throw new Died('dead')
  }
  const step = <Args extends unknown[]>(act: (...args: Args) => void) => {
    return (...args: Args) => {
      alive()
      if (taken >= allowed) {
        dead = true
        throw new Died('dies here')
      }
      taken++
      act(...args)
    }
  }
  return {
    ...host,
    async ip(args, lines = []) {
      alive()
      const changes = args.includes('-batch') && !args.includes('-j')
      if (!changes) return host.ip(args, lines)
      const possible = lines.slice(0, allowed - taken)
      taken += possible.length
      const ran = possible.length > 0 ? await host.ip(args, possible) : { code: 0, stdout: '', stderr: '' }
      if (possible.length === lines.length) return ran
      dead = true
      throw new Died('dies in a batch')
    },
    readFile(path) {
      alive()
      return host.readFile(path)
    },
    list(directory) {
      alive()
      return host.list(directory)
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
