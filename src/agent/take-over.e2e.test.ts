/**
 * A hot-plugged NIC that a real DHCP client configured first is taken over: its lease does not come back, connections over
 * a requested address survive, and a cleanup gives the NIC back to the client.
 */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { test } from 'node:test'
import { hasNetworkd } from '../../test/rigs/host/boot.ts'
import { type Connection, hasDhcpServer, openConnection, startDhcp, startMonitor } from '../../test/rigs/host/dhcp.ts'
import { kernelState, macsOf, routesInTable } from '../../test/rigs/host/kernel-state.ts'
import { hasNetworkManager, startNetworkManager } from '../../test/rigs/host/network-manager.ts'
import { startLiveNetworkd } from '../../test/rigs/host/networkd.ts'
import { foreignState, type RigNic, type RigNode, requestedInterface, withNode } from '../../test/rigs/host/node.ts'
import { eventually } from '../../test/support/eventually.ts'

/** Runs the steps of `end` in reverse order, whatever happened. */
async function ending(run: (end: (stop: () => Promise<void>) => void) => Promise<void>): Promise<void> {
  const stops: (() => Promise<void>)[] = []
  try {
    await run(stop => stops.unshift(stop))
  } finally {
    for (const stop of stops) await stop()
  }
}

const mainRoutes = (node: RigNode) => kernelState(node)['main'] ?? []

async function leased(node: RigNode, nic: RigNic): Promise<void> {
  const route = new RegExp(`^default via ${nic.gateway} dev ${nic.name} proto dhcp`)
  await eventually(
    () =>
      assert.ok(
        mainRoutes(node).some(line => route.test(line)),
        node.ip('route'),
      ),
    {
      within: 60_000,
      every: 200,
    },
  )
}

const skip = !(hasNetworkManager && hasDhcpServer) && 'needs NetworkManager and dnsmasq'

test('F3: a NIC that NetworkManager configured by DHCP is taken over without a gap, and given back', { skip }, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      rmSync(node.path('etc/netplan'), { recursive: true })
      mkdirSync(node.path('etc/NetworkManager/system-connections'), { recursive: true })
      const [nic] = node.nics
      assert.ok(nic)
      const dhcp = startDhcp(node, nic)
      end(() => dhcp.stop())
      const manager = await startNetworkManager(node)
      end(() => manager.stop())
      await leased(node, nic)
      const connection: Connection = await openConnection(node, nic)
      end(() => connection.stop())
      assert.equal(await connection.echo('before'), 'before')
      const foreign = foreignState(node, macsOf(node))

      const interfaces = [requestedInterface(nic, 0)]
      const refused = await node.agent({ interfaces }, { NETWORK_TAKEOVER: 'refuse' })
      assert.equal(refused.report?.interfaces[0]?.reason, 'DefaultRoute', refused.log)

      const monitor = startMonitor(node)
      end(() => monitor.stop())
      const taken = await node.agent({ interfaces })
      assert.equal(taken.report?.verdict, 'Configured', taken.log)
      assert.match(
        taken.report?.interfaces[0]?.message ?? '',
        /taken over .*10\.100\.0\.10\/24.*default via 10\.100\.0\.1/,
      )
      assert.equal(await connection.echo('after'), 'after')
      assert.doesNotMatch(monitor.log(), /Deleted local 10\.100\.0\.10/)
      assert.deepEqual(
        mainRoutes(node).filter(line => line.includes('multinic0')),
        [],
      )
      assert.equal(foreignState(node, macsOf(node)), foreign)
      const state = { ...kernelState(node), table: routesInTable(node, 100) }
      assert.doesNotMatch(node.ip('address', 'show', 'multinic0'), /dynamic/)

      await manager.restart()
      const again = await node.agent({ interfaces })
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
      assert.deepEqual({ ...kernelState(node), table: routesInTable(node, 100) }, state)

      const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      await leased(node, nic)
      assert.equal(foreignState(node, macsOf(node)), foreign)
    }),
  ),
)

const dhcpFile = {
  '10-netplan-all-en.network':
    '[Match]\nName=ens4\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=ipv6\n[DHCPv4]\nRouteMetric=100\n',
  '10-netplan-ens3.network': '[Match]\nName=ens3\n[Link]\nUnmanaged=yes\n',
}
const needsNetworkd = { skip: !(hasNetworkd && hasDhcpServer) && 'needs networkd and dnsmasq' }

test('F18: a NIC that networkd configured by DHCP is taken over without a gap, and given back', needsNetworkd, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      const [nic] = node.nics
      assert.ok(nic)
      const dhcp = startDhcp(node, nic)
      end(() => dhcp.stop())
      const networkd = await startLiveNetworkd(node, dhcpFile)
      end(() => networkd.stop())
      await leased(node, nic)
      const connection = await openConnection(node, nic)
      end(() => connection.stop())
      assert.equal(await connection.echo('before'), 'before')
      const foreign = foreignState(node, macsOf(node))

      const monitor = startMonitor(node)
      end(() => monitor.stop())
      const interfaces = [requestedInterface(nic, 0)]
      const taken = await node.agent({ interfaces })
      assert.equal(taken.report?.verdict, 'Configured', taken.log)
      assert.match(networkd.log(), /multinic0: Reconfiguring with .*05-multinic0.network/)
      assert.equal(await connection.echo('after'), 'after')
      assert.doesNotMatch(monitor.log(), /Deleted local 10\.100\.0\.10/)
      assert.deepEqual(
        mainRoutes(node).filter(line => line.includes('multinic0')),
        [],
      )
      assert.doesNotMatch(node.ip('address', 'show', 'multinic0'), /dynamic/)
      assert.doesNotMatch(node.exec('cat', '/proc/net/udp'), /:0044 /)
      assert.equal(foreignState(node, macsOf(node)), foreign)
      const again = await node.agent({ interfaces })
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)

      const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      await leased(node, nic)
      assert.equal(foreignState(node, macsOf(node)), foreign)
    }),
  ),
)
