import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSettings } from './config.ts'

test('without an environment the documented defaults count', () => {
  assert.deepEqual(parseSettings({}), {
    settings: {
      policyRouting: true,
      tableBase: 100,
      metric: 100,
      noPrefixRoute: true,
      arpSysctls: true,
      looseRpFilter: true,
      reload: 'none',
      nicWait: 15_000,
      allowUp: false,
    },
    errors: [],
  })
})

test('every variable is read, in the spellings that charts use', () => {
  const { settings, errors } = parseSettings({
    NETWORK_POLICY_ROUTING_ENABLED: 'False',
    NETWORK_ROUTING_TABLE_BASE: '300',
    NETWORK_ROUTE_METRIC: '0',
    NETWORK_NOPREFIXROUTE: '0',
    NETWORK_SET_ARP_SYSCTLS: 'off',
    NETWORK_SET_RP_FILTER_LOOSE: 'no',
    NETWORK_RELOAD: 'apply',
    NIC_WAIT: '1m30s',
    PREFLIGHT_ALLOW_UP: 'yes',
    MULTINIC_BACKEND: 'netplan',
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
  })
  assert.deepEqual(errors, [])
  assert.deepEqual(settings, {
    policyRouting: false,
    tableBase: 300,
    metric: 0,
    noPrefixRoute: false,
    arpSysctls: false,
    looseRpFilter: false,
    reload: 'apply',
    nicWait: 90_000,
    allowUp: true,
    backend: 'netplan',
    apiServer: '10.96.0.1',
  })
})

test('all mistakes are told at once, each with the name of its variable; an empty variable is absent', () => {
  const { errors } = parseSettings({
    NETWORK_POLICY_ROUTING_ENABLED: 'perhaps',
    NETWORK_ROUTING_TABLE_BASE: '250',
    NETWORK_ROUTE_METRIC: '-1',
    NETWORK_RELOAD: 'now',
    NIC_WAIT: 'soon',
    PREFLIGHT_ALLOW_UP: '',
  })
  assert.deepEqual(
    errors.map(({ path }) => path),
    [
      'NETWORK_ROUTING_TABLE_BASE',
      'NETWORK_POLICY_ROUTING_ENABLED',
      'NETWORK_ROUTE_METRIC',
      'NETWORK_RELOAD',
      'NIC_WAIT',
    ],
  )
})

test('an API server that is a name is not looked at', () => {
  const { settings, errors } = parseSettings({ KUBERNETES_SERVICE_HOST: 'api.example.com' })
  assert.deepEqual([settings.apiServer, errors], [undefined, []])
})
