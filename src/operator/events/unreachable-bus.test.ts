/** A message bus that cannot be used is reported, and ports are delivered without it. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { addPort, addServer, addSubnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../../contract/openstack-config.ts'
import { events } from '../../kube/resources.ts'

const within = 30_000

async function condition(environment: OperatorEnvironment): Promise<string> {
  const found = (await environment.config()).status?.conditions?.find(one => one.type === 'EventsConnected')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

/** A port without a listener. */
async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

test('an unreachable broker is reported by a condition and an Event until it is no longer configured', async () => {
  const environment = await startOperatorEnvironment()
  try {
    const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
    const server = addServer(environment.cloudState, 'worker-1')
    const port = addPort(environment.cloudState, { server, subnet })
    setPortStatus(environment.cloudState, port.id, 'ACTIVE')
    const at = await closedPort()
    environment.cloudState.bus = { urls: [`amqp://127.0.0.1:${at}/`], user: 'openstack', password: 'bus-secret' }
    await environment.startOperator()
    await environment.create({})
    await eventually(
      async () => assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10']),
      { within },
    )
    await eventually(
      async () =>
        assert.match(await condition(environment), /^False EventBusUnreachable: 127\.0\.0\.1:\d+: .*ECONNREFUSED/),
      { within },
    )
    await eventually(
      async () => {
        const reasons = (await environment.kube.list(events, { namespace })).items.map(({ reason }) => reason)
        assert.ok(reasons.includes('EventBusUnreachable'), `${reasons}`)
      },
      { within },
    )
    assert.doesNotMatch(JSON.stringify(await environment.config()), /bus-secret/)

    delete environment.cloudState.bus
    const annotations = { [openstackConfigAnnotations.forceReconcile]: 'now' }
    await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations } })
    await eventually(async () => assert.match(await condition(environment), /^Unknown EventBusNotConfigured/), {
      within,
    })
  } finally {
    await environment.close()
  }
})

test('events can be switched off', async () => {
  const environment = await startOperatorEnvironment()
  try {
    const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
    addPort(environment.cloudState, { server: addServer(environment.cloudState, 'worker-1'), subnet })
    environment.cloudState.bus = { urls: ['amqp://127.0.0.1:1/'], user: 'openstack', password: 'bus-secret' }
    await environment.startOperator({ RABBITMQ_EVENTS_ENABLED: 'false' })
    await environment.create({})
    await eventually(
      async () => assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10']),
      { within },
    )
    await eventually(async () => assert.ok((await environment.config()).status?.lastSyncedAt), { within })
    assert.match(await condition(environment), /^Unknown EventBusNotConfigured: .*polls$/)
  } finally {
    await environment.close()
  }
})
