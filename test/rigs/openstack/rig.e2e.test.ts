import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '../../eventually.ts'
import { type OpenStack, startOpenStack } from './rig.ts'

let cloud: OpenStack
before(async () => {
  cloud = await startOpenStack()
})
after(() => cloud?.close())

async function statusOf(portId: string): Promise<string> {
  return (await cloud.api.call('neutron', 'GET', `/v2.0/ports/${portId}`)).port.status
}

async function reaches(portId: string, status: string): Promise<void> {
  await eventually(async () => assert.equal(await statusOf(portId), status), { within: 30_000, every: 100 })
}

/** The start of the cloud counts as part of it. */
const long = { timeout: 15 * 60_000 }

test('a server boots, and its ports come up, stay down or go as a test wants it', long, async () => {
  const networkId = await cloud.createNetwork({ name: 'rig', mtu: 1450 })
  const subnetId = await cloud.createSubnet({ name: 'rig-4', networkId, cidr: '10.9.0.0/24' })
  const vm = await cloud.bootServer({ name: 'rig-1', nics: [{ networkId }] })

  await cloud.holdPorts()
  const made = await cloud.attach(vm, { networkId })
  assert.equal(await statusOf(made), 'DOWN')
  await cloud.holdPorts('BUILD')
  await reaches(made, 'BUILD')
  await cloud.letPortsGo()
  await reaches(made, 'ACTIVE')
  await cloud.forcePortStatus(made, 'ERROR')
  assert.equal(await statusOf(made), 'ERROR')

  const own = await cloud.createPort({ networkId, fixedIps: [{ subnetId, address: '10.9.0.77' }] })
  await cloud.attach(vm, { portId: own })
  await reaches(own, 'ACTIVE')
  await cloud.detach(vm, own)
  await reaches(own, 'DOWN')
  await cloud.deleteServer(vm)
})
