/**
 * Entry point of the agent's image: runs the agent on the real host with the process environment.
 */
import { writeSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { environment } from '../runtime/env.ts'
import { createLog } from '../telemetry/log.ts'
import { kernelHost } from './host/host.ts'
import { runAgent } from './main.ts'
import { pathsUnder } from './paths.ts'

/** A run ends before any of its code is hot: optimizing compilers and their threads only cost time. */
const forShortRuns = [
  '--no-sparkplug',
  '--no-maglev',
  '--no-opt',
  '--no-parallel-scavenge',
  '--no-regexp-peephole-optimization',
  // Inline caches pay off with the third call of a function.
  '--invocation-count-for-feedback-allocation=2',
]
// Set the flags after everything is loaded: V8 rejects cached code that was compiled with other flags. node:cluster is
// loaded with the first server.
process.getBuiltinModule('node:cluster')
for (const flag of forShortRuns) setFlagsFromString(flag)

/** Milliseconds to wait for a reader of the log that does not read. */
const maxWait = 1_000
const waitBuffer = new Int32Array(new SharedArrayBuffer(4))

const stop = { requested: false }
process.on('SIGTERM', () => {
  stop.requested = true
})

const env = environment()
const log = createLog({ component: 'agent' }, { write: writeLine })
const paths = pathsUnder(env['MULTINIC_HOST_PREFIX'] ?? '')
// Everything is written and synced; an orderly shutdown would only cost time.
runAgent({ env, host: kernelHost(), log, paths, stop }).then(code => process.exit(code))

/** Writes to the file descriptor: creating the stdout stream costs more than all log lines. */
function writeLine(line: string): void {
  let rest = Buffer.from(line)
  for (let waits = 0; rest.length > 0 && waits < maxWait; ) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      waits++
      Atomics.wait(waitBuffer, 0, 0, 1)
    }
  }
}
