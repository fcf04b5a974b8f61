/**
 * Attacks by reboots. networkd or NetworkManager itself applies the agent's files, which leaves the same state as the apply
 * (F20, F21). udevd and the daemon keep running and have our files loaded: a removal must succeed at once, and hold (F19).
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasNetworkd, hasUdev, startNetworkd, startUdev } from '../rigs/host/boot.ts'
import { kernelState, routesInTable } from '../rigs/host/kernel-state.ts'
import { hasNetworkManager, makeNetworkManagerHost, startNetworkManager } from '../rigs/host/network-manager.ts'
import { type AgentResult, diskOf, type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { eventually } from '../support/eventually.ts'
import { type Attack, attacks } from './attack.ts'

const primary =
  'network:\n  version: 2\n  ethernets:\n    ens3:\n      addresses: [10.0.0.10/24]\n      routes: [{to: 0.0.0.0/0, via: 10.0.0.1}]\n'

interface Daemon {
  nmcli?(...args: string[]): string
  stop(): Promise<void>
}

interface Backend {
  skip: string | false
  prepare(node: RigNode): void
  start(node: RigNode): Promise<Daemon>
}

const backends: Record<string, Backend> = {
  networkd: {
    skip: !hasNetworkd && 'needs Netplan and networkd',
    prepare: () => {},
    start: async node => startNetworkd(node, { liveUdev: true }),
  },
  NetworkManager: {
    skip: !(hasNetworkManager && hasUdev) && 'needs NetworkManager and udev',
    prepare: makeNetworkManagerHost,
    start: node => startNetworkManager(node, { liveUdev: true }),
  },
}

/** Milliseconds. udevd looks for changed files at most every three seconds. */
const udevCache = 3_100
const nothing = { addresses: [], rules: [], routes: [], files: [] }

/** Everything on our NICs that a removal must give back. */
function nicsOf(node: RigNode): unknown {
  const links = JSON.parse(node.ip('-j', '-d', 'link', 'show')) as Record<string, unknown>[]
  return links
    .filter(link => node.nics.some(nic => nic.macAddress === link['address']))
    .map(link => [link['ifname'], link['mtu'], (link['altnames'] as string[] | undefined)?.toSorted()])
}

function ours(node: RigNode): unknown {
  const { addresses = [], rules = [] } = kernelState(node)
  return {
    addresses: addresses.filter(line => !line.startsWith('ens3')),
    rules,
    routes: [100, 101].flatMap(table => routesInTable(node, table)),
    files: Object.keys(diskOf(node, path => path.includes('multinic') && !path.includes('backup'))),
  }
}

/**
 * What an apply and a boot must leave alike. Left out: the broadcast address and the flags of link-local addresses, and who
 * added the link-local route of the main table.
 */
function stateOf(node: RigNode): unknown {
  const lines = (text: string) =>
    text
      .split('\n')
      .filter(line => line !== '' && !/table local|linkdown/.test(line))
      .map(line => (line.startsWith('fe80::/64') && !line.includes('table') ? line.replace(/ proto \w+/, '') : line))
      .map(line => line.trim())
      .sort()
  return ['multinic0', 'multinic1'].map(device => ({
    addresses: node
      .ip('-o', 'address', 'show', 'dev', device)
      .match(/inet6? \S+/g)
      ?.sort(),
    routes: ['-4', '-6'].flatMap(family => lines(node.ip(family, 'route', 'show', 'table', 'all', 'dev', device))),
    rules: ['-4', '-6'].flatMap(family => lines(node.ip(family, 'rule', 'list'))),
  }))
}

/** A machine so slow that networkd reacts to a link that goes down before the next command runs. */
function slowMachine(node: RigNode): Record<string, string> {
  mkdirSync(node.path('bin'), { recursive: true })
  writeFileSync(
    node.path('bin/ip'),
    `#!/bin/sh
if [ "$1 $2" = "-6 -batch" ]; then
  for try in 1 2 3 4 5 6 7 8 9 10; do
    if ! /sbin/ip -6 rule | grep -q 'lookup 10[01]'; then break; fi
    sleep 0.1
  done
fi
exec /sbin/ip "$@"
`,
    { mode: 0o755 },
  )
  return { PATH: `${node.path('bin')}:/usr/sbin:/usr/bin:/sbin:/bin` }
}

