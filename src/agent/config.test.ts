import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSettings } from './config.ts'

test('an empty environment gives the documented defaults', () => {
  assert.deepEqual(parseSettings({}), {
    settings: {
      policyRouting: true,
      tableBase: 100,
      metric: 100,
      noPrefixRoute: true,
      arpSysctls: true,
      looseRpFilter: true,
      acceptRa: false,
      reload: 'none',
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
    NETWORK_NOPREFIXROUTE: '0',
    NETWORK_SET_ARP_SYSCTLS: 'off',
    NETWORK_SET_RP_FILTER_LOOSE: 'no',
    NETWORK_ACCEPT_RA: 'true',
    NETWORK_RELOAD: 'apply',
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
    noPrefixRoute: false,
    arpSysctls: false,
    looseRpFilter: false,
    acceptRa: true,
    reload: 'apply',
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
    NETWORK_RELOAD: 'now',
    NIC_WAIT: 'soon',
    PREFLIGHT_ALLOW_UP: '',
    NETWORK_PROBE: 'sometimes,eth0=off',
    NETWORK_PROBE_PEERS: 'router',
    KUBERNETES_SERVICE_HOST: 'api;reboot',
    KUBERNETES_SERVICE_PORT: '0',
  })
  assert.deepEqual(
    errors.map(({ path }) => path),
    [
      'NETWORK_ROUTING_TABLE_BASE',
      'NETWORK_PROBE',
      'NETWORK_PROBE',
      'NETWORK_PROBE_PEERS',
      'KUBERNETES_SERVICE_HOST',
      'NETWORK_POLICY_ROUTING_ENABLED',
      'NETWORK_ROUTE_METRIC',
      'NETWORK_RELOAD',
      'NIC_WAIT',
      'KUBERNETES_SERVICE_PORT',
    ],
  )
})

test('the API server may be a host name, to be resolved later', () => {
  const { settings, errors } = parseSettings({ KUBERNETES_SERVICE_HOST: 'api.example.com' })
  assert.deepEqual([settings.apiServer, errors], ['api.example.com', []])
})
