/**
 * A hot-plugged NIC that a real DHCP client configured first is taken over: its lease does not come back, connections over
 * a requested address survive, and a cleanup gives the NIC back to the client.
 */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasNetworkd, startRouter } from '../../test/rigs/host/boot.ts'
import { bundled } from '../../test/rigs/host/bundle.ts'
import {
  type Connection,
  hasUdhcpc,
  openConnection,
  startDhcp,
  startMonitor,
  startUdhcpc,
} from '../../test/rigs/host/dhcp.ts'
import { kernelState, macsOf, routesInTable } from '../../test/rigs/host/kernel-state.ts'
import { hasNetworkManager, startNetworkManager } from '../../test/rigs/host/network-manager.ts'
import { startLiveNetworkd } from '../../test/rigs/host/networkd.ts'
import { diskOf, foreignState, requestedInterface, withNode } from '../../test/rigs/host/node.ts'
import { eventually } from '../../test/support/eventually.ts'
import { dhcpFile, ending, leased, mainRoutes } from './take-over.fixture.ts'

/** Seconds. Short, so that a client that still runs renews it, or loses it. */
const lease = 8

/** Until every lease that exists now has ended, or its client has renewed it. */
const untilExpired = (seconds = lease) => sleep(seconds * 1000)

const skip = !(hasNetworkManager && hasNetworkd) && 'needs NetworkManager and networkd'

test('F3: a NIC that NetworkManager configured by DHCP is taken over without a gap, and given back', { skip }, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      rmSync(node.path('etc/netplan'), { recursive: true })
      mkdirSync(node.path('etc/NetworkManager/system-connections'), { recursive: true })
      const [nic] = node.nics
      assert.ok(nic)
      const dhcp = startDhcp(node, nic, { lease })
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

      await untilExpired()
      assert.deepEqual({ ...kernelState(node), table: routesInTable(node, 100) }, state)
      await manager.restart()
      const again = await node.agent({ interfaces })
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
      assert.deepEqual({ ...kernelState(node), table: routesInTable(node, 100) }, state)

      const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      await leased(node, nic)
      assert.equal(manager.nmcli('-t', '-f', 'TYPE', 'connection').match(/ethernet/g)?.length, 1)
      assert.equal(foreignState(node, macsOf(node)), foreign)
    }),
  ),
)

test('a take-over that fails is rolled back, and NetworkManager has its lease again', { skip }, () =>
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
      // The kernel refuses the machine itself as gateway.
      const bad = requestedInterface(nic, 0, { routes: [{ destination: '172.20.0.0/16', nexthop: '127.0.0.1' }] })
      const failed = await node.agent({ interfaces: [bad] })
      assert.equal(failed.report?.interfaces[0]?.reason, 'CommandFailed', failed.log)
      assert.doesNotMatch(failed.log, /cannot roll back|not rolled back/)
      await leased(node, nic)
      assert.match(node.ip('address', 'show', 'ens4'), /inet 10\.100\.0\.10\/24 .*dynamic/)
      assert.deepEqual(kernelState(node)['rules'], [])
    }),
  ),
)

const needsNetworkd = { skip: !hasNetworkd && 'needs networkd' }

test('F18: a NIC that networkd configured by DHCP is taken over without a gap, and given back', needsNetworkd, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      const [nic] = node.nics
      assert.ok(nic)
      const dhcp = startDhcp(node, nic, { lease })
      end(() => dhcp.stop())
      let networkd = await startLiveNetworkd(node, dhcpFile)
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
      await untilExpired()
      const again = await node.agent({ interfaces })
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
      assert.equal(await connection.echo('later'), 'later')

      await networkd.stop()
      networkd = await startLiveNetworkd(node, dhcpFile)
      await eventually(() => assert.equal(networkd.state('multinic0'), 'configured', networkd.log()), {
        within: 60_000,
      })
      const restarted = await node.agent({ interfaces })
      assert.deepEqual([restarted.report?.verdict, restarted.report?.changed], ['Configured', 0], restarted.log)
      assert.equal(await connection.echo('restarted'), 'restarted')

      const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      await leased(node, nic)
      assert.equal(foreignState(node, macsOf(node)), foreign)
    }),
  ),
)

