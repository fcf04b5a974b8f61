/** The rules, tables and nft chains that the agent has to set, by hand: what the rows of the suite were written against. */
import { addressIn, type Family, families, layouts, type PlannedNic, subnetOf } from './addresses.ts'
import type { NamespaceTestbed } from './namespace-testbed.ts'

interface Nic extends PlannedNic {
  index: number
  name: string
  /** The subnet is that of the primary: it is not in the main table, and rules select only the NIC's own address. */
  reserved: boolean
  shared: boolean
  first: boolean
}

const mask = 0x78
const other = 0x58
const markOf = ({ index }: Nic) => (index + 1) << 3
const tableOf = ({ index }: Nic) => 100 + index
const setMark = (mark: number) => `meta mark set meta mark & 0xffffff87 | 0x${mark.toString(16)}`
const length = (family: Family) => (family === 4 ? 24 : 64)
const own = (nic: Nic, family: Family) => addressIn(nic.net, nic.host, family)
const net = (nic: Nic, family: Family) => subnetOf(nic.net, family)
const primaryNet = (family: Family) => subnetOf('primary', family)

export function configureByHand({ layout, node, onNode, feedNode }: NamespaceTestbed): void {
  const nics = (layouts[layout] as readonly PlannedNic[]).map((nic, index, all): Nic => {
    const reserved = nic.net === 'primary'
    const shared = reserved || all.filter(({ net }) => net === nic.net).length > 1
    const first = all.findIndex(({ net }) => net === nic.net) === index
    return { ...nic, index, name: `multinic${index}`, reserved, shared, first }
  })
  for (const [index, { name }] of node.nics.entries()) {
    onNode('ip', 'link', 'set', name, 'name', `multinic${index}`)
    const settings = ['rp_filter=2', 'arp_ignore=1', 'arp_announce=2']
    onNode('sysctl', '-qw', ...settings.map(setting => `net.ipv4.conf.multinic${index}.${setting}`))
    onNode('ip', 'link', 'set', `multinic${index}`, 'up')
  }
  const ip = (family: Family, lines: readonly string[]) =>
    feedNode(lines.map(line => `${line}\n`).join(''), 'ip', `-${family}`, '-batch', '-')
  for (const family of families) {
    ip(
      family,
      nics.map(nic => {
        const prefix = nic.reserved ? 'noprefixroute' : `metric ${20_000 + nic.index}`
        return `address add ${own(nic, family)}/${length(family)} dev ${nic.name} ${prefix}${family === 6 ? ' nodad' : ''}`
      }),
    )
    ip(family, routesOf(nics, family))
    ip(family, rulesOf(nics, family))
    feedNode(chainsOf(nics, family), 'nft', '-f', '-')
  }
}

function routesOf(nics: readonly Nic[], family: Family): string[] {
  // IPv6 refuses onlink when the main table reaches the gateway by another NIC.
  const onlink = family === 4 ? ' onlink' : ''
  const networks = [...new Set(nics.filter(nic => !nic.reserved).map(nic => net(nic, family)))]
  const through = `via ${addressIn('primary', 1, family)} dev ens3${onlink} table 110`
  return [
    ...nics.flatMap(nic => {
      const to = `dev ${nic.name}${onlink} table ${tableOf(nic)} src ${own(nic, family)}`
      const gateway = `via ${addressIn(nic.net, 1, family)} ${to}`
      const others = new Set([...networks, primaryNet(family)])
      others.delete(net(nic, family))
      return [
        `route add ${net(nic, family)} dev ${nic.name} table ${tableOf(nic)} src ${own(nic, family)}`,
        `route add default ${gateway}`,
        ...[...others].map(network => `route add ${network} ${gateway}`),
      ]
    }),
    ...networks.map(network => `route add ${network} ${through}`),
    `route add default ${through}`,
  ]
}

