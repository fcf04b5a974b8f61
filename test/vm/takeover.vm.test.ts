/**
 * A NIC that the network manager of an ordinary image configured by DHCP, with a default route, before the agent came. The
 * agent's configuration survives the time of several leases.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Guest,
  interfaceFor,
  primaryMacAddress,
  sameState,
  startGuest,
  stateOf,
  withoutSlotNames,
} from '../rigs/vm/rig.ts'
import { eventually } from '../support/eventually.ts'

const nic = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
/** The DHCP server of Neutron leases the address of the port, which is the one that is requested. */
const address = '192.168.10.11'
const prefix = 'fd00:10::'
/** The address that a port of Neutron has in a subnet with router advertisements: from the prefix and the MAC address. */
const address6 = `${prefix}f816:3eff:fe00:a`

const network = { name: 'net-a', addresses: ['192.168.10.1/24'], dhcp: [address, address] as const }
const ipv4 = {
  networks: [network],
  request: { address, cidr: '192.168.10.0/24', gateway: '192.168.10.1' },
  isConfigured: `ip -4 address show | grep -q '${address}/24.* dynamic' && ip route show default | grep -q 192.168.10.1`,
}
/** The primary NIC also has an IPv6 default route: a NIC with the only one of the node would be refused. */
const dualStack = {
  networks: [{ ...network, prefix }],
  primaryPrefix: 'fd00:2::',
  request: { ...ipv4.request, addresses: [`${address6}/64`] },
  isConfigured: `${ipv4.isConfigured} && ip -6 address show | grep -q '${address6}/64.* dynamic' && [ $(ip -6 route show default | grep -c via) = 2 ]`,
}

const allEthernets = {
  '/etc/netplan/90-default.yaml':
    'network:\n  version: 2\n  ethernets:\n    all-en:\n      match: {name: "en*"}\n      dhcp4: true\n',
}
const cloudInit = {
  '/etc/netplan/60-cloud-init.yaml': `network:
  version: 2
  ethernets:
    eth1:
      dhcp4: true
      match: {macaddress: "${nic.macAddress}"}
      set-name: "eth1"
`,
}

/** NetworkManager needs no file for this. */
const cases = {
  networkd: { kind: 'netplan', files: allEthernets, ...ipv4 },
  'networkd with router advertisements': { kind: 'netplan', files: allEthernets, ...dualStack },
  'the file of cloud-init': { kind: 'netplan', files: cloudInit, ...ipv4 },
  NetworkManager: { kind: 'networkmanager', files: {}, ...ipv4 },
} as const

for (const [configuredBy, { isConfigured, request, ...options }] of Object.entries(cases))
  test(`${options.kind}: a NIC that ${configuredBy} configured by DHCP is taken over, and given back by a cleanup`, async t => {
    const guest = await startGuest(t, options)
    const requested = interfaceFor(nic, 0, request)
    const leases = () => guest.networks.flatMap(network => network.dhcpLog(nic.macAddress))
    const hasLease = () => eventually(() => guest.exec(isConfigured), { within: 5 * 60_000, every: 1_000 })
    await guest.plug(nic)
    await hasLease()

    const applied = await guest.agent('apply', [requested])
    assert.equal(applied.report?.verdict, 'Configured', applied.log)
    await guest.exec(`ping -c 1 -W 10 -I ${address} 192.168.10.1`)
    const before = await stateOf(guest)
    const requests = leases().length
    // A client on the NIC would renew its lease between two renewals of the primary NIC.
    for (let renewal = 0; renewal < 2; renewal++) await primaryRenews(guest)
    assert.deepEqual(leases().slice(requests), [], 'a DHCP client still runs on the NIC')
    await sameState(guest, before)

    // Netplan names a NIC without altnames, if its file has set-name. From the next boot on, our file adds those of the slot.
    await guest.reboot()
    await sameState(guest, before, withoutSlotNames)
    await primaryRenews(guest)
    await sameState(guest, before, withoutSlotNames)
    const checked = await guest.agent('check', [requested])
    assert.equal(checked.report?.verdict, 'InSync', checked.log)
    assert.deepEqual(leases().slice(requests), [], 'a DHCP client still runs on the NIC')

    const cleaned = await guest.agent('cleanup', [])
    assert.equal(cleaned.report?.verdict, 'Removed', cleaned.log)
    await hasLease()
    assert.ok(leases().length > requests)
  })

async function primaryRenews({ networks }: Guest): Promise<void> {
  const renewals = () =>
    networks.flatMap(network => network.dhcpLog(primaryMacAddress)).filter(line => line.includes('DHCPACK')).length
  const before = renewals()
  await eventually(() => assert.ok(renewals() > before, 'no renewal'), { within: 10 * 60_000, every: 1_000 })
}
