/** What a replica of the operator that is no leader serves, over real HTTP. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { addPort, addServer, addSubnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../../sandbox/lifecycle/install.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { planAnswer, planPath } from '../../contract/operator-api.ts'
import { leases } from '../../kube/resources.ts'

let environment: OperatorEnvironment

before(async () => {
  environment = await startOperatorEnvironment()
})
after(() => environment.close())

async function start(POD_NAME: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const before = environment.operatorUrl()
  const stop = await environment.startOperator({ LEADER_ELECT: 'true', POD_NAME })
  await eventually(() => assert.notEqual(environment.operatorUrl(), before))
  return { url: environment.operatorUrl(), stop }
}

async function readinessOf(url: string): Promise<unknown> {
  const { statusCode, body } = await request(`${url}/readyz`)
  const { ready, role, serves } = (await body.json()) as { ready: boolean; role: string; serves: string[] }
  return { statusCode, ready, role, serves }
}

const leading = { statusCode: 200, ready: true, role: 'leader', serves: ['syncs', 'plans'] }

test('a standby is ready, says that it does not sync, answers plans, and becomes the leader', async () => {
  const storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 1500 })
  const worker = addServer(environment.cloudState, 'worker-1')
  const port = addPort(environment.cloudState, { server: worker, subnet: storage })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  const leader = await start('operator-1')
  await eventually(async () => assert.deepEqual(await readinessOf(leader.url), leading))
  const standby = await start('operator-2')
  await eventually(async () =>
    assert.deepEqual(await readinessOf(standby.url), { ...leading, role: 'standby', serves: ['plans'] }),
  )
  const config = openstackConfigFor(environment.cloudState, {
    ...{ name: 'new', vmNames: [worker.id], subnetIDs: [storage.id], clusterId },
  })
  const { body } = await request(`${standby.url}${planPath}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${environment.caller.token}` },
    body: JSON.stringify(config),
  })
  assert.deepEqual(
    planAnswer.parse(await body.json()).nodes.map(({ nodeName, action }) => `${action} ${nodeName}`),
    ['send worker-1'],
  )

  await leader.stop()
  await eventually(async () => assert.deepEqual(await readinessOf(standby.url), leading), { within: 30_000 })
  await environment.create({})
  await eventually(() => {
    const verdicts = environment.verdicts.flatMap(write => write.verdicts)
    assert.ok(verdicts.some(({ portId }) => portId === port.id))
  })
})

test('a leader that loses its Lease keeps no metrics of objects', async () => {
  const url = environment.operatorUrl()
  const seriesOf = async () => {
    const { body } = await request(`${url}/metrics`)
    return (await body.text()).split('\n').filter(line => /^multinic_operator_ports\{/.test(line))
  }
  await eventually(async () => assert.notDeepEqual(await seriesOf(), []))
  const spec = { holderIdentity: 'another', leaseDurationSeconds: 3_600, renewTime: new Date().toISOString() }
  const lease = { namespace: 'multinic-system', name: 'multinic-operator' }
  await environment.kube.patch(leases, lease, { spec })
  await eventually(async () => assert.partialDeepStrictEqual(await readinessOf(url), { role: 'standby' }), {
    within: 30_000,
  })
  await eventually(async () => assert.deepEqual(await seriesOf(), []))
})
