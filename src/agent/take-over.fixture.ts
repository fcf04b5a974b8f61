/**
 * What tests of NICs with a DHCP client share.
 */
import assert from 'node:assert/strict'
import { kernelState } from '../../test/rigs/host/kernel-state.ts'
import type { RigNic, RigNode } from '../../test/rigs/host/node.ts'
import { eventually } from '../../test/support/eventually.ts'

/** Runs the steps of `end` in reverse order, whatever happened. */
export async function ending(run: (end: (stop: () => Promise<void>) => void) => Promise<void>): Promise<void> {
  const stops: (() => Promise<void>)[] = []
  try {
    await run(stop => stops.unshift(stop))
  } finally {
    for (const stop of stops) await stop()
  }
}

export const mainRoutes = (node: RigNode) => kernelState(node)['main'] ?? []

export async function leased(node: RigNode, nic: RigNic): Promise<void> {
  const route = new RegExp(`^default via ${nic.gateway} dev ${nic.name} proto dhcp`)
  const hasRoute = () => mainRoutes(node).some(line => route.test(line))
  await eventually(() => assert.ok(hasRoute(), node.ip('route')), { within: 60_000, every: 200 })
}

/** As Netplan generates them. */
export const dhcpFile = {
  '10-netplan-all-en.network':
    '[Match]\nName=ens4\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=ipv6\n[DHCPv4]\nRouteMetric=100\nClientIdentifier=mac\n',
  '10-netplan-ens3.network': '[Match]\nName=ens3\n[Link]\nUnmanaged=yes\n',
}
