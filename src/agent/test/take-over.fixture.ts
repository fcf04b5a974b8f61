/**
 * What tests of NICs with a DHCP client share.
 */
import assert from 'node:assert/strict'
import { kernelState } from '../../../test/rigs/host/kernel-state.ts'
import { type RigNic, type RigNode, withNode } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

interface Stoppable {
  stop(): Promise<void>
}

/** A node with one NIC. What the test passes to `end` is stopped in reverse order, whatever happened. */
export async function withNic(
  run: (node: RigNode, nic: RigNic, end: <T extends Stoppable>(started: T) => T) => Promise<void>,
): Promise<void> {
  await withNode({ nics: 1 }, async node => {
    const [nic] = node.nics
    assert.ok(nic)
    const started: Stoppable[] = []
    try {
      await run(node, nic, one => {
        started.unshift(one)
        return one
      })
    } finally {
      for (const one of started) await one.stop()
    }
  })
}

/** Without those that multinic adds: their metrics are worse than that of any client. */
export const mainRoutes = (node: RigNode) =>
  (kernelState(node)['main'] ?? []).filter(line => !/ metric 20[01]0\d\b/.test(line))

export async function leased(node: RigNode, nic: RigNic): Promise<void> {
  const route = new RegExp(`^default via ${nic.gateway} dev ${nic.name} proto dhcp`)
  const hasRoute = () => mainRoutes(node).some(line => route.test(line))
  await eventually(() => assert.ok(hasRoute(), node.ip('route')), { within: 60_000, every: 200 })
}

/** A cleanup removes our configuration, and the client has its lease again. */
export async function givenBack(node: RigNode, nic: RigNic): Promise<void> {
  const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
  assert.equal(clean.report?.verdict, 'Removed', clean.log)
  await leased(node, nic)
}

/** As Netplan generates them. */
export const dhcpFile = {
  '10-netplan-all-en.network':
    '[Match]\nName=ens4\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=ipv6\n[DHCPv4]\nRouteMetric=100\nClientIdentifier=mac\n',
  '10-netplan-ens3.network': '[Match]\nName=ens3\n[Link]\nUnmanaged=yes\n',
}
