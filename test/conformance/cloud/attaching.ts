/** What Nova and Neutron show while a port comes to a server and goes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Port } from '../../../src/openstack/neutron.ts'
import { eventually } from '../../support/eventually.ts'
import type { Place } from './place.ts'

const within = 60_000

export function attachingCases(place: () => Place): void {
  const portOf = async (id: string): Promise<Port | undefined> => (await place().clients.neutron.portsById([id]))[0]
  const interfaces = async (vm: string) => ((await place().clients.nova.interfacesOf(vm)) ?? []).map(nic => nic.portId)
  const told = (port: Port | undefined) => port && `${port.status} ${port.deviceOwner || '-'} ${port.deviceId || '-'}`
  const becomes = (id: string, expected: string) =>
    eventually(async () => assert.equal(told(await portOf(id)), expected), { within, every: 100 })
  /** Neutron leaves BUILD behind when an agent asks for a port in the moment in which it is unbound. */
  const becomesNobodys = (id: string) =>
    eventually(async () => assert.match(told(await portOf(id)) ?? '', /^(DOWN|BUILD) - -$/), { within, every: 100 })

  test('a port that Nova makes is DOWN until it is wired, and is deleted when it is detached', async () => {
    const { cloud, clients, seeds } = place()
    const [vm] = seeds.vms
    await cloud.holdPorts()
    const id = await cloud.attach(vm, { networkId: seeds.backup.networkId })
    await becomes(id, `DOWN compute:nova ${vm}`)
    assert.ok((await interfaces(vm)).includes(id))
    await cloud.letPortsGo()
    await becomes(id, `ACTIVE compute:nova ${vm}`)
    assert.equal((await clients.neutron.portsOfVms([vm])).length, 3)
    await cloud.detach(vm, id)
    await eventually(async () => assert.equal(await portOf(id), undefined), { within, every: 100 })
    assert.ok(!(await interfaces(vm)).includes(id))
    assert.equal((await clients.neutron.portsOfVms([vm])).length, 2)
  })

  test('a port that was made before is nobody’s again when it is detached', async () => {
    const { cloud, clients, seeds } = place()
    const [, vm] = seeds.vms
    const { networkId, subnetId } = seeds.backup
    const id = await cloud.createPort({ networkId, fixedIps: [{ subnetId }] })
    assert.equal(told(await portOf(id)), 'DOWN - -')
    await cloud.attach(vm, { portId: id })
    await becomes(id, `ACTIVE compute:nova ${vm}`)
    assert.ok((await interfaces(vm)).includes(id))
    const before = await portOf(id)
    await cloud.detach(vm, id)
    await becomesNobodys(id)
    const after = await portOf(id)
    assert.deepEqual([after?.fixedIps, after?.macAddress], [before?.fixedIps, before?.macAddress])
    assert.ok(!(await interfaces(vm)).includes(id))
    assert.ok(!(await clients.neutron.portsOfVms([vm])).some(port => port.id === id))
    await cloud.deletePort(id)
  })

  test('anyone may write a device id, and Nova then shows the port among the interfaces: only the owner tells', async () => {
    const { cloud, seeds } = place()
    const [vm] = seeds.vms
    const { networkId } = seeds.backup
    const foreign = await cloud.createPort({ networkId, deviceId: vm, deviceOwner: 'network:dhcp' })
    const unowned = await cloud.createPort({ networkId, deviceId: vm })
    assert.equal(told(await portOf(foreign)), `DOWN network:dhcp ${vm}`)
    assert.equal(told(await portOf(unowned)), `DOWN - ${vm}`)
    for (const id of [foreign, unowned]) {
      assert.ok((await interfaces(vm)).includes(id))
      await cloud.deletePort(id)
    }
  })

  test('with a server go the ports that Nova made for it, not those that were made before', async () => {
    const { cloud, seeds } = place()
    const { networkId, subnetId } = seeds.backup
    const own = await cloud.createPort({ networkId, fixedIps: [{ subnetId }] })
    const vm = await cloud.bootServer({ name: 'short', nics: [{ networkId }, { portId: own }] })
    const made = (await interfaces(vm)).find(id => id !== own) ?? ''
    assert.notEqual(made, '')
    await cloud.deleteServer(vm)
    await eventually(async () => assert.equal(await portOf(made), undefined), { within, every: 100 })
    await becomesNobodys(own)
    await cloud.deletePort(own)
  })
}
