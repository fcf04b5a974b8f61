/**
 * Pulls a NIC out of its node at the worst moment: when the agent has begun with it and sets it up.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Log } from '../../src/telemetry/log.ts'
import { portsOf, type World } from '../cloud/state.ts'
import { ipJson, systemPath } from '../exec.ts'
import type { SandboxNode } from '../nodes/node.ts'

interface Link {
  address: string
  flags: string[]
}

export async function pullWhenUp(world: World, node: SandboxNode, log: Log): Promise<() => Promise<void>> {
  const up = async () =>
    (await ipJson<Link>(node.namespace, ['link', 'show'])).filter(({ flags }) => flags.includes('UP'))
  // What is configured already stays.
  const spared = new Set((await up()).map(({ address }) => address))

  async function look(): Promise<void> {
    for (const { address } of await up()) {
      const port = portsOf(world, node.server).find(({ macAddress }) => macAddress === address)
      if (!port || spared.has(address)) continue
      log.info('a NIC is pulled out', { node: node.name, mac: address })
      await node.pull(port.id)
    }
  }

  const monitor = spawn('ip', ['-n', node.namespace, 'monitor', 'link'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: systemPath },
  })
  monitor.once('error', error => log.error('links are not watched', { error }))
  const gone = new Promise(resolve => monitor.once('close', resolve))
  createInterface({ input: monitor.stdout }).on('line', line => {
    if (/^\d+: .*[<,]UP[,>]/.test(line))
      look().catch(error => log.warn('a NIC was not pulled out', { node: node.name, error }))
  })
  return async () => {
    monitor.kill('SIGKILL')
    await gone
    await node.putBack()
  }
}
