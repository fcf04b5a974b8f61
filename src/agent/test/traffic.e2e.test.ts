/**
 * The same traffic after a reboot: udev with networkd, and udev with NetworkManager, restore the rules and routes from the
 * agent's files, and no packet leaves by the wrong NIC.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { hasNetworkd, hasUdev, runUdev, startNetworkd } from '../../../test/rigs/host/boot.ts'
import { securePorts } from '../../../test/rigs/host/cloud.ts'
import { kernelState } from '../../../test/rigs/host/kernel-state.ts'
import {
  hasNetworkManager,
  makeNetworkManagerHost,
  startNetworkManager,
} from '../../../test/rigs/host/network-manager.ts'
import { type RigNode, withNode } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'
import {
  addPrimary6,
  lostPings,
  prepareTraffic,
  primaryAddresses,
  type TrafficCase,
  trafficCases,
} from './traffic.fixture.ts'

const primary =
  'network:\n  version: 2\n  ethernets:\n    ens3:\n      addresses: [10.0.0.10/24, "fd00:ff::10/64"]\n      routes: [{to: 0.0.0.0/0, via: 10.0.0.1}, {to: "::/0", via: "fd00:ff::1"}]\n'

interface Boot {
  skip: string | false
  files?: Record<string, string>
  prepare?(node: RigNode): void
  /** Starts the daemon; returns how to stop it. */
  start(node: RigNode): Promise<() => Promise<void>>
}

const boots: Record<string, Boot> = {
  networkd: {
    skip: !hasNetworkd && 'needs Netplan and networkd',
    files: { '/etc/netplan/50-cloud-init.yaml': primary },
    start: async node => startNetworkd(node, {}).stop,
  },
  NetworkManager: {
    skip: !(hasNetworkManager && hasUdev) && 'needs NetworkManager',
    prepare: makeNetworkManagerHost,
    async start(node) {
      node.bringUpPrimary()
      addPrimary6(node)
      await runUdev(node)
      return (await startNetworkManager(node)).stop
    },
  },
}

async function run(entry: TrafficCase, boot: Boot, node: RigNode): Promise<void> {
  boot.prepare?.(node)
  const { interfaces, peers = {} } = prepareTraffic(entry, node)
  try {
    const input = { interfaces, nodeAddresses: primaryAddresses }
    const ran = await node.agent(input)
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    const { rules, main = [] } = kernelState(node)
    const ours = (lines: readonly string[]) => lines.filter(line => line.includes('multinic')).sort()
    await node.reboot()
    entry.wire?.(node)
    securePorts(node, primaryAddresses, interfaces)
    const stop = await boot.start(node)
    try {
      await eventually(
        () => {
          const after = kernelState(node)
          assert.deepEqual([after['rules'], ours(after['main'] ?? [])], [rules, ours(main)])
          assert.doesNotMatch(node.ip('-6', 'address'), /tentative/)
        },
        { within: 60_000, every: 250 },
      )
      assert.deepEqual(await lostPings(node, entry.pings, peers), [], readFileSync(node.path('boot.log'), 'utf8'))
      const again = await node.agent(input)
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
    } finally {
      await stop()
    }
  } finally {
    for (const peer of Object.values(peers)) peer.remove()
  }
}

suite('traffic after a reboot', { concurrency: 2 }, () => {
  // The bridges of Pods do not outlive a boot.
  for (const [daemon, boot] of Object.entries(boots))
    for (const [name, entry] of Object.entries(trafficCases).filter(([name]) => !name.includes('Pod')))
      test(`${name}, with ${daemon}`, { skip: boot.skip }, () =>
        withNode({ ...entry.options, files: boot.files ?? {} }, node => run(entry, boot, node)),
      )
})
