/**
 * After a reboot the node has the same NICs without any controller (G10): the files that the agent left are applied by the
 * real programs, and the next agent finds nothing to change.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../test/eventually.ts'
import { hasNetworkd, hasUdev, runUdev, startNetworkd } from '../../test/rigs/host/boot.ts'
import { hasNetworkManager, startNetworkManager } from '../../test/rigs/host/network-manager.ts'
import { createNode, type RigNode, wish } from '../../test/rigs/host/node.ts'
import { kernel, table } from '../../test/rigs/host/seen.ts'

const primary =
  'network:\n  version: 2\n  ethernets:\n    ens3:\n      addresses: [10.0.0.10/24]\n      routes: [{to: 0.0.0.0/0, via: 10.0.0.1}]\n'

/** What must be equal, in no order; the connected route of NetworkManager has the kernel's protocol. */
function state(node: RigNode): Record<string, string[]> {
  const { links = [], addresses = [], rules = [] } = kernel(node)
  const ours = (lines: string[]) => lines.filter(line => line.startsWith('multinic')).sort()
  const tables = [100, 101]
    .flatMap(number => table(node, number))
    .map(line => line.replace('proto kernel', 'proto static'))
  const settings = ['ipv4/conf/multinic0/arp_ignore', 'ipv4/conf/multinic1/rp_filter', 'ipv6/conf/multinic0/accept_ra']
  return {
    links: ours(links),
    addresses: ours(addresses),
    rules: rules.sort(),
    tables: tables.sort(),
    settings: settings.map(name => `${name} ${node.exec('cat', `/proc/sys/net/${name}`).trim()}`),
  }
}

async function afterBoot(
  node: RigNode,
  before: Record<string, string[]>,
  interfaces: ReturnType<typeof wish>[],
): Promise<void> {
  await eventually(() => assert.deepEqual(state(node), before, readFileSync(node.path('boot.log'), 'utf8')), {
    within: 30_000,
    every: 250,
  })
  const ran = await node.agent({ interfaces })
  assert.equal(ran.report?.verdict, 'Configured', ran.log)
  assert.equal(ran.report?.changed, 0, ran.log)
}

test('udev and networkd make of our Netplan files what the agent made', {
  skip: !hasNetworkd && 'needs Netplan and networkd',
}, async () => {
  const node = await createNode({ nics: 2, files: { '/etc/netplan/50-cloud-init.yaml': primary } })
  try {
    const interfaces = node.nics.map((nic, id) => wish(nic, id, id === 0 ? { addresses: [nic.address6] } : {}))
    const ran = await node.agent({ interfaces })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    const before = state(node)
    await node.reboot()
    const networkd = startNetworkd(node)
    try {
      await afterBoot(node, before, interfaces)
    } finally {
      await networkd.stop()
    }
  } finally {
    node.remove()
  }
})

const hasBoth = hasNetworkManager && hasUdev
test('udev and NetworkManager make of our keyfiles what the agent made', {
  skip: !hasBoth && 'needs NetworkManager',
}, async () => {
  const node = await createNode({ nics: 2 })
  rmSync(node.path('etc/netplan'), { recursive: true })
  mkdirSync(node.path('etc/NetworkManager/system-connections'), { recursive: true })
  try {
    const interfaces = node.nics.map((nic, id) => wish(nic, id, id === 0 ? { addresses: [nic.address6] } : {}))
    const ran = await node.agent({ interfaces })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    const before = state(node)
    await node.reboot()
    node.ip('link', 'set', 'lo', 'up')
    await runUdev(node)
    const manager = await startNetworkManager(node)
    try {
      await afterBoot(node, before, interfaces)
      await manager.restart()
      await afterBoot(node, before, interfaces)
      const changed = await node.agent({ interfaces: interfaces.map(nic => ({ ...nic, mtu: 1400 })) })
      assert.equal(changed.report?.verdict, 'Configured', changed.log)
      assert.ok(kernel(node)['links']?.includes('multinic1 up 1400'))
    } finally {
      await manager.stop()
    }
  } finally {
    node.remove()
  }
})

test('a networkd that is started again, before any reboot, keeps our work', {
  skip: !hasNetworkd && 'needs Netplan and networkd',
}, async () => {
  const node = await createNode({ nics: 2, files: { '/etc/netplan/50-cloud-init.yaml': primary } })
  try {
    const interfaces = node.nics.map((nic, id) => wish(nic, id, id === 0 ? { addresses: [nic.address6] } : {}))
    const ran = await node.agent({ interfaces })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    const before = state(node)
    const networkd = startNetworkd(node, { generated: false })
    try {
      await eventually(
        () => assert.match(readFileSync(node.path('boot.log'), 'utf8'), /multinic1: .*(Configuring|Link UP)/i),
        {
          within: 20_000,
        },
      )
      await sleep(2_000)
      await afterBoot(node, before, interfaces)
    } finally {
      await networkd.stop()
    }
  } finally {
    node.remove()
  }
})
