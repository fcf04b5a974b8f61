/**
 * The attachment of a port by real Nova and Neutron: the operator reads and delivers it, libvirt plugs the device into the
 * running machine, the agent configures it, and a detach unplugs it. The test starts the agent, as the Job of the controller.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOpenStack } from '../rigs/openstack/rig.ts'
import { run } from '../rigs/process.ts'
import { addRouter, bootNovaGuest } from '../rigs/vm/nova.ts'
import { sameState, stateOf } from '../rigs/vm/rig.ts'
import { eventually } from '../support/eventually.ts'
import { startRealCloudSystem } from '../system/real-cloud.ts'

const gateway = '192.168.10.1'
const waits = { within: 10 * 60_000, every: 200 }

test('a port that Nova attaches becomes a NIC of the running machine, and a detach removes it', async t => {
  const started = performance.now()
  const cloud = await startOpenStack({ hypervisor: true })
  t.after(() => cloud.close())
  const since = (start: number) => `${((performance.now() - start) / 1_000).toFixed(1)} s`
  t.diagnostic(`cloud with a hypervisor: ${since(started)}`)
  const booted = performance.now()
  const guest = await bootNovaGuest(cloud, 'netplan')
  t.diagnostic(`image and guest: ${since(booted)}`)
  assert.equal((await guest.exec('cat /sys/class/dmi/id/product_uuid')).trim(), guest.id)
  const networkId = await cloud.createNetwork({ name: 'storage', mtu: 1450 })
  const subnetId = await cloud.createSubnet({ name: 'storage', networkId, cidr: '192.168.10.0/24', gateway })
  const system = await startRealCloudSystem(cloud)
  t.after(() => system.stop())
  await system.create('main', { subnetIDs: [subnetId], vmNames: [guest.id] })
  await system.eventually(async () => {
    const connected = (await system.config()).status?.conditions?.find(({ type }) => type === 'EventsConnected')
    assert.equal(connected?.status, 'True')
  })
  const delivered = async (count: number) => {
    await system.eventually(async () => assert.equal((await system.nodes())[0]?.spec.interfaces.length ?? 0, count))
    return (await system.nodes())[0]?.spec.interfaces ?? []
  }
  const links = () => guest.exec('ip -o link')
  const before = await stateOf(guest)

  const asked = performance.now()
  const portId = await cloud.attach(guest.id, { networkId })
  t.diagnostic(`Nova attached after ${since(asked)}`)
  await addRouter(networkId, `${gateway}/24`)
  const [nic = assert.fail(), ...others] = await delivered(1)
  t.diagnostic(`the operator delivered after ${since(asked)}`)
  assert.deepEqual([nic.portId, nic.name, others.length], [portId, 'multinic0', 0])
  const { report, log } = await guest.agent('apply', [nic])
  assert.equal(report?.verdict, 'Configured', log)
  t.diagnostic(`attach to ready, emulated: ${since(asked)}`)

  const shown = await guest.exec('ip address show dev multinic0')
  for (const fact of [nic.macAddress, `${nic.address}/24`, 'mtu 1450']) assert.ok(shown.includes(fact), shown)
  assert.match(await guest.exec('readlink -f /sys/class/net/multinic0'), /\/pci0000:00\/.*\/virtio/)
  await guest.exec(`ping -c 1 -W 10 -I ${nic.address} ${gateway}`)
  await run('ping', ['-c', '1', '-W', '10', nic.address ?? ''])
  const statusOf = async () => (await cloud.api.call('neutron', 'GET', `/v2.0/ports/${portId}`)).port.status
  await eventually(async () => assert.equal(await statusOf(), 'ACTIVE'), waits)

  await cloud.detach(guest.id, portId)
  assert.ok(!(await links()).includes(nic.macAddress), 'the device is still there')
  assert.deepEqual(await delivered(0), [])
  const removed = await guest.agent('apply', [])
  assert.equal(removed.report?.verdict, 'Configured', removed.log)
  await sameState(guest, before)
  await cloud.deleteServer(guest.id)
})