function rulesOf(nics: readonly Nic[], family: Family): string[] {
  const rule = (priority: number, text: string) => `rule add priority ${priority} ${text} protocol static`
  const common = nics.flatMap(nic => {
    const from = nic.reserved ? own(nic, family) : net(nic, family)
    const table = tableOf(nic)
    return [
      rule(10_000 + nic.index, `fwmark ${markOf(nic)}/${mask} lookup ${table}`),
      ...(nic.first || nic.reserved
        ? [rule(10_050 + nic.index, `from ${from} iif lo lookup main suppress_prefixlength 7`)]
        : []),
      ...(nic.first && !nic.reserved ? [rule(10_070 + nic.index, `from ${from} iif lo lookup ${table}`)] : []),
      ...(nic.shared
        ? [
            ...(nic.first || nic.reserved
              ? [
                  rule(
                    10_020 + nic.index,
                    `from ${from} iif lo to ${net(nic, family)} lookup main suppress_prefixlength ${length(family)}`,
                  ),
                ]
              : []),
            rule(10_030 + nic.index, `from ${own(nic, family)} iif lo lookup ${table} suppress_prefixlength 0`),
            rule(10_060 + nic.index, `from ${own(nic, family)} iif lo lookup ${table}`),
          ]
        : []),
    ]
  })
  return [
    ...common,
    rule(10_010, `fwmark ${other}/${mask} lookup 110`),
    rule(10_079, `from ${primaryNet(family)} iif lo lookup main suppress_prefixlength ${length(family)}`),
    rule(10_080, `from ${primaryNet(family)} iif lo lookup 110 suppress_prefixlength 0`),
  ]
}

function chainsOf(nics: readonly Nic[], family: Family): string {
  const ip = family === 4 ? 'ip' : 'ip6'
  const networks = new Map(nics.filter(nic => nic.first && !nic.reserved).map(nic => [net(nic, family), nic]))
  const sources = new Map(nics.map(nic => [nic.shared ? own(nic, family) : net(nic, family), nic]))
  const each = (text: (nic: Nic) => string) => nics.map(text).join('\n  ')
  const map = (all: ReadonlyMap<string, Nic>, chain: string) =>
    `{ ${[...all].map(([key, nic]) => `${key} : goto ${chain}${nic.index}`).join(', ')} }`
  return `table ${ip} multinic {
  set nets { type ipv${family}_addr; flags interval; elements = { ${[...networks.keys()].join(', ')} }; }
  set wires { type ifname; elements = { "ens3", ${nics.map(nic => `"${nic.name}"`).join(', ')} }; }
  ${each(nic => `chain enter${nic.index} { ct label set 99; ct label set ${100 + nic.index}; }`)}
  ${each(nic => `chain from${nic.index} { oifname != "${nic.name}" oifname @wires ${setMark(markOf(nic))}; }`)}
  ${each(nic => `chain service${nic.index} { ${setMark(markOf(nic))}; }`)}
  chain by_label {
    ${each(nic => `ct label ${100 + nic.index} ${setMark(markOf(nic))} accept`)}
  }
  chain prerouting {
    type filter hook prerouting priority -90
    ct direction original iifname vmap { ${nics.map(nic => `"${nic.name}" : goto enter${nic.index}`).join(', ')} }
    ct direction original iifname != "lo" ${ip} saddr @nets ct label set 98
    ct direction original accept
    iifname "multinic*" accept
    ct label 99 goto by_label
    ct label 98 ${ip} daddr @nets fib daddr oifname "multinic*" ${setMark(other)}
  }
  chain output {
    type route hook output priority -90
    ct direction original ct status & dnat == dnat ${ip} daddr vmap ${map(networks, 'service')}
    ct direction reply ct label 99 goto by_label
    ${ip} saddr vmap ${map(sources, 'from')}
    ct direction reply ct label 98 ${ip} daddr @nets oifname "multinic*" ${setMark(other)}
  }
}
`
}
