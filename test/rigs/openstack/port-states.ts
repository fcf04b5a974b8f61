/**
 * Tests of port states that only the rig can set. The conformance suite runs them and covers the rest of the rig.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import type { OpenStack } from './rig.ts'

export function portStateTests(openstack: () => OpenStack): void {
  test('a test can make ports of a server ACTIVE, hold them in DOWN or BUILD, and set them to ERROR', async () => {
    const cloud = openstack()
    const statusOf = async (id: string): Promise<string> =>
      (await cloud.api.call('neutron', 'GET', `/v2.0/ports/${id}`)).port.status
    const waitForStatus = (id: string, status: string) =>
      eventually(async () => assert.equal(await statusOf(id), status), { within: 60_000, every: 100 })

    const networkId = await cloud.createNetwork({ name: 'rig', mtu: 1450 })
    const subnetId = await cloud.createSubnet({ name: 'rig-4', networkId, cidr: '10.9.0.0/24' })
    const own = await cloud.createPort({ networkId, fixedIps: [{ subnetId, address: '10.9.0.77' }] })
    const vm = await cloud.bootServer({ name: 'rig-1', nics: [{ portId: own }] })
    await waitForStatus(own, 'ACTIVE')

    await cloud.holdPorts()
    const attached = await cloud.attach(vm, { networkId })
    assert.equal(await statusOf(attached), 'DOWN')
    await cloud.holdPorts('BUILD')
    await waitForStatus(attached, 'BUILD')
    await cloud.releasePorts()
    await waitForStatus(attached, 'ACTIVE')
    await cloud.forcePortStatus(attached, 'ERROR')
    assert.equal(await statusOf(attached), 'ERROR')
    await cloud.deleteServer(vm)
  })
}
