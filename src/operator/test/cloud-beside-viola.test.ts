/** A cloud that refuses the account while Viola fails: both are reported. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addServer, addSubnet, type Server, type Subnet } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { openstackConfigFor } from '../../../sandbox/lifecycle/install.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { startContrabassWithWrongPassword } from '../../../test/operator/wrong-password.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { type PlanAnswer, planPath } from '../../contract/operator-api.ts'

let environment: OperatorEnvironment
let storage: Subnet
let worker: Server

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(environment.cloudState, 'worker-1')
})
afterEach(() => environment.close())

async function condition(type: string): Promise<string> {
  const found = (await environment.config()).status?.conditions?.find(one => one.type === type)
  return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent'
}

test('a wrong password is reported beside the error of Viola', async () => {
  await using contrabass = await startContrabassWithWrongPassword(environment)
  await environment.startOperator()
  await environment.create({ settings: { violaEndpoint: 'http://127.0.0.1:9', contrabassEndpoint: contrabass.url } })
  await eventually(async () => assert.match(await condition('CloudReady'), /^False KeystoneError: .*HTTP 401/), {
    within: 30_000,
  })
  assert.match(await condition('Ready'), /^False ViolaError: /)
  const spec = { settings: { contrabassEndpoint: environment.cloud.urls.contrabass } }
  await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { spec })
  await eventually(
    async () => assert.equal(await condition('CloudReady'), 'True Healthy: the login to the cloud works'),
    {
      within: 30_000,
    },
  )
})

test('a dry run reports an unknown cluster and a wrong password', async () => {
  await environment.startOperator()
  await eventually(() => assert.notEqual(environment.operatorUrl(), ''))
  await using contrabass = await startContrabassWithWrongPassword(environment)
  const config = openstackConfigFor(environment.cloudState, {
    ...{ name: 'main', vmNames: [worker.id], subnetIDs: [storage.id], clusterId: 'biz-l' },
  })
  config.spec.settings = { ...config.spec.settings, contrabassEndpoint: contrabass.url }
  const answer = await fetch(`${environment.operatorUrl()}${planPath}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${environment.caller.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...config, metadata: { ...config.metadata, namespace } }),
  })
  const { error } = (await answer.json()) as PlanAnswer
  assert.deepEqual([answer.status, error?.reason], [200, 'ProviderUnknown'])
  assert.match(
    error?.message ?? '',
    /^spec\.credentials\.k8sProviderID: Viola knows no cluster biz-l; known clusters: biz-1, biz-2; KeystoneError: .*HTTP 401/,
  )
})
