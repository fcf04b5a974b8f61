/** Ports of the packet suite, and the rules of the node that lead from Services to endpoints. */
import { addressOf, type Family, families, type Layout, type Name } from './addresses.ts'

export const ports = {
  /** The node's own server, on all addresses. */
  host: 30_090,
  /** A host outside the node. */
  server: 8081,
  /** In Pods. */
  pod: 8080,
  'NodePort Local': 30_080,
  'NodePort Cluster, local Pod': 30_081,
  'NodePort Cluster, remote Pod': 30_082,
  'NodePort, hostNetwork endpoint': 30_083,
  service: 80,
  'service, Cluster policy': 81,
  hostPort: 8088,
} as const
export type Port = keyof typeof ports

/** kube-proxy's bit of the packet mark for packets to masquerade. */
const masquerade = '0x4000'

/** What kube-proxy in nftables mode does, and a CNI that masquerades. */
export function serviceRules(layout: Layout): string {
  const address = (name: Name, family: Family) => addressOf(name, layout, family) ?? ''
  const both = 'meta l4proto { tcp, udp } th dport'
  const services = families.flatMap(family => {
    const ip = family === 4 ? 'ip' : 'ip6'
    const to = (name: Name, port: number) =>
      `dnat ${ip} to ${family === 4 ? address(name, family) : `[${address(name, family)}]`}:${port}`
    const mark = `meta mark set meta mark | ${masquerade}`
    const local = `meta nfproto ipv${family} fib daddr type local ${both}`
    const virtual = `${address('VIP-D', family)}, ${address('external IP', family)}`
    return [
      `${local} ${ports['NodePort Local']} ${to('pod', ports.pod)}`,
      `${local} ${ports['NodePort Cluster, local Pod']} ${mark} ${to('pod', ports.pod)}`,
      `${local} ${ports['NodePort Cluster, remote Pod']} ${mark} ${to('remote pod', ports.pod)}`,
      `${local} ${ports['NodePort, hostNetwork endpoint']} ${to('P', ports.host)}`,
      `${ip} daddr { ${virtual} } ${both} ${ports.service} ${to('pod', ports.pod)}`,
      `${ip} daddr ${address('service', family)} ${both} ${ports.service} ${mark} ${to('client', ports.server)}`,
    ]
  })
  return `table inet kube-proxy {
  chain prerouting { type nat hook prerouting priority dstnat; jump services; }
  chain output { type nat hook output priority -100; jump services; }
  chain services {
    ${services.join('\n    ')}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat
    meta mark & ${masquerade} != 0 meta mark set meta mark & 0xffffbfff masquerade
  }
}
table inet cni {
  chain postrouting {
    type nat hook postrouting priority srcnat + 1
    ip saddr 10.244.0.6 accept
    ip6 saddr fd00:244::6 accept
    ip saddr 10.244.0.0/24 ip daddr != 10.244.0.0/16 masquerade
    ip6 saddr fd00:244::/64 ip6 daddr != { fd00:244::/64, fd00:244:1::/64 } masquerade
  }
}
`
}
