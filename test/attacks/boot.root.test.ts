/**
 * Attacks on boot files: a foreign file is never overwritten, and one that would win at boot is refused by its name.
 */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { makeNetworkManagerHost } from '../rigs/host/network-manager.ts'
import type { RigNode } from '../rigs/host/node.ts'
import { type Attack, attacks, configureAll, outcomes, requestAll } from './attack.ts'

/** Root without CAP_DAC_OVERRIDE cannot read it. */
const unreadable = (path: string) => (node: RigNode) => {
  chownSync(node.path(path), 1000, 1000)
  chmodSync(node.path(path), 0o600)
}
const refusedFor =
  (path: RegExp): Attack['expect'] =>
  result => {
    assert.deepEqual(outcomes(result), ['Failed ForeignFile'], result.log)
    assert.match(result.report?.interfaces[0]?.message ?? '', path)
  }
const configured: Attack['expect'] = result => assert.deepEqual(outcomes(result), ['Configured'], result.log)
const inMatch = (...lines: string[]) => `[Match]\n${lines.join('\n')}\n\n[Network]\nDHCP=yes\n`

const profile = (priority: number) =>
  `[connection]\nid=x\ntype=ethernet\nautoconnect-priority=${priority}\n\n[ethernet]\nmac-address=FA:16:3E:00:00:01\n`

const linkFile = '[Match]\nMACAddress=FA-16-3E-00-00-01\n\n[Link]\nName=lan0\n'
const udevRule = 'SUBSYSTEM=="net", ATTR{address}=="fa:16:3e:00:00:01", NAME:="lan0"\n'