test('F18: a NIC that an older agent configured beside a live client is handed over later', needsNetworkd, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      const [nic] = node.nics
      assert.ok(nic)
      // The take-over starts after a renewal and must end before the next one, when the client takes the address back.
      const longer = 20
      const dhcp = startDhcp(node, nic, { lease: longer, router: false })
      end(() => dhcp.stop())
      const networkd = await startLiveNetworkd(node, dhcpFile)
      end(() => networkd.stop())
      const isLeased = (device: string) => () => assert.match(node.ip('address', 'show', device), /10\.100.* dynamic/)
      await eventually(isLeased('ens4'), { within: 60_000, every: 200 })

      const interfaces = [requestedInterface(nic, 0)]
      const refuse = { NETWORK_TAKEOVER: 'refuse' }
      const older = await node.agent({ interfaces }, refuse)
      assert.equal(older.report?.verdict, 'Configured', older.log)
      // The client renews its lease and takes the address back.
      await eventually(isLeased('multinic0'), { within: 60_000, every: 200 })

      const check = await node.agent({ mode: 'check', interfaces })
      assert.equal(check.report?.verdict, 'Drifted', check.log)
      const taken = await node.agent({ interfaces })
      assert.equal(taken.report?.verdict, 'Configured', taken.log)
      await untilExpired(longer)
      assert.doesNotMatch(node.ip('address', 'show', 'multinic0'), /dynamic/)
      const again = await node.agent({ interfaces })
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
    }),
  ),
)

test('F3: a NIC with an address and a default route from router advertisements is taken over', needsNetworkd, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      const [nic] = node.nics
      assert.ok(nic)
      // Neutron gives the port of a SLAAC network the address that the NIC derives from its MAC address.
      const address = 'fd00::f816:3eff:fe00:1'
      const isAdvertised = () => {
        assert.match(node.ip('-6', 'address', 'show', nic.name), new RegExp(`inet6 ${address}/64 .*dynamic`))
        assert.match(node.ip('-6', 'route'), /^default .*dev ens4 proto ra/m)
      }
      const router = startRouter(node)
      end(() => router.stop())
      const networkd = await startLiveNetworkd(node, {
        ...dhcpFile,
        '10-netplan-all-en.network': '[Match]\nName=ens4\n[Network]\nIPv6AcceptRA=yes\nLinkLocalAddressing=ipv6\n',
      })
      end(() => networkd.stop())
      await eventually(isAdvertised, { within: 60_000, every: 200 })
      const interfaces = [requestedInterface(nic, 0, { addresses: [`${address}/64`] })]

      // Without another default route, the NIC may carry the IPv6 traffic of the node.
      const only = await node.agent({ interfaces })
      assert.equal(only.report?.interfaces[0]?.reason, 'DefaultRoute', only.log)

      node.ip('-6', 'route', 'add', 'default', 'dev', 'ens3', 'metric', '100')
      const foreign = foreignState(node, macsOf(node))
      const monitor = startMonitor(node)
      end(() => monitor.stop())
      const taken = await node.agent({ interfaces })
      assert.equal(taken.report?.verdict, 'Configured', taken.log)
      assert.doesNotMatch(monitor.log(), new RegExp(`Deleted local ${address}`))
      assert.doesNotMatch(node.ip('-6', 'route'), /dev multinic0 proto ra/)
      assert.doesNotMatch(node.ip('-6', 'address', 'show', 'multinic0'), /dynamic/)
      assert.equal(foreignState(node, macsOf(node)), foreign)

      const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      await eventually(isAdvertised, { within: 60_000, every: 200 })
      assert.equal(foreignState(node, macsOf(node)), foreign)
    }),
  ),
)

