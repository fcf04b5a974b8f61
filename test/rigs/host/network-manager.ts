/**
 * A real NetworkManager in a rig node, with automatic connections as by default: its own D-Bus, its own /run, and the node's
 * profiles.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { shareUdev, units } from './boot.ts'
import { hasBus, startBus, terminate } from './dbus.ts'
import { createNode, type RigNode, requestedInterface } from './node.ts'

export const hasNetworkManager = existsSync('/usr/sbin/NetworkManager') && hasBus

export interface RigNetworkManager {
  nmcli(...args: string[]): string
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Runs in a mount namespace of its own. Without a read-only /sys, NetworkManager waits for udev. */
const script = (liveUdev: boolean) => `
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
mount --bind "$1/nm/state" /var/lib/NetworkManager
mount --bind "$1/nm/run" /run
${liveUdev ? shareUdev : 'mount -o remount,ro /sys'}
mount --bind "$1/etc/NetworkManager/system-connections" /etc/NetworkManager/system-connections
${units}exec NetworkManager --no-daemon --config="$1/nm/nm.conf" --config-dir="$1/nm/none" --intern-config="$1/nm/none"
`

/** A host with NetworkManager instead of Netplan. */
export function makeNetworkManagerHost(node: RigNode): void {
  rmSync(node.path('etc/netplan'), { recursive: true, force: true })
  mkdirSync(node.path('etc/NetworkManager/system-connections'), { recursive: true })
}

/** Seconds that the agent takes for one NIC as shipped, while NetworkManager tries DHCP on it. */
export async function oneNicSeconds(): Promise<number> {
  const node = await createNode({ nics: 1 })
  makeNetworkManagerHost(node)
  const manager = await startNetworkManager(node)
  try {
    await eventually(() => assert.match(manager.nmcli('-t', '-f', 'DEVICE,STATE', 'device'), /ens4:connecting/), {
      within: 60_000,
    })
    const startedAt = performance.now()
    const { report, log } = await node.agent({ interfaces: node.nics.map((nic, id) => requestedInterface(nic, id)) })
    const seconds = (performance.now() - startedAt) / 1000
    assert.equal(report?.verdict, 'Configured', log)
    return seconds
  } finally {
    await manager.stop()
    node.remove()
  }
}

/** `liveUdev`: the node's udevd runs already. `autoDefault: false`: NetworkManager activates nothing without a profile. */
export async function startNetworkManager(
  node: RigNode,
  { liveUdev = false, autoDefault = true } = {},
): Promise<RigNetworkManager> {
  const { root, namespace } = node
  // A boot starts with an empty /run.
  rmSync(join(root, 'nm/run'), { recursive: true, force: true })
  for (const directory of ['nm/state', 'nm/run', 'etc/NetworkManager/system-connections'])
    mkdirSync(join(root, directory), { recursive: true })
  writeFileSync(
    join(root, 'nm/nm.conf'),
    `[main]\nplugins=keyfile\ndhcp=internal\ndns=none\nauth-polkit=false\n${autoDefault ? '' : 'no-auto-default=*\n'}[keyfile]\nunmanaged-devices=interface-name:ens3\n`,
  )
  const log = openSync(join(root, 'nm/log'), 'a')
  const bus = await startBus(node)
  const { env } = bus
  const nmcli = (...args: string[]) =>
    execFileSync('nmcli', args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const start = async () => {
    const args = [
      `--net=/run/netns/${namespace}`,
      'unshare',
      '-m',
      '--propagation',
      'private',
      'sh',
      '-ec',
      script(liveUdev),
      '_',
      root,
    ]
    const manager = spawn('nsenter', args, { env, stdio: ['ignore', log, log] })
    await eventually(
      () => {
        if (!nmcli('-t', '-f', 'RUNNING,STARTUP', 'general').startsWith('running')) throw new Error('not running')
      },
      { within: 60_000, every: 100 },
    )
    return manager
  }
  let manager = await start()
  return {
    nmcli,
    async restart() {
      await terminate(manager)
      manager = await start()
    },
    async stop() {
      await terminate(manager)
      await bus.stop()
    },
  }
}
