/**
 * The disk of a rig node: a directory with the paths of the host as the Job mounts them.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export function makeDisk(root: string, files: Record<string, string>, ipv6: boolean): void {
  for (const directory of [
    'etc/netplan',
    'etc/multinic',
    'etc/sysctl.d',
    'etc/systemd/system',
    'etc/systemd/network',
    'etc/udev/rules.d',
    'host/run/systemd/network',
    'host/run/udev/rules.d',
    'host/lib/systemd/network',
    'host/lib/udev/rules.d',
    'proc/self',
    'var/lib/multinic',
    'host/proc/sys/net',
    'dev',
  ])
    mkdirSync(join(root, directory), { recursive: true })
  // /proc/sys/net shows the namespace of the reader.
  for (const family of ipv6 ? ['ipv4', 'ipv6'] : ['ipv4'])
    symlinkSync(`/proc/sys/net/${family}`, join(root, `host/proc/sys/net/${family}`))
  symlinkSync('/proc/self/net', join(root, 'proc/self/net'))
  const all = {
    '/sys/class/dmi/id/product_uuid': '11111111-2222-3333-4444-555555555555\n',
    '/host/boot_id': 'boot-1\n',
    '/etc/netplan/50-cloud-init.yaml': 'network:\n  version: 2\n  ethernets:\n    ens3:\n      dhcp4: true\n',
    ...files,
  }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text, { mode: 0o600 })
  }
}
