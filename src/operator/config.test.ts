import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Settings } from '../contract/settings.ts'
import { processSettingsFrom, resolveSettings, type SyncSettings } from './config.ts'

const env = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola/' }

test('unset settings have their defaults', () => {
  const { origins: _, objectEndpoints, weakenedTLS, ...settings } = resolveSettings(env)
  assert.deepEqual([objectEndpoints, weakenedTLS], [[], []])
  assert.deepEqual(settings, {
    openstack: {
      contrabassEndpoint: 'https://contrabass',
      contrabassTimeoutMs: 30_000,
      contrabassInsecureTLS: false,
      openstackTimeoutMs: 30_000,
      openstackInsecureTLS: false,
      endpointInterface: 'public',
      endpointRegion: '',
    },
    nodeNameMetadataKey: '',
    allowedStatuses: ['ACTIVE', 'DOWN'],
    baseline: 'creationTime',
    owners: ['compute:*'],
    downPortFastRetryMax: 5,
    pollFastMs: 20_000,
    pollSlowMs: 120_000,
    pollErrorMs: 30_000,
    pollFastWindowMs: 180_000,
    rabbitmqUrls: [],
    violaEndpoint: 'https://viola',
    violaTimeoutMs: 30_000,
    violaInsecureTLS: false,
  })
})

const cases: Record<
  string,
  [
    env: Record<string, string>,
    object: Settings,
    name: keyof (SyncSettings & SyncSettings['openstack']),
    expected: unknown,
  ]
> = {
  'the environment takes precedence over the default': [{ POLL_FAST_INTERVAL: '5s' }, {}, 'pollFastMs', 5_000],
  'the object takes precedence over the environment': [
    { POLL_FAST_INTERVAL: '5s' },
    { pollFastInterval: '1m30s' },
    'pollFastMs',
    90_000,
  ],
  'an empty variable counts as absent': [{ POLL_FAST_INTERVAL: '' }, {}, 'pollFastMs', 20_000],
  'a list in the environment is separated by commas': [
    { OPENSTACK_PORT_ALLOWED_STATUSES: 'active, build' },
    {},
    'allowedStatuses',
    ['ACTIVE', 'BUILD'],
  ],
  'a flag in the environment is true or false': [{ OPENSTACK_INSECURE_TLS: 'true' }, {}, 'openstackInsecureTLS', true],
  'false in the object takes precedence over true in the environment': [
    { OPENSTACK_INSECURE_TLS: 'true' },
    { openstackInsecureTLS: false },
    'openstackInsecureTLS',
    false,
  ],
  'an object shortens a timeout': [{}, { violaTimeout: '5s' }, 'violaTimeoutMs', 5_000],
  'operator 8: an object does not extend a timeout beyond the default': [
    {},
    { contrabassTimeout: '1h' },
    'contrabassTimeoutMs',
    30_000,
  ],
  'operator 8: an object does not extend a timeout beyond that of the operator': [
    { OPENSTACK_TIMEOUT: '2m' },
    { openstackTimeout: '2h' },
    'openstackTimeoutMs',
    120_000,
  ],
  'operator 10: a verification that the operator turned off is not weakened by an object': [
    { VIOLA_INSECURE_TLS: 'true' },
    { violaInsecureTLS: true, contrabassInsecureTLS: true, openstackInsecureTLS: false },
    'weakenedTLS',
    ['contrabassInsecureTLS'],
  ],
  'operator 8: an object polls at most twice a second': [{}, { pollFastInterval: '1ns' }, 'pollFastMs', 500],
  'operator 8: an object that always fails is not retried all the time': [
    { POLL_MIN_INTERVAL: '5s', POLL_ERROR_INTERVAL: '1s' },
    { pollErrorInterval: '1ns' },
    'pollErrorMs',
    5_000,
  ],
  'the operator’s own interval may be shorter than that of objects': [
    { POLL_MIN_INTERVAL: '5s', POLL_FAST_INTERVAL: '1s' },
    {},
    'pollFastMs',
    1_000,
  ],
  'a slow interval below the fast one is raised to it': [{}, { pollSlowInterval: '1s' }, 'pollSlowMs', 20_000],
}
for (const [name, [more, object, setting, expected]] of Object.entries(cases))
  test(name, () => {
    const { openstack, ...settings } = resolveSettings({ ...env, ...more }, { settings: object })
    assert.deepEqual({ openstack, ...openstack, ...settings }[setting], expected)
  })

test('the origin of each setting is known', () => {
  const { origins } = resolveSettings(env, { settings: { violaEndpoint: 'https://elsewhere' } })
  assert.deepEqual(
    [origins.contrabassEndpoint, origins.violaEndpoint, origins.pollFastInterval],
    ['environment', 'object', 'default'],
  )
})

test('all errors are reported at once, each with the name of the setting and the expected format', () => {
  const object = { pollFastInterval: '0s', openstackEndpointInterface: 'inside', openstackPortBaseline: '2026-99-99Tx' }
  const more = {
    VIOLA_TIMEOUT: 'soon',
    OPENSTACK_INSECURE_TLS: 'maybe',
    CONTRABASS_ENDPOINT: '',
    DOWN_PORT_FAST_RETRY_MAX: '0',
  }
  assert.throws(
    () => resolveSettings({ ...env, ...more }, { settings: object as Settings }),
    (error: Error & { reason?: string }) => {
      assert.equal(error.reason, 'ConfigError')
      assert.deepEqual(error.message.split('; '), [
        'OPENSTACK_INSECURE_TLS of the operator: "maybe" must be true or false',
        'spec.settings.openstackEndpointInterface: "inside" must be public, internal or admin',
        'spec.settings.openstackPortBaseline: "2026-99-99Tx" is not creationTime, none or an RFC 3339 time',
        'DOWN_PORT_FAST_RETRY_MAX of the operator: "0" must be a whole number from 1 to 100',
        'spec.settings.pollFastInterval: "0s" is not a positive duration such as 20s, 2m or 500ms',
        'VIOLA_TIMEOUT of the operator: "soon" is not a positive duration such as 20s, 2m or 500ms',
        'spec.settings.contrabassEndpoint: is required, here or as CONTRABASS_ENDPOINT of the operator',
      ])
      return true
    },
  )
})

test('an error never contains the value of a key', () => {
  const object = { contrabassEncryptKey: 'x'.repeat(65) }
  assert.throws(
    () => resolveSettings(env, { settings: object }),
    (error: Error) => /contrabassEncryptKey/.test(error.message) && !error.message.includes('xxxx'),
  )
})

test('all invalid variables of the process are reported', () => {
  assert.throws(
    () => processSettingsFrom({ LEADER_ELECT: 'maybe', POLL_MIN_INTERVAL: '0' }),
    /POLL_MIN_INTERVAL[\s\S]*LEADER_ELECT/,
  )
  assert.deepEqual(processSettingsFrom({ WATCH_NAMESPACES: 'a, b' }).WATCH_NAMESPACES, ['a', 'b'])
})
