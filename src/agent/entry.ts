/**
 * Entry point of the agent's image: runs the agent on the real host with the process environment.
 */
import { writeSync } from 'node:fs'
import { environment } from '../runtime/env.ts'
import { createLog } from '../telemetry/log.ts'
import { kernelHost } from './host/host.ts'
import { runAgent } from './main.ts'
import { pathsUnder } from './paths.ts'

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
