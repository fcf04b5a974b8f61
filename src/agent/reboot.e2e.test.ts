/**
 * After a reboot the node has the same NICs without any controller (G10): the files that the agent left are applied by the
 * real programs, and the next agent finds nothing to change.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasNetworkd, hasUdev, runUdev, startNetworkd } from '../../test/rigs/host/boot.ts'
import { kernel, table } from '../../test/rigs/host/kernel-state.ts'
import { hasNetworkManager, startNetworkManager } from '../../test/rigs/host/network-manager.ts'
import { type RigNode, wish, withNode } from '../../test/rigs/host/node.ts'
import { eventually } from '../../test/support/eventually.ts'

const primary =
  'network:\n  version: 2\n  ethernets:\n    ens3:\n      addresses: [10.0.0.10/24]\n      routes: [{to: 0.0.0.0/0, via: 10.0.0.1}]\n'

/** What must be equal, in no order; the connected route of NetworkManager has the kernel's protocol. */
function state(node: RigNode): Record<string, string[]> {
  const { links = [], addresses = [], rules = [] } = kernel(node)
  const ours = (lines: string[]) => lines.filter(line => line.startsWith('multinic')).sort()
  const tables = [100, 101]
    .flatMap(number => table(node, number))
    .map(line => line.replace('proto kernel', 'proto static'))
  const settings = ['multinic0', 'multinic1'].flatMap(device => [
    ...['arp_ignore', 'arp_announce', 'rp_filter'].map(key => `ipv4/conf/${device}/${key}`),
    ...['accept_ra', 'autoconf'].map(key => `ipv6/conf/${device}/${key}`),
  ])
  return {
    links: ours(links),
    addresses: ours(addresses),
    rules: rules.sort(),
    tables: tables.sort(),
    settings: settings.map(name => `${name} ${node.exec('cat', `/proc/sys/net/${name}`).trim()}`),
  }
}

type Wishes = ReturnType<typeof wish>[]

async function sameAs(node: RigNode, before: Record<string, string[]>): Promise<void> {
  await eventually(() => assert.deepEqual(state(node), before, readFileSync(node.path('boot.log'), 'utf8')), {
    within: 60_000,
    every: 250,
  })
}

/** The same state, and an agent that finds nothing to change. */
async function afterBoot(node: RigNode, before: Record<string, string[]>, interfaces: Wishes): Promise<void> {
  await sameAs(node, before)
  const ran = await node.agent({ interfaces })
  assert.equal(ran.report?.verdict, 'Configured', ran.log)
  assert.equal(ran.report?.changed, 0, ran.log)
}

/** Two NICs, one of them with both families, as the agent made them. */
async function configured(node: RigNode): Promise<{ interfaces: Wishes; before: Record<string, string[]> }> {
  const interfaces = node.nics.map((nic, id) => wish(nic, id, id === 0 ? { addresses: [nic.address6] } : {}))
  const ran = await node.agent({ interfaces })
  assert.equal(ran.report?.verdict, 'Configured', ran.log)
  return { interfaces, before: state(node) }
}

async function withNetworkd(
  node: RigNode,
  options: Parameters<typeof startNetworkd>[1],
  check: () => Promise<void>,
): Promise<void> {
  const networkd = startNetworkd(node, options)
  try {
    await check()
  } finally {
    await networkd.stop()
  }
}

const onNetplan = { nics: 2, files: { '/etc/netplan/50-cloud-init.yaml': primary } }
const needsNetworkd = { skip: !hasNetworkd && 'needs Netplan and networkd' }

test('udev and networkd make of our Netplan files what the agent made', needsNetworkd, () =>
  withNode(onNetplan, async node => {
    const { interfaces, before } = await configured(node)
    await node.reboot()
    await withNetworkd(node, {}, () => afterBoot(node, before, interfaces))
  }),
)

test('a file of cloud-init that claims our MACs does not win at boot', needsNetworkd, () =>
  withNode(onNetplan, async node => {
    const { before } = await configured(node)
    const [a, b] = node.nics
    const claims = [
      `    ens4:\n      match: {macaddress: "${a?.mac}"}\n      dhcp4: true\n`,
      `    ens5:\n      match: {macaddress: "${b?.mac}"}\n      set-name: ens5\n      dhcp4: true\n`,
    ]
    writeFileSync(node.path('etc/netplan/50-cloud-init.yaml'), `${primary}${claims.join('')}`)
    await node.reboot()
    await withNetworkd(node, {}, () => sameAs(node, before))
  }),
)

test('a networkd that is started again, before any reboot, keeps our work', needsNetworkd, () =>
  withNode(onNetplan, async node => {
    const { interfaces, before } = await configured(node)
    await withNetworkd(node, { generated: false }, async () => {
      const seen = /multinic1: .*(Configuring|Link UP)/i
      await eventually(() => assert.match(readFileSync(node.path('boot.log'), 'utf8'), seen), { within: 60_000 })
      await sleep(2_000)
      await afterBoot(node, before, interfaces)
    })
  }),
)

const hasBoth = hasNetworkManager && hasUdev
test(
  'udev and NetworkManager make of our keyfiles what the agent made',
  {
    skip: !hasBoth && 'needs NetworkManager',
  },
  () =>
    withNode({ nics: 2 }, async node => {
      rmSync(node.path('etc/netplan'), { recursive: true })
      mkdirSync(node.path('etc/NetworkManager/system-connections'), { recursive: true })
      const { interfaces, before } = await configured(node)
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
    }),
)
