/** A message bus that cannot be used is told, and keeps nothing from being delivered. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { addPort, addServer, addSubnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type Stage, startStage } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../../contract/openstack-config.ts'
import { events } from '../../kube/resources.ts'

const within = 30_000

async function condition(stage: Stage): Promise<string> {
  const found = (await stage.config()).status?.conditions?.find(one => one.type === 'EventsConnected')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

/** Nobody listens there any more. */
async function deadPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

test('a broker that nobody reaches is told by a condition and an Event, and forgotten when it is no longer named', async () => {
  const stage = await startStage()
  try {
    const subnet = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
    const server = addServer(stage.world, 'worker-1')
    const port = addPort(stage.world, { server, subnet })
    setPortStatus(stage.world, port.id, 'ACTIVE')
    const at = await deadPort()
    stage.world.bus = { urls: [`amqp://127.0.0.1:${at}/`], user: 'openstack', password: 'bus-secret' }
    await stage.startOperator()
    await stage.create({})
    await eventually(async () => assert.deepEqual(await stage.told(), ['worker-1: multinic0=10.10.0.10']), { within })
    await eventually(
      async () => assert.match(await condition(stage), /^False EventBusUnreachable: 127\.0\.0\.1:\d+: .*ECONNREFUSED/),
      { within },
    )
    await eventually(
      async () => {
        const told = (await stage.kube.list(events, { namespace })).items.map(({ reason }) => reason)
        assert.ok(told.includes('EventBusUnreachable'), `${told}`)
      },
      { within },
    )
    assert.doesNotMatch(JSON.stringify(await stage.config()), /bus-secret/)

    delete stage.world.bus
    const annotations = { [openstackConfigAnnotations.forceReconcile]: 'now' }
    await stage.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations } })
    await eventually(async () => assert.match(await condition(stage), /^Unknown EventBusNotConfigured/), { within })
  } finally {
    await stage.close()
  }
})

test('listening can be switched off', async () => {
  const stage = await startStage()
  try {
    const subnet = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
    addPort(stage.world, { server: addServer(stage.world, 'worker-1'), subnet })
    stage.world.bus = { urls: ['amqp://127.0.0.1:1/'], user: 'openstack', password: 'bus-secret' }
    await stage.startOperator({ RABBITMQ_EVENTS_ENABLED: 'false' })
    await stage.create({})
    await eventually(async () => assert.deepEqual(await stage.told(), ['worker-1: multinic0=10.10.0.10']), { within })
    await eventually(async () => assert.ok((await stage.config()).status?.lastSyncedAt), { within })
    assert.equal(await condition(stage), 'undefined undefined: undefined')
  } finally {
    await stage.close()
  }
})
