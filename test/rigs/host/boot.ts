/**
 * Boots a rig node: systemd-udevd names the NICs and sets their sysctls, systemd-networkd applies what Netplan generates, all
 * in the node's namespace and with its own /run.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { terminate } from './dbus.ts'
import type { RigNode } from './node.ts'

export const hasUdev = existsSync('/lib/systemd/systemd-udevd')
export const hasNetworkd = hasUdev && existsSync('/lib/systemd/systemd-networkd') && existsSync('/lib/netplan/generate')

const prepare = `
mount -t tmpfs tmpfs /run
mkdir -p /run/udev /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network:systemd-network /run/systemd/netif
mount -t sysfs sysfs /sys
`
const mountFiles = `
for directory in netplan systemd/network udev/rules.d sysctl.d; do
  if [ -d "$1/etc/$directory" ]; then mount --bind "$1/etc/$directory" "/etc/$directory"; fi
done
if [ -d "$1/host/usr/local/lib" ]; then mount --bind "$1/host/usr/local/lib" /usr/local/lib; fi
`
const udev = `
/lib/systemd/systemd-udevd &
udev=$!
until [ -S /run/udev/control ]; do sleep 0.05; done
udevadm trigger --action=add --subsystem-match=net
udevadm settle --timeout=20
kill $udev
wait $udev || true
mount -o remount,ro /sys
`

/** The daemons see the database of a udevd that keeps running, as on a real node. */
export const shareUdev = 'mkdir -p /run/udev; mount --bind "$1/run-udev" /run/udev\n'

const liveUdev = `${prepare}${mountFiles}${shareUdev}
/lib/systemd/systemd-udevd &
udev=$!
trap 'kill $udev; wait $udev || true; exit 0' TERM
until [ -S /run/udev/control ]; do sleep 0.05; done
udevadm trigger --action=add --subsystem-match=net
udevadm settle --timeout=20
touch /run/udev/booted
wait $udev
`

/** Before udev starts. Netplan matches by permanent MAC address and by driver, which a virtual NIC does not have. */
const generate = `
/lib/netplan/generate --root-dir /
for file in /run/systemd/network/* /run/udev/rules.d/*; do
  if [ -f "$file" ]; then sed -i 's/^PermanentMACAddress=/MACAddress=/; s/DRIVERS=="?\\*", //' "$file"; fi
done
`
/** Our units, as there is no systemd that starts them: the second one when the primary NIC is online. */
export const units = `
if [ -f "$1/etc/systemd/system/sysinit.target.d/50-multinic.conf" ]; then nft -f "$1/etc/multinic/multinic.nft"; fi
if [ -f "$1/etc/systemd/system/multi-user.target.d/50-multinic.conf" ]; then
  (
    for i in $(seq 300); do
      if [ -n "$(ip route show default)" ]; then break; fi
      sleep 0.1
    done
    ip -force -batch "$1/etc/multinic/primary-rules.batch"
    ip -6 -force -batch "$1/etc/multinic/primary-rules6.batch"
    ip -force -batch "$1/etc/multinic/primary-routes.batch"
  ) &
fi
`
const networkd = `${units}exec /lib/systemd/systemd-networkd\n`

const router = `
cat > /run/systemd/network/10-router.network <<END
[Match]
Name=br1
[Network]
Address=fd00:0::1/64
IPv6SendRA=yes
[IPv6SendRA]
RouterLifetimeSec=300
[IPv6Prefix]
Prefix=fd00:0::/64
END
mount -o remount,ro /sys
`

/** Names and sysctls only, before any network manager starts. */
export async function runUdev(node: RigNode): Promise<void> {
  const { child } = inside(node, prepare + mountFiles + udev)
  await new Promise(resolve => child.once('exit', resolve))
}

/**
 * `generated: false`: networkd starts with what Netplan generated before our files existed, which is nothing.
 * `liveUdev`: the node's udevd runs already.
 */
export function startNetworkd(node: RigNode, { generated = true, liveUdev = false } = {}): { stop(): Promise<void> } {
  const files = prepare + mountFiles + (generated ? generate : '')
  return stoppable(inside(node, files + (liveUdev ? shareUdev : udev) + networkd))
}

/**
 * udevd that keeps running: it reacts to every rename. Each NIC gets the names by slot and by path that it would have on a
 * PCI bus.
 */
export async function startUdev(node: RigNode): Promise<{ stop(): Promise<void> }> {
  const rules = node.nics.map(({ name, macAddress }) => {
    const path = name.replace('ens', 'enp0s')
    const names = `ENV{ID_NET_NAME_SLOT}="${name}", ENV{ID_NET_NAME_PATH}="${path}"`
    return `SUBSYSTEM=="net", ATTR{address}=="${macAddress}", ${names}\n`
  })
  const directory = node.path('run-udev')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(join(directory, 'rules.d'), { recursive: true })
  writeFileSync(join(directory, 'rules.d/76-slots.rules'), rules.join(''))
  // The rules of NetworkManager exclude veth devices.
  writeFileSync(join(directory, 'rules.d/90-managed.rules'), 'SUBSYSTEM=="net", ENV{NM_UNMANAGED}="0"\n')
  const udevd = stoppable(inside(node, liveUdev))
  await eventually(() => assert.ok(existsSync(join(directory, 'booted'))), { within: 30_000 })
  return udevd
}

/** The router of the fabric's first network sends advertisements of itself and of the network's IPv6 prefix. */
export function startRouter(node: RigNode): { stop(): Promise<void> } {
  return stoppable(inside(node, prepare + router + networkd, node.fabric))
}

function stoppable({ child }: { child: ChildProcess }): { stop(): Promise<void> } {
  return { stop: () => terminate(child) }
}

function inside(node: RigNode, script: string, namespace = node.namespace): { child: ChildProcess } {
  const log = openSync(join(node.root, 'boot.log'), 'a')
  const shell = ['unshare', '-m', '--propagation', 'private', 'sh', '-ec', script, '_', node.root]
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
  return {
    child: spawn('nsenter', [`--net=/run/netns/${namespace}`, ...shell], { env, stdio: ['ignore', log, log] }),
  }
}
