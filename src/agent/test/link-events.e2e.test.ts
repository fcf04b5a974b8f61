/**
 * What others do to the link of a configured NIC: beside systemd-networkd, a NIC has all of its routes and rules again once its
 * link is up again, with no run of the agent.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasNetworkd, startNetworkd } from '../../../test/rigs/host/boot.ts'
import { kernelState } from '../../../test/rigs/host/kernel-state.ts'
import { type RigNode, requestedInterface, withNode } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

const primary =
  'network:\n  version: 2\n  ethernets:\n    ens3:\n      addresses: [10.0.0.10/24]\n      routes: [{to: 0.0.0.0/0, via: 10.0.0.1}]\n'

/** With the routes of the NICs' own tables. */
function stateOf(node: RigNode): Record<string, unknown> {
  const tables = [100, 101].flatMap(table =>
    ['-4', '-6'].map(family => node.ip(family, 'route', 'show', 'table', String(table)).trim().split('\n').sort()),
  )
  return { ...kernelState(node), tables }
}

const events: Record<string, (node: RigNode) => Promise<void>> = {
  'somebody sets the link down and up': async node => {
    node.ip('link', 'set', 'multinic0', 'down')
    await sleep(300)
    node.ip('link', 'set', 'multinic0', 'up')
  },
  'the carrier is lost for a second': async node => {
    node.fabricIp('link', 'set', 'p1', 'down')
    await sleep(1_000)
    node.fabricIp('link', 'set', 'p1', 'up')
  },
}

for (const [name, event] of Object.entries(events))
  test(`${name}: networkd restores all routes`, { skip: !hasNetworkd && 'needs Netplan and networkd' }, () =>
    withNode({ nics: 2, files: { '/etc/netplan/50-cloud-init.yaml': primary } }, async node => {
      const interfaces = node.nics.map((nic, index) =>
        requestedInterface(nic, index, {
          addresses: [nic.address6],
          routes: [
            { destination: '::/0', nexthop: nic.gateway6 },
            { destination: `172.${20 + index}.0.0/16`, nexthop: nic.gateway },
          ],
        }),
      )
      const ran = await node.agent({ interfaces })
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      const log = () => readFileSync(node.path('boot.log'), 'utf8')
      const networkd = startNetworkd(node, { generated: false })
      try {
        await eventually(() => assert.match(log(), /multinic1: .*(Configured|Link UP)/i), { within: 60_000 })
        await sleep(2_000)
        const before = stateOf(node)
        await event(node)
        await eventually(() => assert.deepEqual(stateOf(node), before, log()), { within: 20_000, every: 250 })
        const check = await node.agent({ mode: 'check', interfaces })
        assert.equal(check.report?.verdict, 'InSync', check.log)
      } finally {
        await networkd.stop()
      }
    }),
  )
