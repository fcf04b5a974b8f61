import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSettings } from './config.ts'

test('an empty environment gives the documented defaults', () => {
  assert.deepEqual(parseSettings({}), {
    settings: {
      policyRouting: true,
      tableBase: 100,
      metric: 100,
      markMask: 0x78,
      acceptRa: false,
      nicWait: 15_000,
      allowUp: false,
      takeover: 'dynamic',
      apiPort: 443,
      probe: { mode: 'reported', perInterface: {}, peers: [], timeout: 800 },
      duplicateCheck: true,
    },
    errors: [],
  })
})

test('every variable is parsed, in the notations that Helm charts use', () => {
  const { settings, errors } = parseSettings({
    NETWORK_POLICY_ROUTING_ENABLED: 'False',
    NETWORK_ROUTING_TABLE_BASE: '300',
    NETWORK_ROUTE_METRIC: '0',
    NETWORK_MARK_MASK: '0x1E000000',
    NETWORK_ACCEPT_RA: 'true',
    NIC_WAIT: '1m30s',
    PREFLIGHT_ALLOW_UP: 'yes',
    NETWORK_TAKEOVER: 'refuse',
    MULTINIC_BACKEND: 'netplan',
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT: '6443',
    NETWORK_PROBE: 'off,multinic2=required,multinic9=reported',
    NETWORK_PROBE_PEERS: '10.9.0.7,fd00::7',
    NETWORK_PROBE_TIMEOUT: '300ms',
    NETWORK_DUPLICATE_CHECK: 'false',
  })
  assert.deepEqual(errors, [])
  assert.deepEqual(settings, {
    policyRouting: false,
    tableBase: 300,
    metric: 0,
    markMask: 0x1e000000,
    acceptRa: true,
    nicWait: 90_000,
    allowUp: true,
    takeover: 'refuse',
    backend: 'netplan',
    apiServer: '10.96.0.1',
    apiPort: 6443,
    probe: {
      mode: 'off',
      perInterface: { 2: 'required', 9: 'reported' },
      peers: ['10.9.0.7', 'fd00::7'],
      timeout: 300,
    },
    duplicateCheck: false,
  })
})

test('all errors are reported at once, each with its variable; an empty variable counts as not set', () => {
  const { errors } = parseSettings({
    NETWORK_POLICY_ROUTING_ENABLED: 'perhaps',
    NETWORK_ROUTING_TABLE_BASE: '250',
    NETWORK_ROUTE_METRIC: '-1',
    NETWORK_TAKEOVER: 'maybe',
    NIC_WAIT: 'soon',
    PREFLIGHT_ALLOW_UP: '',
    NETWORK_PROBE: 'sometimes,eth0=off,multinic1=never',
    NETWORK_PROBE_PEERS: 'router',
    KUBERNETES_SERVICE_HOST: 'api;reboot',
    KUBERNETES_SERVICE_PORT: '0',
  })
  assert.deepEqual(
    errors.map(({ path }) => path),
    [
      'NETWORK_POLICY_ROUTING_ENABLED',
      'NETWORK_ROUTING_TABLE_BASE',
      'NETWORK_ROUTE_METRIC',
      'NIC_WAIT',
      'NETWORK_PROBE',
      'NETWORK_PROBE',
      'NETWORK_PROBE',
      'NETWORK_PROBE_PEERS',
      'NETWORK_TAKEOVER',
      'KUBERNETES_SERVICE_HOST',
      'KUBERNETES_SERVICE_PORT',
    ],
  )
})

test('the API server may be a host name, to be resolved later', () => {
  const { settings, errors } = parseSettings({ KUBERNETES_SERVICE_HOST: 'api.example.com' })
  assert.deepEqual([settings.apiServer, errors], ['api.example.com', []])
})

const masks: Record<string, number | undefined> = {
  '0x78': 0x78,
  '0xf': 0xf,
  '0xF0000000': 0xf0000000,
  '0x07800000': 0x7800000,
  '0x7': undefined,
  '0xf8': undefined,
  '0x1b': undefined,
  '0x0': undefined,
  '0xe0000000': undefined,
  '0x80000000': undefined,
  '0xf00000000': undefined,
  '120': undefined,
  '0x78 ': undefined,
}
for (const [text, expected] of Object.entries(masks))
  test(`the mark mask "${text}" is ${expected === undefined ? 'refused' : 'accepted'}`, () => {
    const { settings, errors } = parseSettings({ NETWORK_MARK_MASK: text })
    assert.equal(settings.markMask, expected ?? 0x78)
    assert.deepEqual(
      errors.map(({ path }) => path),
      expected === undefined ? ['NETWORK_MARK_MASK'] : [],
    )
  })

const bases: Record<string, boolean> = {
  1: true,
  242: true,
  243: false,
  253: false,
  255: false,
  256: true,
  4294967285: true,
  4294967286: false,
}
for (const [base, valid] of Object.entries(bases))
  test(`tables from ${base} to ${Number(base) + 10} are ${valid ? 'accepted' : 'refused'}`, () => {
    assert.equal(parseSettings({ NETWORK_ROUTING_TABLE_BASE: base }).errors.length, valid ? 0 : 1)
  })
