/** The operator's API, over real HTTP. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import {
  addPort,
  addServer,
  addSubnet,
  type Port,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import { planAnswer, planPath } from '../contract/operator-api.ts'

let environment: OperatorEnvironment
let worker: Server
let storage: Subnet
let port: Port
let late: Port

before(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(environment.cloudState, 'worker-1')
  port = addPort(environment.cloudState, { server: worker, subnet: storage })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  late = addPort(environment.cloudState, { server: worker, subnet: storage })
  setPortStatus(environment.cloudState, late.id, 'BUILD')
  await environment.startOperator()
  await environment.create({})
  await eventually(async () => assert.equal((await environment.nodes()).length, 1))
})
after(() => environment.close())

function authorization(): { authorization: string } {
  return { authorization: `Bearer ${environment.caller.token}` }
}

async function plan(body: unknown): Promise<{ status: number; body: unknown }> {
  const answer = await request(`${environment.operatorUrl()}${planPath}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization() },
    body: JSON.stringify(body),
  })
  return { status: answer.statusCode, body: await answer.body.json() }
}

test('a dry run returns what would be sent, and changes nothing', async () => {
  const nodes = await environment.nodes()
  const requested = openstackConfigFor(environment.cloudState, {
    name: 'main',
    vmNames: [worker.id],
    subnetIDs: [storage.id],
    clusterId,
  })
  requested.spec.settings = { ...requested.spec.settings, openstackPortAllowedStatuses: ['*'] }
  const answer = planAnswer.parse((await plan(requested)).body)
  assert.deepEqual(
    answer.nodes.map(({ nodeName, action, why }) => [nodeName, action, why]),
    [['worker-1', 'send', [`port ${late.id} becomes multinic1`]]],
  )
  assert.deepEqual(await environment.nodes(), nodes)
})

test('a dry run returns what would be removed, and why', async () => {
  const other = addServer(environment.cloudState, 'worker-9')
  const requested = openstackConfigFor(environment.cloudState, {
    name: 'main',
    vmNames: [other.id],
    subnetIDs: [storage.id],
    clusterId,
  })
  const answer = planAnswer.parse((await plan(requested)).body)
  assert.deepEqual(
    answer.nodes.map(({ nodeName, action, why }) => [nodeName, action, why]),
    [['worker-1', 'remove', [`multinic0 (port ${port.id}) is removed: its VM is no longer in vmNames`]]],
  )
  assert.equal((await environment.nodes()).length, 1)
})

test('a dry run of an invalid config returns the reason and the remedy', async () => {
  const requested = openstackConfigFor(environment.cloudState, {
    name: 'new',
    vmNames: [worker.id],
    subnetIDs: ['nowhere'],
    clusterId,
  })
  const { error } = planAnswer.parse((await plan(requested)).body)
  assert.equal(error?.reason, 'SubnetNotFound')
  assert.ok(error?.remedy)
  assert.equal(await environment.kube.get(openstackConfigs, { namespace, name: 'new' }), undefined)
})

test('an invalid OpenstackConfig is a 400 that names every wrong field', async () => {
  const { status, body } = await plan({
    kind: 'OpenstackConfig',
    apiVersion: 'x',
    metadata: { name: 'x' },
    spec: { vmNames: [], credentials: { projectID: 'demo' } },
  })
  assert.equal(status, 400)
  const paths = (body as { errors: { path: string }[] }).errors.map(({ path }) => path)
  assert.deepEqual(paths, ['spec.vmNames', 'spec.credentials.projectID'])
})

test('a misspelt field is a 400 with its path, and a status is ignored', async () => {
  const requested = openstackConfigFor(environment.cloudState, {
    ...{ name: 'main', vmNames: [worker.id], subnetIDs: [storage.id], clusterId },
  })
  const spec = {
    ...requested.spec,
    vmName: ['x'],
    subnets: [{ id: storage.id, indx: 1 }],
    settings: { openstackPortAllowedStatus: ['*'] },
  }
  const { status, body } = await plan({ ...requested, spec })
  assert.equal(status, 400)
  assert.deepEqual((body as { errors: object[] }).errors, [
    { path: 'spec.settings.openstackPortAllowedStatus', message: 'unknown field' },
    { path: 'spec.vmName', message: 'unknown field' },
    { path: 'spec.subnets[0].indx', message: 'unknown field' },
  ])
  assert.equal((await plan({ ...requested, status: { ofANewerOperator: true } })).status, 200)
})

test('an OpenstackConfig with 50,000 invalid names is a 400 with one error', async () => {
  const config = { apiVersion: 'v1', kind: 'OpenstackConfig', metadata: { name: 'x', namespace: 'x' } }
  const { status, body } = await plan({ ...config, spec: { vmNames: Array(50_000).fill({}) } })
  assert.equal(status, 400)
  assert.deepEqual((body as { errors: object[] }).errors, [
    { path: 'spec.vmNames', message: 'too many entries: 50000, at most 5000' },
  ])
})

test('metrics count calls, syncs and ports', async () => {
  const text = await (await request(`${environment.operatorUrl()}/metrics`)).body.text()
  for (const line of [
    /multinic_client_requests_total\{service="neutron",method="GET",status="2xx"\} \d+/,
    /multinic_operator_syncs_total\{outcome="changed"\} \d+/,
    /multinic_operator_ports\{config="multinic-system\/main",reason="Selected"\} 1/,
    ...['cloud', 'held', 'plan', 'deliver', 'record', 'status'].map(
      stage => new RegExp(`multinic_operator_stage_seconds_count\\{stage="${stage}"\\} \\d+`),
    ),
    /multinic_operator_last_sync_timestamp_seconds\{config="multinic-system\/main"\} \d+/,
  ])
    assert.match(text, line)
})