test('networkd is not reloaded while a file of another link differs from what it read', needsNetworkd, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      const [nic] = node.nics
      assert.ok(nic)
      const dhcp = startDhcp(node, nic)
      end(() => dhcp.stop())
      const networkd = await startLiveNetworkd(node, dhcpFile)
      end(() => networkd.stop())
      await leased(node, nic)
      const changed = node.path('host/run/systemd/network/10-netplan-ens3.network')
      writeFileSync(changed, '[Match]\nName=ens3\n[Network]\nAddress=10.0.0.77/24\n')
      const state = kernelState(node)
      const ran = await node.agent({ interfaces: [requestedInterface(nic, 0)] })
      assert.deepEqual(
        [ran.report?.interfaces[0]?.reason, ran.report?.interfaces[0]?.message],
        [
          'DhcpClientActive',
          `systemd-networkd configures ens4 by /run/systemd/network/10-netplan-all-en.network and cannot be reloaded for it: ${changed} has changed since systemd-networkd read it. Restart systemd-networkd`,
        ],
        ran.log,
      )
      assert.deepEqual(kernelState(node), state)
      rmSync(changed)
      const gone = await node.agent({ interfaces: [requestedInterface(nic, 0)] })
      assert.equal(gone.report?.interfaces[0]?.reason, 'Configured', gone.log)
    }),
  ),
)

test('a NIC of a DHCP client that the agent cannot stop is refused', { skip: !hasUdhcpc && 'needs busybox' }, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      node.ip('link', 'set', 'ens4', 'up')
      const client = startUdhcpc(node, 'ens4')
      end(() => client.stop())
      await eventually(() => assert.match(node.exec('cat', '/proc/net/packet'), / 0800 /), { within: 30_000 })
      const [nic] = node.nics
      assert.ok(nic)
      const ran = await node.agent({ interfaces: [requestedInterface(nic, 0)] })
      assert.deepEqual(
        [ran.report?.interfaces[0]?.reason, ran.report?.interfaces[0]?.message],
        [
          'DhcpClientActive',
          'a DHCP client runs on ens4: a client such as udhcpc or dhcpcd has a packet socket on it. Stop it for this NIC',
        ],
        ran.log,
      )
      const refuse = await node.agent({ interfaces: [requestedInterface(nic, 0)] }, { NETWORK_TAKEOVER: 'refuse' })
      assert.equal(refuse.report?.verdict, 'Configured', refuse.log)
    }),
  ),
)

test('a take-over that is killed at any step is rolled back, and networkd has its lease again', needsNetworkd, () =>
  withNode({ nics: 1 }, node =>
    ending(async end => {
      const [nic] = node.nics
      assert.ok(nic)
      const dhcp = startDhcp(node, nic)
      end(() => dhcp.stop())
      const networkd = await startLiveNetworkd(node, dhcpFile)
      end(() => networkd.stop())
      await leased(node, nic)
      const agent = await bundled('test/rigs/host/killable-agent.ts')
      const request = {
        ...{ version: 1, mode: 'apply', nodeName: 'worker-1', generation: 1, specHash: '' },
        ...{ nodeAddresses: ['10.0.0.10'], interfaces: [requestedInterface(nic, 0)] },
      }
      const killedAfter = async (steps: number) => {
        const killable = [agent, node.root, String(steps), 'off', JSON.stringify(request)]
        return node.execute('sh', '-c', '"$@" || echo killed', 'sh', 'setsid', '--wait', process.execPath, ...killable)
      }
      let killed = 0
      for (let steps = 1; (await killedAfter(steps)).includes('killed'); steps += 3) {
        killed++
        const recovered = await node.agent({ mode: 'cleanup', interfaces: [] })
        assert.equal(recovered.report?.verdict, 'Removed', recovered.log)
        await leased(node, nic)
        assert.match(node.ip('address', 'show', 'ens4'), /inet 10\.100\.0\.10\/24 .*dynamic/, `after ${steps} steps`)
        assert.deepEqual(kernelState(node)['rules'], [], `after ${steps} steps`)
        assert.deepEqual(
          Object.keys(diskOf(node, path => path.includes('multinic0') && !path.includes('/backup/'))),
          [],
        )
      }
      assert.ok(killed > 8, `killed ${killed} times`)
      assert.ok(kernelState(node)['links']?.includes('multinic0 up 1450'))
    }),
  ),
)
