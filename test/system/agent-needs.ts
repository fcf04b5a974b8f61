/**
 * What the Job gives its agent, and the outcome on a real node if it is missing. Together the tables name every mount.
 */
import type { Backend } from '../../src/contract/backend.ts'
import { type Reduction, readOnly, withoutMount } from './reduced-job.ts'

export interface Need {
  reduction: Reduction
  outcome: RegExp
  /** Default: netplan. */
  backend?: Backend
}

const rights: Record<string, Need> = {
  'the capability NET_ADMIN': {
    reduction: (_, agent) => Object.assign(agent.securityContext ?? {}, { capabilities: { drop: ['ALL'] } }),
    outcome: /CommandFailed .*: Operation not permitted/,
  },
  'UID 0': {
    reduction: (_, agent) => Object.assign(agent.securityContext ?? {}, { runAsUser: 65534, runAsGroup: 65534 }),
    outcome: /EACCES: permission denied, open '\/sys\/class\/dmi\/id\/product_uuid'/,
  },
  'the host network': {
    reduction: spec => Object.assign(spec, { hostNetwork: false }),
    outcome: /NicMissing/,
  },
  'its tolerations': {
    reduction: spec => Object.assign(spec, { tolerations: [] }),
    outcome: /TaintToleration|TaintManager/,
  },
}

const notMounted = (path: string): RegExp => new RegExp(`not mounted from the host: ${path}`)

/** By mount: the agent fails without it. */
const mounts: Record<string, { outcome: RegExp; backend?: Backend; also?: string[] }> = {
  // With the directory of NetworkManager alone, the agent takes the node for one of the Red Hat family.
  netplan: { outcome: /BackendUnknown no \/etc\/netplan/, also: ['connections'] },
  connections: { outcome: /BackendUnknown no \/etc\/netplan, no \/etc\/NetworkManager/, backend: 'networkmanager' },
  ifcfg: { outcome: /BackendUnknown .*no \/etc\/sysconfig\/network-scripts/, backend: 'ifcfg' },
  networkd: { outcome: notMounted('/etc/systemd/network') },
  sysctld: { outcome: notMounted('/etc/sysctl.d') },
  boot: { outcome: notMounted('/etc/multinic') },
  units: { outcome: notMounted('/etc/systemd/system') },
  state: { outcome: notMounted('/var/lib/multinic') },
  sysctls: { outcome: notMounted('/host/proc/sys/net/ipv4/conf') },
  bootid: { outcome: notMounted('/host/boot_id') },
}

/** By mount: the agent fails if it cannot write there. */
const writes: Record<string, { outcome: RegExp; backend?: Backend }> = {
  netplan: { outcome: /\/etc\/netplan/ },
  connections: { outcome: /\/etc\/NetworkManager\/system-connections/, backend: 'networkmanager' },
  ifcfg: { outcome: /\/etc\/sysconfig\/network-scripts/, backend: 'ifcfg' },
  networkd: { outcome: /\/etc\/systemd\/network/ },
  sysctld: { outcome: /\/etc\/sysctl.d/ },
  boot: { outcome: /\/etc\/multinic/ },
  units: { outcome: /\/etc\/systemd\/system/ },
  udev: { outcome: /\/etc\/udev\/rules.d/ },
  state: { outcome: /\/var\/lib\/multinic/ },
  sysctls: { outcome: /ipv4/ },
}

export const needs: Record<string, Need> = {
  ...rights,
  ...Object.fromEntries(
    Object.entries(mounts).map(([name, { also = [], ...need }]) => [
      `the mount ${name}`,
      { reduction: withoutMount(name, ...also), ...need },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(writes).map(([name, need]) => [`write access to ${name}`, { reduction: readOnly(name), ...need }]),
  ),
}

export interface Finding {
  /** By which the agent sees the path. */
  mount: string
  path: string
  /** Absent: a socket at which nobody listens. */
  text?: string
  /** Default: the file would win at boot. */
  outcome?: RegExp
}

const link = '[Match]\nOriginalName=*\n'
const rule = 'SUBSYSTEM=="net", NAME:="other"\n'
const profile = '[connection]\nid=other\ntype=ethernet\nautoconnect-priority=999\n'

/**
 * What the agent finds on the node, in this order, so that it does not configure the NIC. It works without these mounts,
 * because a node may lack the directories, but then it overlooks the file.
 */
export const findings: Record<'netplan' | 'networkmanager', Finding[]> = {
  netplan: [
    { mount: 'dbus', path: '/run/dbus/system_bus_socket', outcome: /ECONNREFUSED .*system_bus_socket/ },
    { mount: 'run-systemd', path: '/run/systemd/network/01-other.link', text: link },
    { mount: 'usr-local-lib', path: '/usr/local/lib/systemd/network/02-other.link', text: link },
    { mount: 'lib', path: '/lib/systemd/network/03-other.link', text: link },
    { mount: 'udev', path: '/etc/udev/rules.d/01-other.rules', text: rule },
    { mount: 'run-udev', path: '/run/udev/rules.d/02-other.rules', text: rule },
  ],
  networkmanager: [
    { mount: 'run-networkmanager', path: '/run/NetworkManager/system-connections/other.nmconnection', text: profile },
    { mount: 'usr-lib', path: '/usr/lib/NetworkManager/system-connections/other.nmconnection', text: profile },
  ],
}

/** Every mount in the tables, and those that the agent writes to. */
export const provenMounts = [
  ...Object.keys(mounts),
  ...Object.values(findings).flatMap(all => all.map(({ mount }) => mount)),
]
export const provenWrites = Object.keys(writes)
