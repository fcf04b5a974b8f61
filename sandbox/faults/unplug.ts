/**
 * Unplugs a NIC from its node while the agent is configuring it.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Log } from '../../src/telemetry/log.ts'
import { type CloudState, portsOf } from '../cloud/state.ts'
import { ipJson, systemPath } from '../exec.ts'
import type { SandboxNode } from '../nodes/node.ts'

interface Link {
  address: string
  flags: string[]
}

export async function unplugWhenUp(cloudState: CloudState, node: SandboxNode, log: Log): Promise<() => Promise<void>> {
  const up = async () =>
    (await ipJson<Link>(node.namespace, ['link', 'show'])).filter(({ flags }) => flags.includes('UP'))
  // NICs that are already configured stay.
  const configured = new Set((await up()).map(({ address }) => address))

  async function unplugNew(): Promise<void> {
    for (const { address } of await up()) {
      const port = portsOf(cloudState, node.server).find(({ macAddress }) => macAddress === address)
      if (!port || configured.has(address)) continue
      log.info('unplugging NIC', { node: node.name, macAddress: address })
      await node.unplugNic(port.id)
    }
  }

  const monitor = spawn('ip', ['-n', node.namespace, 'monitor', 'link'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: systemPath },
  })
  monitor.once('error', error => log.error('cannot watch links', { error }))
  const gone = new Promise(resolve => monitor.once('close', resolve))
  createInterface({ input: monitor.stdout }).on('line', line => {
    if (/^\d+: .*[<,]UP[,>]/.test(line))
      unplugNew().catch(error => log.warn('cannot unplug NIC', { node: node.name, error }))
  })
  return async () => {
    monitor.kill('SIGKILL')
    await gone
    await node.replugNics()
  }
}
