/**
 * The program of the agent's image: the real host, the real environment.
 */
import { environment } from '../env.ts'
import { createLog } from '../log.ts'
import { kernelHost } from './host.ts'
import { runAgent } from './main.ts'
import { pathsUnder } from './paths.ts'

const stop = { requested: false }
process.on('SIGTERM', () => {
  stop.requested = true
})

const env = environment()
const log = createLog({ part: 'agent' }, { write: line => void process.stdout.write(line) })
const paths = pathsUnder(env['MULTINIC_HOST_PREFIX'] ?? '')
runAgent({ env, host: kernelHost(), log, paths, stop }).then(code => {
  process.exitCode = code
})
