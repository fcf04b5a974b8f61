/**
 * After a reboot the node has the same NICs without any controller (G10): the real udev, networkd and NetworkManager apply
 * the agent's files, and the next run changes nothing.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasNetworkd, hasUdev, runUdev, startNetworkd } from '../../../test/rigs/host/boot.ts'
import { kernelState, routesInTable } from '../../../test/rigs/host/kernel-state.ts'
import {
  hasNetworkManager,
  makeNetworkManagerHost,
  startNetworkManager,
} from '../../../test/rigs/host/network-manager.ts'
import { type RigNode, requestedInterface, withNode } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

const primary =
  'network:\n  version: 2\n  ethernets:\n    ens3:\n      addresses: [10.0.0.10/24]\n      routes: [{to: 0.0.0.0/0, via: 10.0.0.1}]\n'

/** What must be equal, in any order. NetworkManager's connected route has the kernel's protocol. */
function state(node: RigNode): Record<string, string[]> {
  const { links = [], addresses = [], main = [], rules = [] } = kernelState(node)
  const ours = (lines: string[]) => lines.filter(line => line.startsWith('multinic')).sort()
  const tables = [100, 101]
    .flatMap(number => routesInTable(node, number))
    .map(line => line.replace('proto kernel', 'proto static'))
  const settings = ['multinic0', 'multinic1'].flatMap(device => [
    ...['arp_ignore', 'arp_announce', 'rp_filter'].map(key => `ipv4/conf/${device}/${key}`),
    ...['accept_ra', 'autoconf'].map(key => `ipv6/conf/${device}/${key}`),
  ])
  return {
    links: ours(links),
    addresses: ours(addresses),
    main: main.filter(line => line.includes('multinic')).sort(),
    rules: rules.sort(),
    tables: tables.sort(),
    settings: settings.map(name => `${name} ${node.exec('cat', `/proc/sys/net/${name}`).trim()}`),
  }
}

type RequestedInterfaces = ReturnType<typeof requestedInterface>[]

async function sameAs(node: RigNode, before: Record<string, string[]>): Promise<void> {
  await eventually(() => assert.deepEqual(state(node), before, readFileSync(node.path('boot.log'), 'utf8')), {
    within: 60_000,
    every: 250,
  })
}

/** The state is the same, and the agent changes nothing. */
async function afterBoot(
  node: RigNode,
  before: Record<string, string[]>,
  interfaces: RequestedInterfaces,
): Promise<void> {
  await sameAs(node, before)
  const ran = await node.agent({ interfaces })
  assert.equal(ran.report?.verdict, 'Configured', ran.log)
  assert.equal(ran.report?.changed, 0, ran.log)
}

/** Two NICs, one of them with both address families, configured by the agent. */
async function configured(
  node: RigNode,
): Promise<{ interfaces: RequestedInterfaces; before: Record<string, string[]> }> {
  const interfaces = node.nics.map((nic, id) =>
    requestedInterface(nic, id, id === 0 ? { addresses: [nic.address6] } : {}),
  )
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

test('after a reboot, udev and networkd restore the agent’s state from our Netplan files', needsNetworkd, () =>
  withNode(onNetplan, async node => {
    const { interfaces, before } = await configured(node)
    await node.reboot()
    await withNetworkd(node, {}, () => afterBoot(node, before, interfaces))
  }),
)

test('a cloud-init file with our MAC addresses does not take effect at boot', needsNetworkd, () =>
  withNode(onNetplan, async node => {
    const { before } = await configured(node)
    const [a, b] = node.nics
    const claims = [
      `    ens4:\n      match: {macaddress: "${a?.macAddress}"}\n      dhcp4: true\n`,
      `    ens5:\n      match: {macaddress: "${b?.macAddress}"}\n      set-name: ens5\n      dhcp4: true\n`,
    ]
    writeFileSync(node.path('etc/netplan/50-cloud-init.yaml'), `${primary}${claims.join('')}`)
    await node.reboot()
    await withNetworkd(node, {}, () => sameAs(node, before))
  }),
)

test('a restart of networkd before any reboot keeps our configuration', needsNetworkd, () =>
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
  'after a reboot, udev and NetworkManager restore the agent’s state from our keyfiles',
  {
    skip: !hasBoth && 'needs NetworkManager',
  },
  () =>
    withNode({ nics: 2 }, async node => {
      makeNetworkManagerHost(node)
      const { interfaces, before } = await configured(node)
      await node.reboot()
      node.bringUpPrimary()
      await runUdev(node)
      const manager = await startNetworkManager(node)
      try {
        await afterBoot(node, before, interfaces)
        await manager.restart()
        await afterBoot(node, before, interfaces)
        const changed = await node.agent({ interfaces: interfaces.map(nic => ({ ...nic, mtu: 1400 })) })
        assert.equal(changed.report?.verdict, 'Configured', changed.log)
        assert.ok(kernelState(node)['links']?.includes('multinic1 up 1400'))
      } finally {
        await manager.stop()
      }
    }),
)
