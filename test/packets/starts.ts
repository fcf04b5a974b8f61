/** What a node has before the agent runs: NICs that DHCP configured. */
import type { NamespaceTestbed } from './namespace-testbed.ts'

/** Addresses with a lifetime, and default routes with a worse metric than the primary's. */
export function startWithDhcp({ node }: NamespaceTestbed): void {
  for (const [index, { name, address, address6, gateway, gateway6 }] of node.nics.entries()) {
    const lifetime = 'valid_lft 86400 preferred_lft 86400'
    const metric = `metric ${1024 + index}`
    for (const line of [
      `link set ${name} up`,
      `address add ${address}/24 dev ${name} ${lifetime}`,
      `address add ${address6} dev ${name} ${lifetime} nodad`,
      `-4 route add default via ${gateway} dev ${name} ${metric} proto dhcp`,
      `-6 route add default via ${gateway6} dev ${name} ${metric} proto ra`,
    ])
      node.ip(...line.split(' '))
  }
}
