import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BootPlan, readBoot } from './boot-files.ts'

const links = [
  { ifname: 'lo', address: '00:00:00:00:00:00' },
  { ifname: 'ens3', address: 'fa:16:3e:00:00:00' },
  { ifname: 'ens4', address: 'fa:16:3e:00:00:01' },
]

const netplan = (body: string) => `network:\n  version: 2\n  ethernets:\n    multinic0:\n${body}`
const match = '      match: {macaddress: "FA:16:3E:00:00:01"}\n      set-name: multinic0\n'

type Expected = Partial<BootPlan>
const cases: Record<string, [files: Record<string, string>, expected: Expected]> = {
  'a .link file renames the NIC with its MAC address and adds an altname': [
    {
      'etc/systemd/network/05-multinic0.link':
        '[Match]\nMACAddress=fa:16:3e:00:00:01\nType=ether\n[Link]\nName=multinic0\nAlternativeName=port-1\nMTUBytes=9000\n',
    },
    {
      ip: [
        'link set dev ens4 name multinic0',
        'link set dev multinic0 mtu 9000',
        'link property add dev multinic0 altname port-1',
      ],
    },
  ],
  'a .link file for an absent MAC address has no effect': [
    { 'etc/systemd/network/05-x.link': '[Match]\nMACAddress=fa:16:3e:00:00:99\n[Link]\nName=multinic9\n' },
    {},
  ],
  'Netplan configures addresses, routes and rules and brings the NIC up': [
    {
      'etc/netplan/90-multinic0.yaml': netplan(
        `${match}      mtu: 1450
      addresses: [10.0.1.5/24, "fd00::5/64"]
      routes:
        - {to: 0.0.0.0/0, via: 10.0.1.1, table: 100, metric: 100}
        - {to: "::/0", via: "fd00::1", table: 100}
      routing-policy:
        - {from: 10.0.1.5/32, table: 100, priority: 10100}
        - {to: "fd00::/64", table: 100, priority: 10100}
`,
      ),
    },
    {
      ip: [
        'link set dev ens4 name multinic0',
        'link set dev multinic0 mtu 1450',
        'link set dev multinic0 up',
        'addr add 10.0.1.5/24 dev multinic0',
        'addr add fd00::5/64 dev multinic0 nodad',
        'route add default via 10.0.1.1 dev multinic0 table 100 metric 100 proto static',
        '-6 route add default via fd00::1 dev multinic0 table 100 proto static',
        'rule add from 10.0.1.5/32 table 100 priority 10100 protocol static',
        '-6 rule add to fd00::/64 table 100 priority 10100 protocol static',
      ],
    },
  ],
  'a drop-in removes the prefix route of an address': [
    {
      'etc/netplan/90-multinic0.yaml': netplan(`${match}      addresses: [10.0.1.5/24]\n`),
      'etc/systemd/network/10-netplan-multinic0.network.d/50-multinic.conf':
        '[Address]\nAddress=10.0.1.5/24\nAddPrefixRoute=no\n',
    },
    {
      ip: [
        'link set dev ens4 name multinic0',
        'link set dev multinic0 up',
        'addr add 10.0.1.5/24 dev multinic0 noprefixroute',
      ],
    },
  ],
  'a .network file that precedes the Netplan one has the routes and rules': [
    {
      'etc/netplan/90-multinic0.yaml': netplan(`${match}      routes: [{to: 10.9.0.0/16, via: 10.0.1.9}]\n`),
      'etc/systemd/network/05-multinic0.network': `[Route]
Destination=10.0.1.0/24
Scope=link
PreferredSource=10.0.1.5
Metric=100
Table=100

[Route]
Destination=fd00::/64
Metric=20000
Table=254

[RoutingPolicyRule]
From=10.0.1.0/24
IncomingInterface=lo
Table=254
SuppressPrefixLength=7
Priority=10060

[RoutingPolicyRule]
Family=ipv4
FirewallMark=0x8/0x78
Table=100
Priority=10000

[RoutingPolicyRule]
Family=ipv6
FirewallMark=0x8/0x78
Table=100
Priority=10000
`,
    },
    {
      ip: [
        'link set dev ens4 name multinic0',
        'link set dev multinic0 up',
        'route add 10.0.1.0/24 dev multinic0 src 10.0.1.5 table 100 metric 100 scope link proto static',
        '-6 route add fd00::/64 dev multinic0 table 254 metric 20000 proto static',
        'rule add from 10.0.1.0/24 suppress_prefixlength 7 iif lo table 254 priority 10060 protocol static',
        'rule add from all fwmark 0x8/0x78 table 100 priority 10000 protocol static',
        '-6 rule add from all fwmark 0x8/0x78 table 100 priority 10000 protocol static',
      ],
    },
  ],
  'units load the tables of nftables, and the rules and routes that NICs share': [
    {
      'etc/multinic/multinic.nft': 'table ip multinic {\n}\n',
      'etc/multinic/primary-rules.batch': 'rule add x\n',
      'etc/multinic/primary-rules6.batch': 'rule add y\n',
      'etc/multinic/primary-routes.batch': 'route replace 10.0.1.0/24 via 10.0.0.1 dev ens3 table 110\n',
      'etc/systemd/system/multinic-nft.service': '[Service]\n',
      'etc/systemd/system/multinic-primary.service': '[Service]\n',
    },
    {
      nft: 'table ip multinic {\n}\n',
      shared: ['rule add x', '-6 rule add y', 'route replace 10.0.1.0/24 via 10.0.0.1 dev ens3 table 110'],
    },
  ],
  'files that no unit loads have no effect': [
    { 'etc/multinic/multinic.nft': 'table ip multinic {\n}\n', 'etc/multinic/primary-rules.batch': 'rule add x\n' },
    {},
  ],
  'a NIC with DHCP is not changed': [
    {
      'etc/netplan/50-cloud-init.yaml':
        'network: {version: 2, ethernets: {ens3: {match: {macaddress: "fa:16:3e:00:00:00"}, dhcp4: true, set-name: ens3}}}',
    },
    {},
  ],
  'sysctls apply to present NICs, by their new names': [
    {
      'etc/systemd/network/05-multinic0.link': '[Match]\nMACAddress=fa:16:3e:00:00:01\n[Link]\nName=multinic0\n',
      'etc/sysctl.d/90-multinic0.conf':
        '# ours\n-net.ipv4.conf.multinic0.arp_ignore = 1\nnet/ipv6/conf/multinic0/accept_ra=0\nnet.ipv4.conf.multinic7.arp_ignore=1\n',
    },
    {
      ip: ['link set dev ens4 name multinic0'],
      sysctls: [
        { path: 'net/ipv4/conf/multinic0/arp_ignore', value: '1' },
        { path: 'net/ipv6/conf/multinic0/accept_ra', value: '0' },
      ],
    },
  ],
}

for (const [name, [files, expected]] of Object.entries(cases))
  test(name, () => {
    const plan = readBoot(new Map(Object.entries(files)), links)
    assert.deepEqual(plan, { ip: [], shared: [], nft: '', sysctls: [], unknown: [], ...expected })
  })

test('unsupported keys are reported', () => {
  const files = new Map([
    ['etc/netplan/90-a.yaml', netplan(`${match}      wakeonlan: true\n`)],
    ['etc/netplan/91-b.yaml', 'network: {version: 1}'],
    ['etc/sysctl.d/99-c.conf', 'kernel.panic = 1'],
    ['etc/systemd/network/06-d.link', '[Match]\nMACAddress=fa:16:3e:00:00:01\n[Link]\nWakeOnLan=magic\n'],
  ])
  const { ip, unknown } = readBoot(files, links)
  assert.deepEqual(ip, [])
  assert.deepEqual(
    unknown.map(text => text.split(':')[0]),
    ['etc/systemd/network/06-d.link', 'etc/sysctl.d/99-c.conf', 'etc/netplan/90-a.yaml', 'etc/netplan/91-b.yaml'],
  )
})
