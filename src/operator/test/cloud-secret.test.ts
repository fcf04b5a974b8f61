/** A cloud without Contrabass: endpoint and account are in the clouds.yaml of a Secret. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { stringify } from 'yaml'
import { addPort, addServer, addSubnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { secrets } from '../../kube/resources.ts'

let environment: OperatorEnvironment

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const server = addServer(environment.cloudState, 'worker-1')
  const port = addPort(environment.cloudState, { server, subnet, address: '10.10.0.10' })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
})
afterEach(() => environment.close())

const withoutContrabass = { CONTRABASS_ENDPOINT: '' }
const cloudSecretRef = { name: 'cloud' }
const credentials = { k8sProviderID: clusterId }

function authOf(more: object = {}): object {
  const { user, project } = environment.cloudState
  return {
    auth_url: environment.cloud.urls.keystone,
    ...{ username: user.name, password: user.password, user_domain_name: user.domain },
    ...{ project_name: project.name, project_domain_name: user.domain },
    ...more,
  }
}

async function write(auth: object, cloud: object = {}): Promise<void> {
  const content = stringify({ clouds: { openstack: { auth, ...cloud } } })
  const data = { 'clouds.yaml': Buffer.from(content).toString('base64') }
  await environment.kube.apply(
    secrets,
    { metadata: { name: 'cloud', namespace }, type: 'Opaque', data },
    { fieldManager: 'test', force: true },
  )
}

async function waitForReady(expected: RegExp): Promise<void> {
  await eventually(async () => {
    const ready = (await environment.config()).status?.conditions?.find(one => one.type === 'Ready')
    assert.match(`${ready?.status} ${ready?.reason}: ${ready?.message}`, expected)
  })
}

async function waitForDelivery(): Promise<void> {
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10']))
}

test('a port is delivered with the account of a clouds.yaml, and Contrabass is never called', async () => {
  await write(authOf(), { region_name: environment.cloudState.region, interface: 'internal' })
  await environment.startOperator(withoutContrabass)
  await environment.create({ cloudSecretRef, credentials })
  await waitForDelivery()
  await waitForReady(/^True (Synced|NoChange)/)
  assert.equal(environment.cloud.calls().contrabass, 0)
})

test('a changed password applies without a restart', async () => {
  await write(authOf({ password: 'wrong' }))
  await environment.startOperator(withoutContrabass)
  await environment.create({
    cloudSecretRef,
    credentials,
    settings: { pollErrorInterval: '1h', pollSlowInterval: '1h' },
  })
  await waitForReady(/^False KeystoneError: keystone: POST .*HTTP 401 .*; in the clouds\.yaml, check user, password/)
  await write(authOf())
  await waitForDelivery()
})

test('a Secret that is missing or wrong is reported with the field, and heals', async () => {
  await environment.startOperator(withoutContrabass)
  await environment.create({ cloudSecretRef, credentials })
  await waitForReady(/^False ConfigError: spec\.cloudSecretRef: the Secret cloud with the key clouds\.yaml is missing/)
  await write(authOf({ auth_url: undefined }))
  await waitForReady(/Secret cloud: clouds\.yaml: clouds\.openstack\.auth\.auth_url: is required/)
  await write(authOf(), { cacert: '/etc/ssl/cloud.pem' })
  await waitForReady(/cacert names a file that the operator does not have; add its content .* with the key cacert/)
  await write(authOf(), { cacert: '-----BEGIN CERTIFICATE-----' })
  await waitForReady(/^False ConfigError: Secret cloud: cacert is not a certificate in PEM/)
  await write(authOf(), { region_name: 'elsewhere' })
  await waitForReady(/^False NeutronEndpointError: the catalog has no public network in region elsewhere endpoint/)
  await write(authOf())
  await waitForDelivery()
})

test('of Contrabass and a clouds.yaml, exactly one is required', async () => {
  const { project, provider } = environment.cloudState
  const ofContrabass = { openstackProviderID: provider.id, projectID: project.id }
  const exactlyOne = /exactly one of cloudSecretRef and credentials\.openstackProviderID is required/
  await assert.rejects(environment.create({ cloudSecretRef, credentials: ofContrabass }), exactlyOne)
  await assert.rejects(environment.create({ credentials }), exactlyOne)
  await assert.rejects(
    environment.create({ credentials: { openstackProviderID: provider.id } }),
    /credentials\.projectID is required with credentials\.openstackProviderID/,
  )
})

test('the host of Keystone must be allowed', async () => {
  await write(authOf())
  await environment.startOperator({ ...withoutContrabass, ENDPOINT_ALLOWED_HOSTS: 'keystone.example' })
  await environment.create({ cloudSecretRef, credentials })
  await waitForReady(/^False KeystoneError: keystone: the host 127\.0\.0\.1 is not in ENDPOINT_ALLOWED_HOSTS/)
})
