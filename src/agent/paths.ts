/**
 * The paths of the host as the Job mounts them into the agent's container.
 */
export interface Paths {
  /** Records of our NICs, and the journal. */
  state: string
  netplan: string
  networkd: string
  /** Other directories that udev and networkd read; a file replaces one of the same name in a later directory. */
  networkdRuntime: string
  networkdLocal: string
  networkdVendor: string
  udevRules: string
  udevRulesRuntime: string
  udevRulesLocal: string
  udevRulesVendor: string
  networkManager: string
  networkManagerRuntime: string
  networkManagerVendor: string
  networkScripts: string
  sysctl: string
  /** What units of systemd load at boot, and the directory of these units. */
  boot: string
  units: string
  /** Sysctls by device. The Pod's own /proc/sys is read-only. A kernel without IPv6 has no ipv6Conf. */
  ipv4Conf: string
  ipv6Conf: string
  /** Machines without DMI do not have it. */
  productUuid: string
  bootID: string
  /** The DNS servers of the node: the Pod has dnsPolicy Default. */
  resolvConf: string
  /** Sockets of the node: the Pod shares its network namespace. */
  sockets: string
  /** The socket of the host's system bus. */
  bus: string
  terminationLog: string
}

export const hostPaths: Paths = {
  state: '/var/lib/multinic',
  netplan: '/etc/netplan',
  networkd: '/etc/systemd/network',
  networkdRuntime: '/host/run/systemd/network',
  networkdLocal: '/host/usr/local/lib/systemd/network',
  networkdVendor: '/host/lib/systemd/network',
  udevRules: '/etc/udev/rules.d',
  udevRulesRuntime: '/host/run/udev/rules.d',
  udevRulesLocal: '/host/usr/local/lib/udev/rules.d',
  udevRulesVendor: '/host/lib/udev/rules.d',
  networkManager: '/etc/NetworkManager/system-connections',
  networkManagerRuntime: '/host/run/NetworkManager/system-connections',
  networkManagerVendor: '/host/usr/lib/NetworkManager/system-connections',
  networkScripts: '/etc/sysconfig/network-scripts',
  sysctl: '/etc/sysctl.d',
  boot: '/etc/multinic',
  units: '/etc/systemd/system',
  ipv4Conf: '/host/proc/sys/net/ipv4/conf',
  ipv6Conf: '/host/proc/sys/net/ipv6/conf',
  productUuid: '/sys/class/dmi/id/product_uuid',
  bootID: '/host/boot_id',
  resolvConf: '/etc/resolv.conf',
  sockets: '/proc/self/net',
  bus: '/run/dbus/system_bus_socket',
  terminationLog: '/dev/termination-log',
}

/** All paths below another root, for tests whose host is a directory. */
export function pathsUnder(root: string): Paths {
  return Object.fromEntries(Object.entries(hostPaths).map(([key, path]) => [key, `${root}${path}`])) as unknown as Paths
}
