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
  const links = await ipJson<Link>(node.namespace, ['link', 'show'])
  // NICs that are already configured stay.
  const configured = new Set(links.filter(({ flags }) => flags.includes('UP')).map(({ address }) => address))

  async function unplug(address: string): Promise<void> {
    const port = portsOf(cloudState, node.server).find(({ macAddress }) => macAddress === address)
    if (!port || configured.has(address)) return
    log.info('unplugging NIC', { node: node.name, macAddress: address })
    await node.unplugNic(port.id)
  }

  const monitor = spawn('ip', ['-n', node.namespace, '-oneline', 'monitor', 'link'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: systemPath },
  })
  monitor.once('error', error => log.error('cannot watch links', { error }))
  const gone = new Promise(resolve => monitor.once('close', resolve))
  createInterface({ input: monitor.stdout }).on('line', line => {
    const [, address] = /^\d+: .*[<,]UP[,>].* link\/ether (\S+)/.exec(line) ?? []
    // The line has all that is needed: by the time a second command has run, the agent may be done.
    if (address) unplug(address).catch(error => log.warn('cannot unplug NIC', { node: node.name, error }))
  })
  return async () => {
    monitor.kill('SIGKILL')
    await gone
    await node.replugNics()
  }
}
