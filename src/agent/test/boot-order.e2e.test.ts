/**
 * Which file wins at boot, decided by the real udev, networkd and NetworkManager: ours, or one that the agent refuses by name.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { hasNetworkd, hasUdev, runUdev, startNetworkd } from '../../../test/rigs/host/boot.ts'
import { hasBus, startBus } from '../../../test/rigs/host/dbus.ts'
import { kernelState, routesInTable } from '../../../test/rigs/host/kernel-state.ts'
import { hasNetworkManager, startNetworkManager } from '../../../test/rigs/host/network-manager.ts'
import { type RigNode, requestedInterface, withNode } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

const ens3 = '    ens3:\n      addresses: [10.0.0.10/24]\n      routes: [{to: 0.0.0.0/0, via: 10.0.0.1}]\n'
const cloudInit = '/etc/netplan/50-cloud-init.yaml'
const netplan = (entries: string, more = '') => `network:\n  version: 2\n${more}  ethernets:\n${ens3}${entries}`
const onNetplan = { files: { [cloudInit]: netplan('') } }
const needsNetworkd = { skip: !hasNetworkd && 'needs Netplan and networkd' }

const requested = (node: RigNode) => node.nics.map((nic, index) => requestedInterface(nic, index))

function stateOf(node: RigNode): Record<string, string[]> {
  const { links = [], addresses = [], rules = [] } = kernelState(node)
  const ours = (lines: string[]) => lines.filter(line => line.startsWith('multinic')).sort()
  const table = routesInTable(node, 100).map(line => line.replace('proto kernel', 'proto static'))
  const all = JSON.parse(node.ip('-j', 'link', 'show')) as { ifname: string; altnames?: string[] }[]
  const altnames = all.map(({ ifname, altnames = [] }) => [ifname, ...altnames].join(' '))
  return {
    ...{ links: ours(links), altnames: ours(altnames), addresses: ours(addresses) },
    ...{ rules: rules.sort(), table: table.sort() },
  }
}

async function configure(node: RigNode): Promise<Record<string, string[]>> {
  const { report, log } = await node.agent({ interfaces: requested(node) })
  assert.equal(report?.verdict, 'Configured', log)
  return stateOf(node)
}

function write(node: RigNode, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(node.path(path)), { recursive: true })
    writeFileSync(node.path(path), text, { mode: 0o644 })
  }
}

async function bootWithNetworkd(node: RigNode, check: () => Promise<void>): Promise<void> {
  await node.reboot()
  const networkd = startNetworkd(node)
  try {
    await check()
  } finally {
    await networkd.stop()
  }
}

const becomes = (node: RigNode, check: () => void) =>
  eventually(
    () => {
      try {
        check()
      } catch (error) {
        throw new Error(readFileSync(node.path('boot.log'), 'utf8'), { cause: error })
      }
    },
    { within: 60_000, every: 250 },
  )

test('F11: entries of Netplan, udev rules and .link and .network files after ours lose at boot', needsNetworkd, () =>
  withNode({ ...onNetplan, nics: 3 }, async node => {
    const before = await configure(node)
    const [a, b, c] = node.nics.map(nic => nic.macAddress)
    write(node, {
      // Netplan writes a udev rule for `set-name`, and this one sorts after that of our own file.
      [cloudInit]: netplan(`    zz1:\n      match: {macaddress: "${a}"}\n      set-name: zz1\n      dhcp4: true\n`),
      '/etc/udev/rules.d/70-persistent-net.rules': `SUBSYSTEM=="net", ACTION=="add", ATTR{address}=="${b}", NAME="eth1"\n`,
      '/etc/systemd/network/10-custom.link': `[Match]\nMACAddress=${c}\n\n[Link]\nName=custom\n`,
      '/etc/systemd/network/06-all.network': '[Match]\nName=multinic*\n\n[Network]\nDHCP=yes\n',
    })
    await bootWithNetworkd(node, async () => {
      await becomes(node, () => assert.deepEqual(stateOf(node), before))
      const again = await node.agent({ interfaces: requested(node) })
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
    })
  }),
)

for (const [path, text] of Object.entries({
  '/etc/systemd/network/01-all.network': '[Match]\nName=*\n\n[Network]\nDHCP=no\n',
  '/etc/systemd/network/00-custom.link': '[Match]\nMACAddress=fa-16-3e-00-00-01\n\n[Link]\nMTUBytes=1400\n',
  '/usr/local/lib/systemd/network/00-custom.link': '[Match]\nMACAddress=fa-16-3e-00-00-01\n\n[Link]\nMTUBytes=1400\n',
}))
  test(`F11: ${path} wins at boot, and the agent refuses the NIC by its name`, needsNetworkd, () =>
    withNode({ ...onNetplan, nics: 1 }, async node => {
      const before = await configure(node)
      write(node, { [path.replace('/usr/', '/host/usr/')]: text })
      await bootWithNetworkd(node, async () => {
        await becomes(node, () =>
          assert.match(readFileSync(node.path('boot.log'), 'utf8'), /multinic0: .*(UP|Config)/i),
        )
        assert.notDeepEqual(stateOf(node), before)
      })
      const { report, log } = await node.agent({ interfaces: requested(node) })
      assert.equal(report?.interfaces[0]?.reason, 'ForeignFile', log)
      assert.ok(report?.interfaces[0]?.message?.includes(path), log)
    }),
  )

test(
  'F8: a bus that refuses the agent, as AppArmor may do, matters only if NetworkManager renders',
  { skip: !hasBus && 'needs D-Bus' },
  () =>
    withNode({ ...onNetplan, nics: 1 }, async node => {
      mkdirSync(node.path('etc/NetworkManager/system-connections'), { recursive: true })
      const bus = await startBus(node, { denied: 'NameHasOwner' })
      try {
        write(node, { [cloudInit]: netplan('', '  renderer: NetworkManager\n') })
        const { report, log } = await node.agent({ interfaces: requested(node) })
        assert.equal(report?.interfaces[0]?.reason, 'BackendUnknown', log)
        assert.match(report?.interfaces[0]?.message ?? '', /renderer NetworkManager, cannot use .*system_bus_socket/)
        write(node, { [cloudInit]: netplan('') })
        await configure(node)
      } finally {
        await bus.stop()
      }
    }),
)

test(
  'F8: with Netplan’s renderer NetworkManager, NetworkManager keeps the NIC as it is, also after a restart and a reboot',
  {
    skip: !(hasNetworkManager && hasUdev) && 'needs NetworkManager and udev',
  },
  () =>
    withNode({ nics: 1, files: { [cloudInit]: netplan('', '  renderer: NetworkManager\n') } }, async node => {
      let manager = await startNetworkManager(node)
      const stateIs = (expected: RegExp) =>
        eventually(() => assert.match(manager.nmcli('-t', '-f', 'DEVICE,STATE,CONNECTION', 'device'), expected), {
          within: 60_000,
        })
      try {
        await stateIs(/^ens4:connecting.*:Wired connection 1$/m)
        const { report, log } = await node.agent({ interfaces: requested(node) })
        assert.equal(report?.verdict, 'Configured', log)
        assert.equal(report?.backend?.kind, 'networkmanager', log)
        const before = stateOf(node)
        await stateIs(/^multinic0:unmanaged:/m)
        const again = await node.agent({ interfaces: requested(node) })
        assert.deepEqual([again.report?.changed, again.report?.backend?.kind], [0, 'networkmanager'], again.log)

        await manager.restart()
        await stateIs(/^multinic0:unmanaged:/m)
        assert.deepEqual(stateOf(node), before)

        await manager.stop()
        await node.reboot()
        rmSync(node.path('nm/run'), { recursive: true })
        node.ip('link', 'set', 'lo', 'up')
        await runUdev(node)
        manager = await startNetworkManager(node)
        await stateIs(/^multinic0:connected:multinic0$/m)
        await eventually(() => assert.deepEqual(stateOf(node), before), { within: 60_000 })
      } finally {
        await manager.stop()
      }
    }),
)
