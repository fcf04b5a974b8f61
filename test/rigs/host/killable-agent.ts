/**
 * The agent, to be killed: `victim.ts ROOT STEPS INPUT`, or without an input only the recovery. Ends with the agent's own
 * code when it needed no more than the steps.
 */
import { kernelHost } from '../../../src/agent/host.ts'
import { runAgent } from '../../../src/agent/main.ts'
import { pathsUnder } from '../../../src/agent/paths.ts'
import { recover } from '../../../src/agent/recover.ts'
import { silent } from '../../../src/telemetry/log.ts'
import { dyingHost } from './killable-host.ts'

const [root = '', steps = '', input] = process.argv.slice(2)
const host = dyingHost(kernelHost(), Number(steps))
const paths = pathsUnder(root)

async function live(): Promise<void> {
  if (input === undefined) await recover({ host, paths, log: silent })
  else process.exitCode = await runAgent({ env: { MULTINIC_INPUT: input, ...quick }, host, log: silent, paths })
}

/** Nobody else is on this wire: what counts is that asking can be cut short as well. */
const quick = { NIC_WAIT: '0s', NETWORK_PROBE: 'off', NETWORK_PROBE_TIMEOUT: '1ms' }

void live()
