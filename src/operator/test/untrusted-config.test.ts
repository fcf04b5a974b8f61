/** OpenstackConfigs of an attacker that try to get the operator's credentials (G9), over real HTTP. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { encrypted } from '../../../sandbox/cloud/contrabass.ts'
import { addPort, addServer, addSubnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type StubServer, startStubServer } from '../../../test/openstack/stub-server.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import type { Settings } from '../../contract/settings.ts'
import { secrets } from '../../kube/resources.ts'
import { wellKnownSecret } from '../clouds/credentials.ts'

let environment: OperatorEnvironment
let attacker: StubServer

/** The operator has a key and a token of its own, and the namespace of the objects has none. */
beforeEach(async () => {
  environment = await startOperatorEnvironment()
  const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  setPortStatus(
    environment.cloudState,
    addPort(environment.cloudState, { server: addServer(environment.cloudState, 'worker-1'), subnet }).id,
    'ACTIVE',
  )
  await environment.kube.delete(secrets, { namespace, name: wellKnownSecret.name })
  await environment.startOperator({
    CONTRABASS_ENCRYPT_KEY: environment.cloudState.provider.encryptKey,
  })
  attacker = await startStubServer(() => ({ status: 500, body: 'thank you' }))
})
afterEach(async () => {
  await environment.close()
  await attacker[Symbol.asyncDispose]()
})

async function ready(): Promise<string> {
  const found = (await environment.config()).status?.conditions?.find(one => one.type === 'Ready')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

async function waitForReady(expected: RegExp): Promise<void> {
  await eventually(async () => assert.match(await ready(), expected), { within: 30_000 })
}

test('the operator’s own key and token work for a regular object', async () => {
  await environment.create({})
  await waitForReady(/^True/)
})

test('a metadata key with the name of an object property gives no node name', async () => {
  await environment.create({ settings: { openstackNodeNameMetadataKey: 'constructor' } })
  await waitForReady(/^True/)
  assert.match((await environment.deliveredTexts())[0] ?? '', /^worker-1: /)
})

const redirections: Record<string, keyof Settings> = {
  Contrabass: 'contrabassEndpoint',
  Neutron: 'openstackNeutronEndpoint',
  Nova: 'openstackNovaEndpoint',
}
for (const [service, setting] of Object.entries(redirections))
  test(`an object with its own ${service} causes no request to it`, async () => {
    await environment.create({ settings: { [setting]: attacker.url } })
    await waitForReady(
      new RegExp(`^False ConfigError: spec\\.settings\\.${setting}: the operator does not use its own encryption key`),
    )
    assert.equal(attacker.requests.length, 0)
  })

test('an object with its own Viola does not get the operator’s token', async () => {
  await environment.create({ settings: { violaEndpoint: attacker.url } })
  await waitForReady(/^False ViolaError/)
  assert.ok(attacker.requests.length > 0)
  assert.ok(!JSON.stringify(attacker.requests).includes(environment.caller.token))
  assert.deepEqual([...new Set(attacker.requests.map(({ headers }) => headers.authorization))], [undefined])
})

test('an object with its own key and Contrabass gets only the password of that Contrabass', async () => {
  const key = 'attackers-key-16'
  const adminPw = encrypted('own-password', key)
  await using contrabass = await startStubServer(() => ({
    status: 200,
    body: { data: { url: attacker.url, attributes: { adminId: 'admin', adminPw, domain: 'Default' } } },
  }))
  await environment.create({ settings: { contrabassEndpoint: contrabass.url, contrabassEncryptKey: key } })
  await waitForReady(/^False KeystoneError/)
  const seen = JSON.stringify([attacker.requests, contrabass.requests])
  assert.ok(seen.includes('own-password'))
  for (const secret of [
    environment.cloudState.user.password,
    environment.cloudState.provider.encryptKey,
    environment.caller.token,
  ])
    assert.ok(!seen.includes(secret))
})

test('an object cannot use a Secret of another namespace', async () => {
  await environment.kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'theirs', namespace: 'other-cluster' },
    data: { k: Buffer.from('hush').toString('base64') },
  })
  const names = ['theirs', '../../other-cluster/secrets/theirs', 'x,metadata.namespace=other-cluster']
  for (const [n, name] of names.entries())
    await environment.create({ name: `try-${n}`, secrets: { contrabassEncryptKeySecretRef: { name, key: 'k' } } })
  await eventually(
    async () => {
      const { items } = await environment.kube.list(openstackConfigs, { namespace })
      const messages = items.map(({ status }) => status?.conditions?.find(one => one.type === 'Ready')?.message ?? '')
      assert.equal(messages.filter(text => /Secret .* not found in this namespace$/.test(text)).length, 3)
    },
    { within: 30_000 },
  )
})
