/**
 * The agent next to a real NetworkManager with automatic connections: neither overwrites the other, and a restart of
 * NetworkManager changes nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { kernelState, macsOf, routesInTable } from '../../../test/rigs/host/kernel-state.ts'
import {
  hasNetworkManager,
  makeNetworkManagerHost,
  startNetworkManager,
} from '../../../test/rigs/host/network-manager.ts'
import { createNode, diskOf, foreignState, requestedInterface } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

const skip = !hasNetworkManager && 'NetworkManager is not installed'

test('a NIC is released from an automatic connection, survives a restart of NetworkManager, and is returned', {
  skip,
}, async () => {
  const node = await createNode({ nics: 1 })
  makeNetworkManagerHost(node)
  const [a] = node.nics
  assert.ok(a)
  const manager = await startNetworkManager(node)
  try {
    const before = foreignState(node, macsOf(node))
    await eventually(() => assert.match(manager.nmcli('-t', '-f', 'DEVICE,STATE', 'device'), /ens4:connecting/), {
      within: 60_000,
    })

    const interfaces = [requestedInterface(a, 0, { addresses: [a.address6] })]
    const first = await node.agent({ interfaces })
    assert.equal(first.report?.verdict, 'Configured', first.log)
    assert.equal(first.report?.backend?.kind, 'networkmanager')
    const state = { ...kernelState(node), table: routesInTable(node, 100) }
    assert.ok(kernelState(node)['addresses']?.includes('multinic0 10.100.0.10/24 noprefixroute'))
    assert.deepEqual(Object.keys(diskOf(node, path => path.includes('multinic'))), [
      '/etc/NetworkManager/system-connections/multinic0.nmconnection',
      ...['multinic.nft', 'primary-routes.batch', 'primary-rules.batch', 'primary-rules6.batch'].map(
        name => `/etc/multinic/${name}`,
      ),
      '/etc/sysctl.d/90-multinic0.conf',
      '/etc/systemd/network/05-multinic0.link',
      '/etc/systemd/system/multi-user.target.d/50-multinic.conf',
      ...['nft', 'primary'].map(name => `/etc/systemd/system/multinic-${name}.service`),
      ...['nftables.service', 'sysinit.target'].map(name => `/etc/systemd/system/${name}.d/50-multinic.conf`),
      '/etc/udev/rules.d/05-multinic0.rules',
    ])
    assert.equal(foreignState(node, macsOf(node)), before)
    // The agent does not wait for NetworkManager to react: it has released the NIC, whatever happens to it.
    assert.match(manager.nmcli('-t', '-f', 'DEVICE,STATE', 'device'), /multinic0:unmanaged/)
    manager.nmcli('connection', 'reload')
    manager.nmcli('general', 'reload')
    for (const to of ['down', 'up']) node.fabricIp('link', 'set', 'p1', to)
    await eventually(() => assert.match(node.ip('link', 'show', 'multinic0'), /LOWER_UP/))
    manager.nmcli('-t', '-f', 'DEVICE,STATE', 'device')
    assert.deepEqual({ ...kernelState(node), table: routesInTable(node, 100) }, state)

    await manager.restart()
    await eventually(() => assert.match(manager.nmcli('-t', '-f', 'STARTUP', 'general'), /started/), { within: 60_000 })
    // NetworkManager would react within this time.
    await sleep(3_000)
    assert.deepEqual({ ...kernelState(node), table: routesInTable(node, 100) }, state)
    const second = await node.agent({ interfaces })
    assert.deepEqual([second.report?.verdict, second.report?.changed], ['Configured', 0], second.log)

    const clean = await node.agent({ mode: 'cleanup', interfaces: [] })
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    await eventually(() => assert.match(manager.nmcli('-t', '-f', 'DEVICE,STATE', 'device'), /ens4:connect/), {
      within: 60_000,
    })
    assert.doesNotMatch(manager.nmcli('-t', '-f', 'NAME', 'connection'), /multinic/)
    assert.deepEqual(kernelState(node)['rules'], [])
  } finally {
    await manager.stop()
    node.remove()
  }
})
