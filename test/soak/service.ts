/**
 * A Service in front of replicas, as kube-proxy makes it: rules of nftables that send each new connection to a random ready
 * replica. Needs a network namespace of its own.
 */
import { run } from '../rigs/process.ts'

export interface Service {
  /** `host:port` for clients. */
  address: string
  setReady(replica: string, isReady: boolean): Promise<void>
}

/** Replicas are ports of the loopback address. */
export function createService(name: string, port: number): Service {
  const ready = new Set<string>()
  return {
    address: `127.0.0.1:${port}`,
    async setReady(replica, isReady) {
      if (isReady) ready.add(replica)
      else ready.delete(replica)
      await run('nft', ['-f', '-'], { input: rulesOf(name, port, [...ready]) })
    },
  }
}

/** In one transaction. Without a ready replica, a connection is refused. */
function rulesOf(name: string, port: number, ready: readonly string[]): string {
  const ports = ready.map((address, index) => `${index} : ${address.split(':')[1]}`)
  const target = `127.0.0.1 : numgen random mod ${ready.length} map { ${ports.join(', ')} }`
  return [
    'add table ip services',
    `add chain ip services ${name} { type nat hook output priority -100 ; }`,
    `flush chain ip services ${name}`,
    ...(ready.length > 0
      ? [`add rule ip services ${name} ip daddr 127.0.0.1 tcp dport ${port} dnat to ${target}`]
      : []),
    '',
  ].join('\n')
}
