/**
 * The program of the agent's image: the real host, the real environment.
 */
import { writeSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { environment } from '../runtime/env.ts'
import { createLog } from '../telemetry/log.ts'
import { kernelHost } from './host.ts'
import { runAgent } from './main.ts'
import { pathsUnder } from './paths.ts'

/** A run is over before any code of it is hot: compiling it again, in other threads, would only cost. */
const forShortRuns = ['--no-sparkplug', '--no-maglev', '--no-opt', '--no-parallel-scavenge']
// Not before everything is loaded: V8 takes no compiled code of other flags. This one comes with the first server, unasked.
process.getBuiltinModule('node:cluster')
for (const flag of forShortRuns) setFlagsFromString(flag)

/** Milliseconds that a reader who does not read is waited for. */
const longestWait = 1_000
const still = new Int32Array(new SharedArrayBuffer(4))

const stop = { requested: false }
process.on('SIGTERM', () => {
  stop.requested = true
})

const env = environment()
const log = createLog({ part: 'agent' }, { write: say })
const paths = pathsUnder(env['MULTINIC_HOST_PREFIX'] ?? '')
// All is written and synced: taking the process apart piece by piece would only cost.
runAgent({ env, host: kernelHost(), log, paths, stop }).then(code => process.exit(code))

/** Straight to the descriptor: the stream around it would cost more than all that it carries. */
function say(line: string): void {
  let rest = Buffer.from(line)
  for (let waits = 0; rest.length > 0 && waits < longestWait; ) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      waits++
      Atomics.wait(still, 0, 0, 1)
    }
  }
}
