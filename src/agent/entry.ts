/**
 * The program of the agent's image: the real host, the real environment.
 */
import { writeSync } from 'node:fs'
import { environment } from '../env.ts'
import { createLog } from '../log.ts'
import { kernelHost } from './host.ts'
import { runAgent } from './main.ts'
import { pathsUnder } from './paths.ts'

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
runAgent({ env, host: kernelHost(), log, paths, stop }).then(code => {
  process.exitCode = code
})

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
