/**
 * A NIC that the network manager of an ordinary image configured by DHCP, with a default route, before the agent came. The agent's
 * configuration survives the time of several leases.
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
const networks = [{ name: 'net-a', addresses: ['192.168.10.1/24'], dhcp: [address, address] as const }]
const requested = interfaceFor(nic, 0, { address, cidr: '192.168.10.0/24', gateway: '192.168.10.1' })

/** NetworkManager needs no file for this. */
const cases = {
  networkd: {
    kind: 'netplan',
    files: {
      '/etc/netplan/90-default.yaml':
        'network:\n  version: 2\n  ethernets:\n    all-en:\n      match: {name: "en*"}\n      dhcp4: true\n',
    },
  },
  'the file of cloud-init': {
    kind: 'netplan',
    files: {
      '/etc/netplan/60-cloud-init.yaml': `network:
  version: 2
  ethernets:
    eth1:
      dhcp4: true
      match: {macaddress: "${nic.macAddress}"}
      set-name: "eth1"
`,
    },
  },
  NetworkManager: { kind: 'networkmanager', files: {} },
} as const

for (const [configuredBy, { kind, files }] of Object.entries(cases))
  test(`${kind}: a NIC that ${configuredBy} configured by DHCP is taken over, and given back by a cleanup`, async t => {
    const guest = await startGuest(t, { kind, networks, files })
    const leases = () => guest.networks.flatMap(network => network.dhcpLog(nic.macAddress))
    const hasLease = () =>
      eventually(
        () =>
          guest.exec(
            `ip -4 address show | grep -q '${address}/24.* dynamic' && ip route show default | grep -q 192.168.10.1`,
          ),
        {
          within: 5 * 60_000,
          every: 1_000,
        },
      )
    await guest.plug(nic)
    await hasLease()

    const applied = await guest.agent('apply', [requested])
    assert.equal(applied.report?.verdict, 'Configured', applied.log)
    await guest.exec(`ping -c 1 -W 10 -I ${address} 192.168.10.1`)
    const before = await stateOf(guest)
    const requests = leases().length
    // Two renewals of the primary NIC are at least one lease time apart.
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
