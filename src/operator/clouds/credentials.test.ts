/** Credentials follow endpoints. Some of these tests try to get the operator's credentials. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { Settings } from '../../contract/settings.ts'
import { parseCloudsYaml } from '../../openstack/clouds-yaml.ts'
import { resolveSettings } from '../config.ts'
import { type Credentials, credentialsFor } from './credentials.ts'

const own = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' }
const ownKey = { ...own, CONTRABASS_ENCRYPT_KEY: 'operators-own-key' }

interface Given {
  env?: Record<string, string>
  settings?: Settings
  secrets?: OpenstackConfig['spec']['secrets']
  /** `name/key` → value, all in the object's namespace. */
  stored?: Record<string, string>
}

function credentials({ env = own, settings = {}, secrets, stored = {} }: Given) {
  const config = {
    metadata: { name: 'main', namespace: 'team' },
    spec: { settings, secrets, credentials: { openstackProviderID: 'cloud-1', projectID: 'project' } },
  } as unknown as OpenstackConfig
  return credentialsFor(config, resolveSettings(env, { settings }), {
    secret: async (namespace, name, key) =>
      namespace === 'team' ? stored[`${name}/${key}`] : assert.fail('another namespace'),
    ownViolaToken: async () => 'operators-own-token',
    parseCloudsYaml,
  })
}

const keyIn = ({ account }: Credentials) => ('encryptKey' in account ? account.encryptKey : undefined)
const shared = { 'contrabass-encrypt-key/CONTRABASS_ENCRYPT_KEY': ' shared \n' }
const contrabassEncryptKeySecretRef = { name: 'mine', key: 'k' }

const keys: Record<string, [given: Given, key: string]> = {
  'the Secret that the object names takes precedence': [
    { secrets: { contrabassEncryptKeySecretRef }, stored: { 'mine/k': 'named', ...shared } },
    'named',
  ],
  'then the well-known Secret of the namespace': [
    { stored: shared, settings: { contrabassEncryptKey: 'in-the-object' }, env: ownKey },
    'shared',
  ],
  'then the object’s own setting': [
    { settings: { contrabassEncryptKey: 'in-the-object' }, env: ownKey },
    'in-the-object',
  ],
  'then the operator’s own, for the operator’s own endpoint': [{ env: ownKey }, 'operators-own-key'],
}
for (const [name, [given, key]] of Object.entries(keys))
  test(name, async () => assert.equal(keyIn(await credentials(given)), key))

const refusals: Record<string, [given: Given, expected: RegExp]> = {
  'a missing Secret is an error, without fallback': [
    { secrets: { contrabassEncryptKeySecretRef }, stored: shared, env: ownKey },
    /contrabassEncryptKeySecretRef: Secret mine with a value for key k not found/,
  ],
  'without any key the error says what to do': [{}, /no encryption key: name a Secret .* namespace team/],
  'an object with its own Contrabass does not get the operator’s key': [
    { env: ownKey, settings: { contrabassEndpoint: 'https://attacker' } },
    /spec\.settings\.contrabassEndpoint: the operator does not use its own encryption key/,
  ],
  'an object with its own Neutron does not get the operator’s key': [
    { env: ownKey, settings: { openstackNeutronEndpoint: 'https://attacker' } },
    /spec\.settings\.openstackNeutronEndpoint/,
  ],
  'an object with its own Nova does not get the operator’s key': [
    { env: ownKey, settings: { openstackNovaEndpoint: 'https://attacker' } },
    /spec\.settings\.openstackNovaEndpoint/,
  ],
  'operator 10: an object does not turn off TLS verification of Contrabass for the operator’s key': [
    { env: ownKey, settings: { contrabassInsecureTLS: true } },
    /spec\.settings\.contrabassInsecureTLS: an object cannot turn off TLS verification/,
  ],
  'operator 10: an object does not turn off TLS verification of OpenStack for the operator’s key': [
    { env: ownKey, settings: { openstackInsecureTLS: true } },
    /spec\.settings\.openstackInsecureTLS/,
  ],
  'operator 10: an object does not turn off TLS verification of the operator’s Viola': [
    { stored: shared, settings: { violaInsecureTLS: true } },
    /spec\.settings\.violaInsecureTLS/,
  ],
  'a missing Viola token is an error': [
    { stored: shared, secrets: { violaTokenSecretRef: { name: 'v', key: 't' } } },
    /violaTokenSecretRef: Secret v .* not found/,
  ],
}
for (const [name, [given, expected]] of Object.entries(refusals))
  test(name, () =>
    assert.rejects(credentials(given), (error: Error & { reason?: string }) => {
      assert.equal(error.reason, 'ConfigError')
      assert.match(error.message, expected)
      assert.ok(!error.message.includes('operators-own-key'))
      return true
    }),
  )

test('an object may turn off TLS verification for its own endpoints and key', async () => {
  const settings = {
    ...{ contrabassInsecureTLS: true, openstackInsecureTLS: true, violaInsecureTLS: true },
    violaEndpoint: 'https://viola.team',
  }
  assert.equal(keyIn(await credentials({ env: ownKey, stored: shared, settings })), 'shared')
})

test('the operator’s token and certificate go to the operator’s Viola', async () => {
  const { violaToken, violaClientCertificate } = await credentials({ stored: shared })
  assert.deepEqual([violaToken, violaClientCertificate], ['operators-own-token', true])
})

test('a Viola that an object names gets only credentials of the object’s namespace', async () => {
  const settings = { violaEndpoint: 'https://attacker' }
  const bare = await credentials({ stored: shared, settings })
  assert.deepEqual([bare.violaToken, bare.violaClientCertificate], [undefined, false])
  const secrets = { violaTokenSecretRef: { name: 'v', key: 't' } }
  const named = await credentials({ stored: { ...shared, 'v/t': 'team-token' }, settings, secrets })
  assert.deepEqual([named.violaToken, named.violaClientCertificate], ['team-token', false])
})
