/**
 * A DHCP client that starts again while the agent takes its NIC over, and what is left of the take-over after a reboot.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasNetworkd, runUdev, startUdev } from '../../../test/rigs/host/boot.ts'
import { startDhcp, startMonitor } from '../../../test/rigs/host/dhcp.ts'
import { kernelState, routesInTable } from '../../../test/rigs/host/kernel-state.ts'
import {
  hasNetworkManager,
  makeNetworkManagerHost,
  startNetworkManager,
} from '../../../test/rigs/host/network-manager.ts'
import { startLiveNetworkd } from '../../../test/rigs/host/networkd.ts'
import { type RigNode, requestedInterface } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { dhcpFile, givenBack, leased, withNic } from './take-over.fixture.ts'

const skip = !(hasNetworkManager && hasNetworkd) && 'needs NetworkManager and networkd'
const needsNetworkd = { skip: !hasNetworkd && 'needs networkd' }

test(
  'a NIC that networkd still configures under its new name, by an altname, is taken over and given back',
  needsNetworkd,
  () =>
    withNic(async (node, nic, end) => {
      end(startDhcp(node, nic))
      end(await startUdev(node))
      // As in the images of Debian. udev makes the former name an altname as soon as the NIC is renamed.
      const files = {
        ...dhcpFile,
        '10-netplan-all-en.network': dhcpFile['10-netplan-all-en.network'].replace('Name=ens4', 'Name=en*'),
        '05-ens3.network': dhcpFile['10-netplan-ens3.network'],
      }
      const networkd = end(await startLiveNetworkd(node, files, { liveUdev: true }))
      await leased(node, nic)

      // The detection of duplicates takes a second or two, which is enough for a new lease.
      const interfaces = [requestedInterface(nic, 0, { addresses: [nic.address6] })]
      const monitor = end(startMonitor(node))
      const taking = node.agent({ interfaces })
      // Kernels before 6.2 rename a link only while it is down: its client starts again when the link is back.
      await eventually(() => node.ip('link', 'show', 'multinic0'), { within: 30_000, every: 5 })
      for (const to of ['down', 'up']) node.fabricIp('link', 'set', 'p1', to)
      const taken = await taking
      assert.equal(taken.report?.verdict, 'Configured', `${taken.log}\n${networkd.log()}`)
      assert.doesNotMatch(networkd.log(), /Failed/)
      assert.doesNotMatch(monitor.log(), /Deleted local 10\.100\.0\.10/)
      assert.doesNotMatch(node.ip('address', 'show', 'multinic0'), /dynamic/)
      assert.doesNotMatch(node.exec('cat', '/proc/net/udp'), /:0044 /)

      await givenBack(node, nic)
    }),
)

for (const [configured, dhcp] of [
  ['router advertisements', 'no'],
  ['router advertisements and DHCP', 'ipv4'],
] as const)
  test(`a NIC that networkd configured by ${configured} gets nothing of it again meanwhile`, needsNetworkd, () =>
    withNic(async (node, nic, end) => {
      const address = 'fd00::f816:3eff:fe00:1'
      end(startDhcp(node, nic, { prefix: 'fd00::/64' }))
      end(await startUdev(node))
      const sections = `[Network]\nDHCP=${dhcp}\nIPv6AcceptRA=yes\n[DHCPv4]\nClientIdentifier=mac\nRouteMetric=100\n`
      const files = {
        '05-ens3.network': dhcpFile['10-netplan-ens3.network'],
        '10-netplan-all-en.network': `[Match]\nName=en*\n${sections}`,
      }
      const networkd = end(await startLiveNetworkd(node, files, { liveUdev: true }))
      const isConfigured = async () => {
        if (dhcp === 'ipv4') await leased(node, nic)
        const isAdvertised = new RegExp(`inet6 ${address}/64 .*dynamic`)
        await eventually(() => assert.match(node.ip('-6', 'address', 'show', nic.name), isAdvertised), {
          within: 60_000,
          every: 200,
        })
      }
      await isConfigured()
      node.ip('-6', 'route', 'add', 'default', 'dev', 'ens3', 'metric', '50')

      const interfaces = [requestedInterface(nic, 0, { addresses: [`${address}/64`] })]
      const taking = node.agent({ interfaces })
      // As on kernels before 6.2, which rename a link only while it is down.
      await eventually(() => node.ip('link', 'show', 'multinic0'), { within: 30_000, every: 5 })
      for (const to of ['down', 'up']) node.fabricIp('link', 'set', 'p1', to)
      const taken = await taking
      assert.equal(taken.report?.verdict, 'Configured', `${taken.log}\n${networkd.log()}`)
      assert.doesNotMatch(networkd.log(), /multinic0: DHCPv4 address/)
      assert.doesNotMatch(node.ip('address', 'show', 'multinic0'), /dynamic/)

      const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      await isConfigured()
    }),
  )

test('a NIC on which networkd has given up is taken over and given back', needsNetworkd, () =>
  withNic(async (node, nic, end) => {
    // The kernel refuses the route, and networkd does nothing more for the NIC.
    const refused = '[Route]\nDestination=198.51.100.0/24\nScope=link\nTCPCongestionControlAlgorithm=unknown\n'
    const file = dhcpFile['10-netplan-all-en.network'] + refused
    const networkd = end(await startLiveNetworkd(node, { ...dhcpFile, '10-netplan-all-en.network': file }))
    const isIn = (state: string, device: string) =>
      eventually(() => assert.equal(networkd.state(device), state, networkd.log()), { within: 60_000 })
    await isIn('failed', 'ens4')

    const taken = await node.agent({ interfaces: [requestedInterface(nic, 0)] })
    assert.equal(taken.report?.verdict, 'Configured', `${taken.log}\n${networkd.log()}`)
    await isIn('configured', 'multinic0')
    const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    await isIn('failed', 'ens4')
  }),
)

test('a NIC that networkd has configured keeps everything when its carrier is lost and comes back', needsNetworkd, () =>
  withNic(async (node, nic, end) => {
    end(startDhcp(node, nic))
    const networkd = end(await startLiveNetworkd(node, dhcpFile))
    await leased(node, nic)
    const interfaces = [requestedInterface(nic, 0)]
    const taken = await node.agent({ interfaces })
    assert.equal(taken.report?.verdict, 'Configured', taken.log)
    const isConfigured = () => assert.equal(networkd.state('multinic0'), 'configured', networkd.log())
    await eventually(isConfigured, { within: 30_000 })

    const ours = () => [
      kernelState(node)['addresses'],
      kernelState(node)['rules'],
      routesInTable(node, 100).map(line => line.replace(' linkdown', '')),
    ]
    const state = ours()
    for (const [to, seen] of [
      ['down', /multinic0: Lost carrier/],
      ['up', /multinic0: Gained carrier/],
    ] as const) {
      node.fabricIp('link', 'set', 'p1', to)
      await eventually(() => assert.match(networkd.log(), seen), { within: 30_000 })
      // It also asks networkd, which answers when it has ended its work.
      const check = await node.agent({ mode: 'check', interfaces })
      assert.deepEqual(ours(), state, networkd.log())
      if (to === 'up') assert.equal(check.report?.verdict, 'InSync', check.log)
    }
  }),
)

function ours(node: RigNode): unknown {
  const { links, addresses, rules } = kernelState(node)
  const table = routesInTable(node, 100).map(line => line.replace('proto kernel', 'proto static'))
  return [links?.slice(2), addresses?.filter(line => line.startsWith('multinic')), rules, table.sort()]
}

test('after a reboot, a NIC that was taken over from networkd has our configuration', needsNetworkd, () =>
  withNic(async (node, nic, end) => {
    end(startDhcp(node, nic))
    const before = end(await startLiveNetworkd(node, dhcpFile))
    await leased(node, nic)
    const interfaces = [requestedInterface(nic, 0)]
    const taken = await node.agent({ interfaces })
    assert.equal(taken.report?.verdict, 'Configured', taken.log)
    const state = ours(node)
    await before.stop()

    await node.reboot()
    node.ip('link', 'set', 'lo', 'up')
    await runUdev(node)
    const networkd = end(await startLiveNetworkd(node, dhcpFile, { boots: true }))
    await eventually(() => assert.deepEqual(ours(node), state, networkd.log()), { within: 60_000, every: 250 })
    assert.doesNotMatch(node.exec('cat', '/proc/net/udp'), /:0044 /)
  }),
)

test(
  'after a reboot, a NIC that was taken over from NetworkManager has our configuration, and is given back',
  { skip },
  () =>
    withNic(async (node, nic, end) => {
      makeNetworkManagerHost(node)
      end(startDhcp(node, nic))
      const before = await startNetworkManager(node)
      await leased(node, nic)
      const taken = await node.agent({ interfaces: [requestedInterface(nic, 0)] })
      assert.equal(taken.report?.verdict, 'Configured', taken.log)
      const state = ours(node)
      await before.stop()

      await node.reboot()
      node.ip('link', 'set', 'lo', 'up')
      await runUdev(node)
      const manager = end(await startNetworkManager(node))
      const isActive = () =>
        assert.match(manager.nmcli('-t', '-f', 'DEVICE,STATE,CONNECTION', 'device'), /multinic0:connected:multinic0/)
      await eventually(isActive, { within: 60_000, every: 200 })
      await eventually(() => assert.deepEqual(ours(node), state), { within: 60_000, every: 250 })
      assert.doesNotMatch(node.exec('cat', '/proc/net/udp'), /:0044 /)
      await givenBack(node, nic)
      assert.equal(manager.nmcli('-t', '-f', 'TYPE', 'connection').match(/ethernet/g)?.length, 1)
    }),
)
