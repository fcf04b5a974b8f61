/** The real keepalived in a network namespace: virtual addresses that move between nodes by VRRP. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Daemon, startDaemon } from '../process.ts'

export interface VirtualRouter {
  /** 1 to 255. */
  id: number
  device: string
  /** The highest one gets the addresses. */
  priority: number
  /** Of one family, with prefix length. */
  addresses: readonly string[]
}

export async function startKeepalived(namespace: string, routers: readonly VirtualRouter[]): Promise<Daemon> {
  const dir = await mkdtemp(join(tmpdir(), 'keepalived-'))
  const config = join(dir, 'keepalived.conf')
  await writeFile(config, configuration(routers))
  const files = [`--use-file=${config}`, `--pid=${dir}/pid`, `--vrrp_pid=${dir}/vrrp.pid`]
  const args = ['keepalived', '--vrrp', '--dont-fork', '--log-console', ...files]
  return startDaemon('nsenter', [`--net=/run/netns/${namespace}`, ...args], { log: join(dir, 'log') })
}

function configuration(routers: readonly VirtualRouter[]): string {
  return `global_defs {
  vrrp_version 3
}
${routers.map(instance).join('')}`
}

function instance({ id, device, priority, addresses }: VirtualRouter): string {
  return `vrrp_instance router-${id} {
  state BACKUP
  interface ${device}
  virtual_router_id ${id}
  priority ${priority}
  advert_int 0.3
  virtual_ipaddress {
${addresses.map(address => `    ${address}\n`).join('')}  }
}
`
}
