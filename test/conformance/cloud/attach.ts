/** Attach and detach: the states of a port in Nova and Neutron. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Port } from '../../../src/operator/cloud.ts'
import { eventually } from '../../support/eventually.ts'
import type { CloudContext } from './context.ts'

const within = 60_000

export function attachCases(context: () => CloudContext): void {
  const portOf = async (id: string): Promise<Port | undefined> => (await context().clients.neutron.portsById([id]))[0]
  const interfaces = async (vm: string) =>
    ((await context().clients.nova.attachmentsOf(vm)) ?? []).map(nic => nic.portId)
  const stateOf = (port: Port | undefined) => port && `${port.status} ${port.owner || '-'} ${port.serverId || '-'}`
  const becomes = (id: string, expected: string) =>
    eventually(async () => assert.equal(stateOf(await portOf(id)), expected), { within, every: 100 })
  /** Neutron leaves the status BUILD if an agent requests the port while it is unbound. */
  const becomesUnattached = (id: string) =>
    eventually(async () => assert.match(stateOf(await portOf(id)) ?? '', /^(DOWN|BUILD) - -$/), { within, every: 100 })

  test('a port created by Nova is DOWN until it is plugged, and is deleted by detach', async () => {
    const { cloud, clients, seeds } = context()
    const [vm] = seeds.vms
    await cloud.holdPorts()
    const id = await cloud.attach(vm, { networkId: seeds.backup.networkId })
    await becomes(id, `DOWN compute:nova ${vm}`)
    assert.ok((await interfaces(vm)).includes(id))
    await cloud.releasePorts()
    await becomes(id, `ACTIVE compute:nova ${vm}`)
    assert.equal((await clients.neutron.portsOfServers([vm])).length, 3)
    await cloud.detach(vm, id)
    await eventually(async () => assert.equal(await portOf(id), undefined), { within, every: 100 })
    assert.ok(!(await interfaces(vm)).includes(id))
    assert.equal((await clients.neutron.portsOfServers([vm])).length, 2)
  })

  test('an existing port is unattached after detach', async () => {
    const { cloud, clients, seeds } = context()
    const [, vm] = seeds.vms
    const { networkId, subnetId } = seeds.backup
    const id = await cloud.createPort({ networkId, fixedIps: [{ subnetId }] })
    assert.equal(stateOf(await portOf(id)), 'DOWN - -')
    await cloud.attach(vm, { portId: id })
    await becomes(id, `ACTIVE compute:nova ${vm}`)
    assert.ok((await interfaces(vm)).includes(id))
    const before = await portOf(id)
    await cloud.detach(vm, id)
    await becomesUnattached(id)
    const after = await portOf(id)
    assert.deepEqual([after?.addresses, after?.macAddress], [before?.addresses, before?.macAddress])
    assert.ok(!(await interfaces(vm)).includes(id))
    assert.ok(!(await clients.neutron.portsOfServers([vm])).some(port => port.id === id))
    await cloud.deletePort(id)
  })

  test('a port with a foreign device id appears in the interfaces of the server; only device_owner distinguishes it', async () => {
    const { cloud, seeds } = context()
    const [vm] = seeds.vms
    const { networkId } = seeds.backup
    const foreign = await cloud.createPort({ networkId, deviceId: vm, deviceOwner: 'network:dhcp' })
    const unowned = await cloud.createPort({ networkId, deviceId: vm })
    assert.equal(stateOf(await portOf(foreign)), `DOWN network:dhcp ${vm}`)
    assert.equal(stateOf(await portOf(unowned)), `DOWN - ${vm}`)
    for (const id of [foreign, unowned]) {
      assert.ok((await interfaces(vm)).includes(id))
      await cloud.deletePort(id)
    }
  })

  test('deleting a server deletes the ports created by Nova, not the others', async () => {
    const { cloud, seeds } = context()
    const { networkId, subnetId } = seeds.backup
    const own = await cloud.createPort({ networkId, fixedIps: [{ subnetId }] })
    const vm = await cloud.bootServer({ name: 'short', nics: [{ networkId }, { portId: own }] })
    const made = (await interfaces(vm)).find(id => id !== own) ?? ''
    assert.notEqual(made, '')
    await cloud.deleteServer(vm)
    await eventually(async () => assert.equal(await portOf(made), undefined), { within, every: 100 })
    await becomesUnattached(own)
    await cloud.deletePort(own)
  })
}
