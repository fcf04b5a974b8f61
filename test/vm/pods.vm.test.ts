/**
 * Pods on multinic0 in a cloud with port security: the real ipvlan and macvlan plugins in the network namespace of a Pod.
 */
import assert from 'node:assert/strict'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { cniPlugins } from '../rigs/cni/rig.ts'
import { type Guest, interfaceFor, startGuest } from '../rigs/vm/rig.ts'

const port = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 } as const
const router = '192.168.10.1'
const nic = interfaceFor(port, 0, { address: '192.168.10.11', cidr: '192.168.10.0/24', gateway: router })
const podAddress = '192.168.10.129'
const podMacAddress = 'fa:16:3e:00:00:99'

const attachments = {
  ipvlan: { type: 'ipvlan', mode: 'l2' },
  macvlan: { type: 'macvlan', mode: 'bridge', mac: podMacAddress },
}

async function cni(guest: Guest, command: 'ADD' | 'DEL', type: keyof typeof attachments): Promise<string> {
  const ipam = { type: 'static', addresses: [{ address: `${podAddress}/24` }] }
  const config = { cniVersion: '1.0.0', name: 'storage', master: 'multinic0', ipam, ...attachments[type] }
  const variables = 'CNI_CONTAINERID=pod CNI_NETNS=/run/netns/pod CNI_IFNAME=net1 CNI_PATH=/payload/cni'
  return guest.exec(`CNI_COMMAND=${command} ${variables} /payload/cni/${type} <<'CONFIG'
${JSON.stringify(config)}
CONFIG`)
}

/** Whether the Pod gets an answer from the router of its network. */
async function answered(guest: Guest): Promise<boolean> {
  const { code } = await guest.run(
    `ip netns exec pod ip neighbour flush dev net1; ip netns exec pod ping -c 3 -W 2 -I net1 ${router} >&2`,
  )
  return code === 0
}

test('netplan: a Pod on multinic0 talks through port security only with an allowed address pair for it', async t => {
  const plugins = await cniPlugins()
  const guest = await startGuest(t, {
    kind: 'netplan',
    networks: [{ name: 'net-a', addresses: [`${router}/24`] }],
    nics: [port],
    portSecurity: { [port.name]: ['192.168.10.11'] },
    payload: async root => {
      await mkdir(join(root, 'cni'))
      for (const plugin of ['ipvlan', 'macvlan', 'static']) await cp(join(plugins, plugin), join(root, 'cni', plugin))
    },
  })
  const applied = await guest.agent('apply', [nic])
  assert.equal(applied.report?.verdict, 'Configured', applied.log)
  await guest.exec('ip netns add pod')

  await cni(guest, 'ADD', 'ipvlan')
  assert.equal(await answered(guest), false, 'ipvlan without a pair')
  await guest.allowAddressPairs(port.name, [{ ipAddress: podAddress, macAddress: podMacAddress }])
  assert.equal(await answered(guest), false, 'ipvlan with a pair for another MAC address')
  await guest.allowAddressPairs(port.name, [{ ipAddress: podAddress, macAddress: port.macAddress }])
  assert.equal(await answered(guest), true, 'ipvlan with its pair')
  // The agent finds a NIC that it need not change, and the Pod keeps its network.
  const again = await guest.agent('apply', [nic])
  assert.equal(again.report?.verdict, 'Configured', again.log)
  assert.equal(await answered(guest), true, 'ipvlan after the agent ran again')
  await cni(guest, 'DEL', 'ipvlan')

  await cni(guest, 'ADD', 'macvlan')
  assert.equal(await answered(guest), false, 'macvlan with a pair for the MAC address of the port')
  await guest.allowAddressPairs(port.name, [{ ipAddress: podAddress, macAddress: podMacAddress }])
  assert.equal(await answered(guest), true, 'macvlan with its pair')
})
