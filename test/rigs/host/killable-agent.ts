/**
 * An agent that kills itself after a number of steps: `killable-agent.ts ROOT STEPS PROBE KERNEL INPUT`; without INPUT only
 * the recovery runs. PROBE is the mode of the probes. KERNEL `old` does not rename a link that is up. If the agent needs no
 * more than STEPS steps, it writes their kinds to ROOT/steps.json and exits with its own code.
 */
import { writeFileSync } from 'node:fs'
import { recover } from '../../../src/agent/apply/recover.ts'
import { connectNetworkManager } from '../../../src/agent/daemons/network-manager.ts'
import { kernelHost } from '../../../src/agent/host/host.ts'
import { runAgent } from '../../../src/agent/main.ts'
import { pathsUnder } from '../../../src/agent/paths.ts'
import { silent } from '../../../src/telemetry/log.ts'
import { killableHost, unlimited, withoutLiveRename, withoutWaits } from './killable-host.ts'

const [root = '', steps = '', probe = 'off', kernel = 'new', input] = process.argv.slice(2)
const kinds: string[] = []
const all = kernel === 'old' ? withoutLiveRename(kernelHost()) : kernelHost()
// A run that is not killed must succeed, also on a busy machine.
const isKilled = Number(steps) < unlimited
const host = killableHost(isKilled ? withoutWaits(all) : all, Number(steps), kinds)
const paths = pathsUnder(root)

async function run(): Promise<void> {
  if (input === undefined) {
    const networkManager = await connectNetworkManager(host, paths)
    await recover({ host, networkManager, paths, log: silent })
    networkManager?.close()
  } else process.exitCode = await runAgent({ env: { MULTINIC_INPUT: input, ...quick }, host, log: silent, paths })
  writeFileSync(`${root}/steps.json`, JSON.stringify(kinds))
}

/** Without probes no other host has to reply; what counts is that a probe can be killed too. */
const quick = { NIC_WAIT: '0s', NETWORK_PROBE: probe, ...(probe === 'off' ? { NETWORK_PROBE_TIMEOUT: '1ms' } : {}) }

void run()