/** The daemon has seen that the second NIC is up: NetworkManager manages it again, networkd leaves it to the kernel. */
function reacted(node: RigNode, { nmcli }: Daemon): void {
  if (nmcli) assert.match(nmcli('-t', '-f', 'DEVICE,STATE', 'device'), /ens5:(dis)?connect/)
  else assert.match(node.ip('address', 'show', 'dev', 'ens5'), /fe80:(?!.*tentative)/)
}

function atOnce({ report, log }: AgentResult, verdict: string): void {
  assert.equal(report?.verdict, verdict, log)
  assert.doesNotMatch(log, /roll(ing)? back/)
}

const names = [
  ['ens4', 1500, ['enp0s4']],
  ['ens5', 1500, ['enp0s5']],
]
const configured = [
  ['multinic0', 1450, ['enp0s4', 'ens4', 'port-fa163e000001']],
  ['multinic1', 1450, ['enp0s5', 'ens5', 'port-fa163e000002']],
]

function rebooted(name: string, { skip, prepare, start }: Backend, dual: boolean): Attack {
  let running: Daemon[] = []
  const stop = async () => {
    for (const daemon of running) await daemon.stop()
    running = []
  }
  /** udevd, and the daemon that configures NICs, which is returned. */
  const boot = async (node: RigNode) => {
    running = [await startUdev(node)]
    const daemon = await start(node)
    running.unshift(daemon)
    return daemon
  }
  const requested = (node: RigNode) =>
    node.nics.map((nic, id) => requestedInterface(nic, id, dual ? { addresses: [nic.address6] } : {}))
  let daemon: Daemon
  return {
    finding: 'F19, F20, F21',
    name: `${name}: ${dual ? 'dual-stack' : 'IPv4'} NICs are the same after a reboot, are removed at once, and stay removed`,
    skip,
    options: { nics: 2, files: { '/etc/netplan/50-cloud-init.yaml': primary } },
    prepare: async node => {
      prepare(node)
      await boot(node)
      await eventually(() => assert.deepEqual(nicsOf(node), names))
      const interfaces = requested(node)
      const first = await node.agent({ interfaces })
      assert.equal(first.report?.verdict, 'Configured', first.log)
      await eventually(() => assert.deepEqual(nicsOf(node), configured))
      await eventually(() => assert.doesNotMatch(node.ip('address'), /tentative/))
      const applied = stateOf(node)
      await stop()

      await node.reboot()
      if (name === 'NetworkManager') node.bringUpPrimary()
      daemon = await boot(node)
      await eventually(
        async () => {
          const check = await node.agent({ mode: 'check', interfaces })
          assert.equal(check.report?.verdict, 'InSync', check.log + readFileSync(node.path('boot.log')))
        },
        { within: 20_000 },
      )
      await eventually(() => assert.doesNotMatch(node.ip('address'), /tentative/))
      assert.deepEqual([stateOf(node), nicsOf(node)], [applied, configured])
      await sleep(udevCache)
      atOnce(await node.agent({ interfaces: interfaces.slice(0, 1) }, slowMachine(node)), 'Configured')
      assert.deepEqual(nicsOf(node), [configured[0], names[1]])
      await sleep(udevCache)
    },
    request: () => ({ mode: 'cleanup', interfaces: [] }),
    env: slowMachine,
    expect: async (result, node) => {
      atOnce(result, 'Removed')
      assert.deepEqual(ours(node), nothing)
      // networkd and NetworkManager still run: a link that goes up is what they react to.
      for (const nic of node.nics) node.ip('link', 'set', nic.name, 'up')
      await eventually(() => reacted(node, daemon), { within: 20_000 })
      assert.deepEqual([ours(node), nicsOf(node)], [nothing, names])
      await stop()
      daemon = await boot(node)
      await eventually(() => reacted(node, daemon), { within: 20_000 })
      assert.deepEqual([ours(node), nicsOf(node)], [nothing, names])
    },
    end: stop,
  }
}

attacks(
  'reboots',
  Object.entries(backends).flatMap(([name, backend]) => [false, true].map(dual => rebooted(name, backend, dual))),
)
