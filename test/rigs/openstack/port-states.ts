/**
 * What the rig can do to ports beyond what people can: held in BUILD, and of a status that no agent gives. The conformance
 * suite, which starts the rig anyway, tries the rest of it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import type { OpenStack } from './rig.ts'

export function rigCases(openstack: () => OpenStack): void {
  test('ports of a server come up, stay down or in BUILD, or are in error, as a test wants it', async () => {
    const cloud = openstack()
    const statusOf = async (id: string): Promise<string> =>
      (await cloud.api.call('neutron', 'GET', `/v2.0/ports/${id}`)).port.status
    const reaches = (id: string, status: string) =>
      eventually(async () => assert.equal(await statusOf(id), status), { within: 60_000, every: 100 })

    const networkId = await cloud.createNetwork({ name: 'rig', mtu: 1450 })
    const subnetId = await cloud.createSubnet({ name: 'rig-4', networkId, cidr: '10.9.0.0/24' })
    const own = await cloud.createPort({ networkId, fixedIps: [{ subnetId, address: '10.9.0.77' }] })
    const vm = await cloud.bootServer({ name: 'rig-1', nics: [{ portId: own }] })
    await reaches(own, 'ACTIVE')

    await cloud.holdPorts()
    const made = await cloud.attach(vm, { networkId })
    assert.equal(await statusOf(made), 'DOWN')
    await cloud.holdPorts('BUILD')
    await reaches(made, 'BUILD')
    await cloud.letPortsGo()
    await reaches(made, 'ACTIVE')
    await cloud.forcePortStatus(made, 'ERROR')
    assert.equal(await statusOf(made), 'ERROR')
    await cloud.deleteServer(vm)
  })
}
