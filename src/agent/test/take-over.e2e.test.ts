/**
 * A hot-plugged NIC that a real DHCP client configured first is taken over: its lease does not come back, connections over
 * a requested address survive, and a cleanup gives the NIC back to the client.
 */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasNetworkd, startRouter } from '../../../test/rigs/host/boot.ts'
import { hasUdhcpc, openConnection, startDhcp, startMonitor, startUdhcpc } from '../../../test/rigs/host/dhcp.ts'
import { kernelState, macsOf, routesInTable } from '../../../test/rigs/host/kernel-state.ts'
import {
  hasNetworkManager,
  makeNetworkManagerHost,
  startNetworkManager,
} from '../../../test/rigs/host/network-manager.ts'
import { startLiveNetworkd } from '../../../test/rigs/host/networkd.ts'
import { foreignState, requestedInterface } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { dhcpFile, givenBack, leased, mainRoutes, withNic } from './take-over.fixture.ts'

/** Seconds. Short, so that a client that still runs renews it, or loses it. */
const lease = 8

/** Until every lease that exists now has ended, or its client has renewed it. */
const untilExpired = (seconds = lease) => sleep(seconds * 1000)

const skip = !(hasNetworkManager && hasNetworkd) && 'needs NetworkManager and networkd'

test('F3: a NIC that NetworkManager configured by DHCP is taken over without a gap, and given back', { skip }, () =>
  withNic(async (node, nic, end) => {
    makeNetworkManagerHost(node)
    end(startDhcp(node, nic, { lease }))
    const manager = end(await startNetworkManager(node))
    await leased(node, nic)
    const connection = end(await openConnection(node, nic))
    assert.equal(await connection.echo('before'), 'before')
    const foreign = foreignState(node, macsOf(node))

    const interfaces = [requestedInterface(nic, 0)]
    const refused = await node.agent({ interfaces }, { NETWORK_TAKEOVER: 'refuse' })
    assert.equal(refused.report?.interfaces[0]?.reason, 'CarriesDefaultRoute', refused.log)

    const monitor = end(startMonitor(node))
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

    await givenBack(node, nic)
    assert.equal(manager.nmcli('-t', '-f', 'TYPE', 'connection').match(/ethernet/g)?.length, 1)
    assert.equal(foreignState(node, macsOf(node)), foreign)
  }),
)

test('a take-over that fails is rolled back, and NetworkManager has its lease again', { skip }, () =>
  withNic(async (node, nic, end) => {
    makeNetworkManagerHost(node)
    end(startDhcp(node, nic))
    end(await startNetworkManager(node))
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
)

const needsNetworkd = { skip: !hasNetworkd && 'needs networkd' }

test('F18: a NIC that networkd configured by DHCP is taken over without a gap, and given back', needsNetworkd, () =>
  withNic(async (node, nic, end) => {
    end(startDhcp(node, nic, { lease }))
    let networkd = await startLiveNetworkd(node, dhcpFile)
    end({ stop: () => networkd.stop() })
    await leased(node, nic)
    const connection = end(await openConnection(node, nic))
    assert.equal(await connection.echo('before'), 'before')
    const foreign = foreignState(node, macsOf(node))

    const monitor = end(startMonitor(node))
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

    await givenBack(node, nic)
    assert.equal(foreignState(node, macsOf(node)), foreign)
  }),
)

test('F18: a NIC that was configured beside a live client is handed over later', needsNetworkd, () =>
  withNic(async (node, nic, end) => {
    // The take-over starts after a renewal and must end before the next one, when the client takes the address back.
    const longer = 20
    end(startDhcp(node, nic, { lease: longer, router: false }))
    end(await startLiveNetworkd(node, dhcpFile))
    const isLeased = (device: string) => () => assert.match(node.ip('address', 'show', device), /10\.100.* dynamic/)
    await eventually(isLeased('ens4'), { within: 60_000, every: 200 })

    const interfaces = [requestedInterface(nic, 0)]
    const refuse = { NETWORK_TAKEOVER: 'refuse' }
    const refused = await node.agent({ interfaces }, refuse)
    assert.equal(refused.report?.verdict, 'Configured', refused.log)
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
)

test('F3: a NIC with an address and a default route from router advertisements is taken over', needsNetworkd, () =>
  withNic(async (node, nic, end) => {
    // Neutron gives the port of a SLAAC network the address that the NIC derives from its MAC address.
    const address = 'fd00::f816:3eff:fe00:1'
    const isAdvertised = () => {
      assert.match(node.ip('-6', 'address', 'show', nic.name), new RegExp(`inet6 ${address}/64 .*dynamic`))
      assert.match(node.ip('-6', 'route'), /^default .*dev ens4 proto ra/m)
    }
    end(startRouter(node))
    const advertised = '[Match]\nName=ens4\n[Network]\nIPv6AcceptRA=yes\nLinkLocalAddressing=ipv6\n'
    end(await startLiveNetworkd(node, { ...dhcpFile, '10-netplan-all-en.network': advertised }))
    await eventually(isAdvertised, { within: 60_000, every: 200 })
    const interfaces = [requestedInterface(nic, 0, { addresses: [`${address}/64`] })]

    // Without another default route, the NIC may carry the IPv6 traffic of the node.
    const only = await node.agent({ interfaces })
    assert.equal(only.report?.interfaces[0]?.reason, 'CarriesDefaultRoute', only.log)

    node.ip('-6', 'route', 'add', 'default', 'dev', 'ens3', 'metric', '100')
    const foreign = foreignState(node, macsOf(node))
    const taken = await node.agent({ interfaces })
    assert.equal(taken.report?.verdict, 'Configured', taken.log)
    assert.doesNotMatch(node.ip('-6', 'route'), /dev multinic0 proto ra/)
    assert.doesNotMatch(node.ip('-6', 'address', 'show', 'multinic0'), /dynamic/)
    assert.equal(foreignState(node, macsOf(node)), foreign)

    const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    await eventually(isAdvertised, { within: 60_000, every: 200 })
    assert.equal(foreignState(node, macsOf(node)), foreign)
  }),
)

test('networkd is not reloaded while a file of another link differs from what it read', needsNetworkd, () =>
  withNic(async (node, nic, end) => {
    end(startDhcp(node, nic))
    end(await startLiveNetworkd(node, dhcpFile))
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
)

test('a NIC of a DHCP client that the agent cannot stop is refused', { skip: !hasUdhcpc && 'needs busybox' }, () =>
  withNic(async (node, nic, end) => {
    node.ip('link', 'set', 'ens4', 'up')
    end(startUdhcpc(node, 'ens4'))
    await eventually(() => assert.match(node.exec('cat', '/proc/net/packet'), / 0800 /), { within: 30_000 })
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
)
