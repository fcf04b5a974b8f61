/**
 * A NIC that the network manager of an ordinary image configured by DHCP, with a default route, before the agent came.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { guestKinds, interfaceFor, sameState, startGuest, stateOf } from '../rigs/vm/rig.ts'
import { eventually } from '../support/eventually.ts'

const nic = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
/** The DHCP server of Neutron leases the address of the port, which is the one that is requested. */
const address = '192.168.10.11'
const networks = [{ name: 'net-a', addresses: ['192.168.10.1/24'], dhcp: [address, address] as const }]
const requested = interfaceFor(nic, 0, { address, cidr: '192.168.10.0/24', gateway: '192.168.10.1' })

/** The default of Debian's cloud images. NetworkManager needs no file for this. */
const files = {
  netplan: {
    '/etc/netplan/90-default.yaml':
      'network:\n  version: 2\n  ethernets:\n    all-en:\n      match: {name: "en*"}\n      dhcp4: true\n',
  },
  networkmanager: {},
}

for (const kind of guestKinds)
  test(`${kind}: a NIC that DHCP configured is taken over, and given back by a cleanup`, async t => {
    const guest = await startGuest(t, { kind, networks, files: files[kind] })
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

    await guest.reboot()
    await sameState(guest, before)
    const checked = await guest.agent('check', [requested])
    assert.equal(checked.report?.verdict, 'InSync', checked.log)
    assert.deepEqual(leases().slice(requests), [], 'a DHCP client still runs on the NIC')

    const cleaned = await guest.agent('cleanup', [])
    assert.equal(cleaned.report?.verdict, 'Removed', cleaned.log)
    await hasLease()
    assert.ok(leases().length > requests)
  })