const cases: Attack[] = [
  {
    finding: 'F11',
    name: 'a foreign .network file by MAC address is refused by its name',
    options: {
      files: {
        '/etc/systemd/network/01-custom.network':
          '[Match]\nMACAddress=fa:16:3e:00:00:01\n\n[Network]\nAddress=192.0.2.1/24\n',
      },
    },
    expect: refusedFor(/01-custom\.network/),
  },
  {
    finding: 'F11',
    name: 'a .network file in /run for every NIC that sorts before ours is refused by its name',
    options: { files: { '/host/run/systemd/network/01-all.network': inMatch('Name=*') } },
    expect: refusedFor(/\/run\/systemd\/network\/01-all\.network matches the NIC/),
  },
  ...['/lib', '/usr/local/lib'].map(
    (directory): Attack => ({
      finding: 'F11',
      name: `a .link file in ${directory} by MAC address that sorts before ours is refused by its name`,
      options: { files: { [`/host${directory}/systemd/network/00-x.link`]: linkFile } },
      expect: refusedFor(new RegExp(`${directory}/systemd/network/00-x\\.link matches the NIC`)),
    }),
  ),
  {
    finding: 'F11',
    name: 'a udev rule that names the NIC finally before ours is refused by its name',
    options: { files: { '/etc/udev/rules.d/00-x.rules': udevRule } },
    expect: refusedFor(/\/etc\/udev\/rules\.d\/00-x\.rules matches the NIC/),
  },
  {
    finding: 'F11',
    name: 'such a udev rule in /usr/local/lib is refused by its name',
    options: { files: { '/host/usr/local/lib/udev/rules.d/00-x.rules': udevRule } },
    expect: refusedFor(/\/usr\/local\/lib\/udev\/rules\.d\/00-x\.rules matches the NIC/),
  },
  ...['/run', '/usr/lib'].map(
    (directory): Attack => ({
      finding: 'F11',
      name: `a profile of NetworkManager in ${directory} with our priority is refused by its name`,
      options: { files: { [`/host${directory}/NetworkManager/system-connections/x.nmconnection`]: profile(999) } },
      prepare: makeNetworkManagerHost,
      expect: refusedFor(
        new RegExp(`${directory}/NetworkManager/system-connections/x\\.nmconnection has autoconnect-priority 999`),
      ),
    }),
  ),
  {
    finding: 'F11',
    name: 'a profile of NetworkManager in /run with a lower priority, as Netplan writes it, is no obstacle',
    options: {
      files: { '/host/run/NetworkManager/system-connections/netplan-ens4.nmconnection': profile(998) },
    },
    prepare: makeNetworkManagerHost,
    expect: configured,
  },
  {
    finding: 'F11',
    name: 'files that match other NICs, lose to ours or are hidden by an empty file are no obstacle; those for the NIC are reported',
    options: {
      files: {
        '/etc/netplan/50-cloud-init.yaml':
          'network:\n  version: 2\n  ethernets:\n    ens4:\n      match: {macaddress: "fa:16:3e:00:00:01"}\n      dhcp4: true\n',
        '/etc/systemd/network/01-other.network': inMatch('MACAddress=fa:16:3e:99:99:99'),
        '/etc/systemd/network/02-not-ours.network': inMatch('Name=!multinic*'),
        '/etc/systemd/network/03-hidden.network': '',
        '/host/run/systemd/network/03-hidden.network': inMatch('Name=*'),
        '/host/run/systemd/network/10-netplan-ens4.network': inMatch('MACAddress=fa:16:3e:00:00:01'),
        '/host/lib/systemd/network/00-bridges.link': '[Match]\nType=bridge\n\n[Link]\nMACAddressPolicy=none\n',
        '/etc/udev/rules.d/70-persistent-net.rules': 'ATTR{address}=="fa:16:3e:00:00:01", NAME="eth1"\n',
      },
    },
    expect: (result, node) => {
      configured(result, node)
      const { message = '' } = result.report?.interfaces[0] ?? {}
      assert.match(message, /etc\/netplan\/50-cloud-init\.yaml configures this NIC too, but the files of multinic win/)
      assert.doesNotMatch(message, /other\.network|hidden|bridges/)
    },
  },
  ...Object.entries({
    '/etc/netplan/x.yaml': /cannot read .*\/etc\/netplan\/x\.yaml/,
    '/etc/systemd/network/20-x.network': /cannot read .*20-x\.network/,
    '/host/run/systemd/network': /cannot read .*\/run\/systemd\/network,/,
  }).map(
    ([path, message]): Attack => ({
      finding: 'F7',
      name: `a loop of links at ${path} costs itself, and is named`,
      prepare: node => {
        rmSync(node.path(path), { recursive: true, force: true })
        symlinkSync(node.path(path), node.path(path))
      },
      expect: (result, node) => {
        configured(result, node)
        assert.match(result.report?.interfaces[0]?.message ?? '', message)
      },
    }),
  ),
  {
    finding: 'F7',
    name: 'a file of 2 MiB in the directory of Netplan costs itself, and is named',
    options: { files: { '/etc/netplan/x.yaml': '#'.repeat(2 << 20) } },
    expect: (result, node) => {
      configured(result, node)
      assert.match(result.report?.interfaces[0]?.message ?? '', /cannot read .*\/etc\/netplan\/x\.yaml/)
    },
  },
  ...Object.entries({
    'by MAC address': '    any:\n      match: {macaddress: "fa:16:3e:00:00:01"}\n      addresses: [192.0.2.1/24]\n',
    'by the former name': '    ens4:\n      addresses: [192.0.2.1/24]\n',
    'by a pattern': '    any:\n      match:\n        name: "multi*" # ours\n      addresses: [192.0.2.1/24]\n',
  }).map(
    ([how, entry]): Attack => ({
      finding: 'L2',
      name: `a file of Netplan ${how} that appears after the first apply is named by apply and check`,
      prepare: async node => {
        await configureAll(node)
        writeFileSync(node.path('etc/netplan/99-later.yaml'), `network:\n  version: 2\n  ethernets:\n${entry}`)
      },
      expect: async (result, node) => {
        const named = /99-later\.yaml configures this NIC too, but the files of multinic win at boot/
        assert.deepEqual([result.report?.verdict, result.report?.changed], ['Configured', 0], result.log)
        assert.match(result.report?.interfaces[0]?.message ?? '', named)
        const check = await node.agent({ ...requestAll(node), mode: 'check' })
        assert.equal(check.report?.verdict, 'InSync', check.log)
        assert.match(check.report?.interfaces[0]?.message ?? '', named)
      },
    }),
  ),
  {
    finding: 'F11',
    name: 'an entry of Netplan by the name of the device is taken over, and reported',
    options: {
      files: {
        '/etc/netplan/50-cloud-init.yaml': 'network:\n  version: 2\n  ethernets:\n    ens4:\n      dhcp4: true\n',
      },
    },
    expect: (result, node) => {
      configured(result, node)
      assert.match(result.report?.interfaces[0]?.message ?? '', /50-cloud-init\.yaml configures this NIC too/)
    },
  },
  {
    finding: 'F16',
    name: 'a Netplan file that cannot be read does not stop the node: ours wins whatever it says',
    prepare: unreadable('etc/netplan/50-cloud-init.yaml'),
    expect: configured,
  },
  {
    finding: 'F16',
    name: 'a .network file that cannot be read and sorts before ours is refused by its name',
    options: { files: { '/etc/systemd/network/01-x.network': inMatch('Name=ens3') } },
    prepare: unreadable('etc/systemd/network/01-x.network'),
    expect: refusedFor(/cannot read \S*\/etc\/systemd\/network\/01-x\.network/),
  },
  {
    finding: 'F16',
    name: 'a .network file that cannot be read and sorts after ours is no obstacle',
    options: { files: { '/etc/systemd/network/10-x.network': inMatch('Name=ens3') } },
    prepare: unreadable('etc/systemd/network/10-x.network'),
    expect: configured,
  },
]

attacks('boot files', cases)
